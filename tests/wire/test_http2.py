"""Connections that speak HTTP/2: what is agreed on, streams side by side, windows, ends."""

import asyncio
import time

import pytest
from certificates import pair
from fakes import CountingStore, NotingStore, OneObjectStore, PausedBody, ScriptedBody
from h2.errors import ErrorCodes
from h2.settings import SettingCodes
from http2_client import Http2Client, connect, connect_tls, head, tls_client, tls_setup
from hyperframe.frame import DataFrame, GoAwayFrame, HeadersFrame
from msgspec.structs import replace
from serving import serve

from tornado_proxy.auth.authenticator import CertificateAuthenticator
from tornado_proxy.config.actions import Actions, PutAction
from tornado_proxy.config.model import Settings
from tornado_proxy.config.providers import CertificateProvider, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.server import Limits, Server, Ssl
from tornado_proxy.semantics.request import TrustedProxies
from tornado_proxy.service.serving import connection_setup
from tornado_proxy.wire import http2, server

UPLOADS = Actions(put=PutAction(enabled=True, allow_override=True, raw_uploads=True))


# What is agreed on.


@pytest.mark.parametrize(
    ("offered", "agreed"), [(("h2", "http/1.1"), "h2"), (("http/1.1",), "http/1.1"), (("spdy/3",), None), ((), None)]
)
async def test_the_handshake_agrees_on_a_protocol(offered, agreed):
    """A client gets HTTP/2 if it offers that, and HTTP/1.1 otherwise."""
    async with serve({"a": b"x"}) as site:
        site.server.setup = tls_setup()
        if agreed == "h2":
            async with connect_tls(site, ssl=tls_client(*offered)) as client:
                assert (await client.request("GET", "/a")).body == b"x"
        else:
            async with site.connect(ssl=tls_client(*offered)) as client:
                assert client.writer.get_extra_info("ssl_object").selected_alpn_protocol() == agreed
                assert (await client.request("GET", "/a")).body == b"x"


@pytest.mark.parametrize(
    "options", [{"min_version": "TLSv1.1"}, {"cipher_suites": ("TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",)}]
)
async def test_old_tls_is_not_offered_http2(options):
    """Browsers refuse HTTP/2 with suites that it forbids, so a listener that may agree on one offers HTTP/1.1 only."""
    async with serve({}) as site:
        site.server.setup = tls_setup(**options)
        async with site.connect(ssl=tls_client("h2", "http/1.1")) as client:
            assert client.writer.get_extra_info("ssl_object").selected_alpn_protocol() == "http/1.1"


async def test_http2_without_tls_is_refused():
    """A client that takes HTTP/2 for granted gets a 400 of HTTP/1.1."""
    async with serve({}) as site, site.connect() as client:
        await client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert (await client.receive()).status == 400


async def test_the_proxy_protocol_comes_before_the_handshake():
    """The address is the client's, as with HTTP/1.1."""
    async with serve({"a": b"x"}) as site:
        site.server.setup = replace(tls_setup(), proxied=TrustedProxies(("127.0.0.1",)))
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(b"PROXY TCP4 192.0.2.1 10.0.0.1 4711 80\r\n")
        await writer.start_tls(tls_client("h2"))
        client = Http2Client(reader, writer)
        await client.begin()
        assert (await client.request("GET", "/a")).body == b"x"
        await client.close()
        assert (await site.last_event()).request.client == "192.0.2.1"


async def test_a_client_signs_in_by_its_certificate(tmp_path):
    """Its certificate counts for every request of the connection."""
    ann, context = pair("ann@example.org", common_name="ann"), tls_client("h2")
    (tmp_path / "client.pem").write_text(ann.key + ann.chain)
    context.load_cert_chain(tmp_path / "client.pem")
    provider = CertificateAuthenticator(CertificateProvider("cards"), time.time)
    resources = [Resource("/**", provider="cards")]
    rules = 'rewrite `^/me$` -> jinja "/{{ user.username }}"'
    async with serve({"ann": b"yes"}, rules=rules, resources=resources, authenticators={"cards": provider}) as site:
        site.server.setup = tls_setup(client_auth="require", client_roots=(Secret("test", ann.chain),))
        async with connect_tls(site, ssl=context) as client:
            assert [(await client.request("GET", "/me")).body for _ in range(2)] == [b"yes", b"yes"]


@pytest.mark.parametrize(("is_on", "agreed"), [(True, "h2"), (False, "http/1.1")])
async def test_the_configuration_can_turn_it_off(is_on, agreed):
    """`http2: false` leaves HTTP/1.1 only."""
    section = Ssl(certificates=(pair("files.test").certificate,))
    async with serve({}) as site:
        site.server.setup = connection_setup(Settings(server=Server(ssl=section, http2=is_on)))
        async with site.connect(ssl=tls_client("h2", "http/1.1")) as client:
            assert client.writer.get_extra_info("ssl_object").selected_alpn_protocol() == agreed


async def test_an_idle_connection_gives_way(monkeypatch):
    """Where there are too many connections, one without a request is closed for the next."""
    monkeypatch.setattr(server, "most_connections", lambda: 2)
    async with serve({"a": b"x"}) as site:
        site.server.setup = tls_setup()
        async with connect_tls(site) as first, connect_tls(site) as second:
            await first.request("GET", "/a")
            await second.request("GET", "/a")
            async with connect_tls(site) as third:
                assert (await third.request("GET", "/a")).status == 200
            await first.until_closed()
            assert (await second.request("GET", "/a")).status == 200


# Streams.


async def test_requests_are_answered_side_by_side():
    """A slow answer does not hold up the others on its connection."""
    body = PausedBody(b"x", b"y")
    async with serve(OneObjectStore(body)) as site, connect(site) as client:
        slow = await client.ask_until_body(head("GET", "/a"))
        other = await client.receive(await client.ask(head("HEAD", "/a")))
        assert (other.status, client.answers[slow].ended) == (404, False)
        body.go_on.set()
        assert (await client.receive(slow)).body == b"xy"


async def test_a_cancelled_request_is_broken_off():
    """A client that resets a stream ends its request; the others go on."""
    body = PausedBody(b"x", b"y")
    async with serve(OneObjectStore(body)) as site, connect(site) as client:
        number = await client.ask_until_body(head("GET", "/a"))
        client.h2.reset_stream(number, ErrorCodes.CANCEL)
        await client.flush()
        event = await site.last_event()
        assert (await client.receive(await client.ask(head("HEAD", "/a")))).status == 404
    assert (event.complete, event.reason) == (False, "the client cancelled the request")
    assert body.closed.is_set()


async def test_a_cancelled_upload_stores_nothing():
    """A body whose stream is reset is not complete."""
    async with serve({}, actions=UPLOADS) as site, connect(site) as client:
        number = await client.ask(head("PUT", "/a"), b"abc", ends=False)
        client.h2.reset_stream(number, ErrorCodes.CANCEL)
        await client.flush()
        assert (await client.request("GET", "/a")).status == 404
        event = await site.last_event()
    assert event.status == 404


async def test_an_answer_that_breaks_off_resets_its_stream():
    """A body that fails in the middle is cut for its client; the connection goes on."""
    body = ScriptedBody([b"x" * 10, OSError("gone")], 20)
    async with serve(OneObjectStore(body)) as site, connect(site) as client:
        answer = await client.receive(await client.ask(head("GET", "/a")))
        assert (await client.receive(await client.ask(head("HEAD", "/a")))).status == 404
    assert (answer.status, answer.ended, answer.reset) == (200, False, ErrorCodes.INTERNAL_ERROR)


# Windows.


async def test_a_stream_that_begins_when_the_client_reads_again_has_a_context_of_its_own():
    """What a request notes in its context, such as its calls to S3 for a trace, no later one finds there."""
    store = NotingStore()
    store.add("large", bytes(16 * 2**20))
    store.add("small", b"x")
    async with serve(store) as site, connect(site) as client:
        client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 2**30})
        client.h2.increment_flow_control_window(2**30)
        large = await client.ask(head("GET", "/large"))
        await asyncio.sleep(0.1)  # until the kernel takes no more
        small = await client.ask(head("GET", "/small"))
        assert (await client.receive(small)).body == b"x"
        assert len((await client.receive(large)).body) == 16 * 2**20
    assert store.found == [(), ()]


async def test_the_clients_window_bounds_what_is_read():
    """What the client has no room for is neither sent nor read from the store."""
    body = ScriptedBody([b"x" * 10_000] * 20, 200_000)
    async with serve(OneObjectStore(body)) as site, connect(site, takes=False) as client:
        number = await client.ask(head("GET", "/a"))
        answer = client.answers[number]
        while len(answer.body) < 65_535:
            await client.read()
        assert body.bytes_read <= 8 * 10_000
        client.h2.increment_flow_control_window(200_000)
        client.h2.increment_flow_control_window(200_000, number)
        await client.flush()
        assert len((await client.receive(number)).body) == 200_000


async def test_a_larger_first_window_opens_streams():
    """A change of the settings widens the windows of streams that wait (RFC 9113 6.9.2)."""
    async with serve({"a": b"x" * 30_000}) as site, connect(site, takes=False) as client:
        client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 10})
        await client.flush()
        number = await client.ask(head("GET", "/a"))
        while len(client.answers[number].body) < 10:
            await client.read()
        client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 60_000})
        await client.flush()
        assert len((await client.receive(number)).body) == 30_000


async def test_a_body_that_nobody_takes_is_not_asked_for():
    """The windows open only by what the application has taken."""
    store = CountingStore()
    store.may_continue.clear()
    async with serve(store, actions=UPLOADS) as site, connect(site) as client:
        number = await client.ask(head("PUT", "/a"), ends=False)
        upload = asyncio.ensure_future(client.send_body(number, bytes(3_000_000)))
        await store.first_chunk_arrived.wait()
        while client.h2.local_flow_control_window(number):  # noqa: ASYNC110 - the window has no event
            await asyncio.sleep(0.01)
        held = store.bytes_received
        store.may_continue.set()
        await upload
        assert (await client.receive(number)).status == 201
    assert held < 600_000
    assert store.bytes_received == 3_000_000


async def test_a_client_that_takes_nothing_is_cut():
    """A stream whose window stays shut ends after `sendTimeout`; the others go on."""
    limits = Limits(send_timeout=0.1)
    async with serve({"a": b"x" * 100_000, "b": b"y"}) as site, connect(site, limits, takes=False) as client:
        number = await client.ask(head("GET", "/a"))
        answer = await client.receive(number)
        event = await site.last_event()
        assert (await client.receive(await client.ask(head("HEAD", "/b")))).status == 200
    assert (answer.ended, answer.reset, len(answer.body)) == (False, ErrorCodes.CANCEL, 65_535)
    assert "1024 bytes a second" in event.reason


# Ends.


@pytest.mark.parametrize(
    ("limits", "frames"),
    [(Limits(idle_timeout=0.1), []), (Limits(header_timeout=0.1), [HeadersFrame(3, data=b"\x82")])],
    ids=["nothing", "part of a head"],
)
async def test_a_connection_without_a_request_is_closed(monkeypatch, limits, frames):
    """A client without a request, or with a part of one, is told once, and disconnected if it does not leave."""
    monkeypatch.setattr("tornado_proxy.wire.limits.LINGER_HTTP2", 0.05)
    async with serve({"a": b"x"}) as site, connect(site, limits) as client:
        await client.request("GET", "/a")
        await client.send(*frames)
        await client.until_closed()
    assert client.goodbyes == [(ErrorCodes.NO_ERROR, 1)]


async def test_a_client_that_says_goodbye_is_answered():
    """A client that will ask no more still gets its answers."""
    body = PausedBody(b"x", b"y")
    async with serve(OneObjectStore(body)) as site, connect(site) as client:
        number = await client.ask_until_body(head("GET", "/a"))
        await client.send(GoAwayFrame(0, last_stream_id=0))
        body.go_on.set()
        assert (await client.receive(number)).body == b"xy"


async def test_a_shutdown_finishes_running_requests():
    """The client is told to ask elsewhere, gets the answer that is under way, and then the end."""
    body = PausedBody(b"x", b"y")
    async with serve(OneObjectStore(body)) as site:
        site.server.setup = tls_setup()
        async with connect_tls(site) as client:
            number = await client.ask_until_body(head("GET", "/a"))
            ending = asyncio.ensure_future(site.server.shut_down(30))
            while len(client.goodbyes) < 2:
                await client.read()
            body.go_on.set()
            await client.receive(number)
            await client.close()
            await ending
    assert client.answers[number].body == b"xy"
    assert client.goodbyes == [(ErrorCodes.NO_ERROR, 2**31 - 1), (ErrorCodes.NO_ERROR, number)]


async def test_a_renewed_certificate_has_clients_connect_anew(monkeypatch):
    """A connection that could last for days is told to end."""
    monkeypatch.setattr(http2.limits, "LEAVE_AFTER", 0.05)
    async with serve({"a": b"x"}) as site:
        site.server.setup = tls_setup()
        async with connect_tls(site) as client:
            await client.request("GET", "/a")
            site.server.setup = tls_setup()
            await client.goodbye(2)
    assert [code for code, _ in client.goodbyes] == [ErrorCodes.NO_ERROR] * 2


async def test_an_unreadable_frame_ends_the_connection_only():
    """A frame that breaks the protocol is answered with GOAWAY; other connections go on."""
    async with serve({"a": b"x"}) as site, connect(site) as other, connect(site) as client:
        await client.send(DataFrame(7, data=b"x"))
        await client.goodbye()
        assert (await other.request("GET", "/a")).status == 200
    assert client.goodbyes[-1][0] == ErrorCodes.PROTOCOL_ERROR
