"""TLS contexts, and connections over TLS."""

import asyncio
import ssl
import time

import pytest
import serving
from certificates import Pair, pair
from msgspec import structs
from serving import TornadoServer, serve

from tornado_proxy.auth.authenticator import CertificateAuthenticator
from tornado_proxy.config.providers import CertificateProvider, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.server import Certificate, Server, Ssl
from tornado_proxy.wire import server as server_module
from tornado_proxy.wire.server import ConnectionSetup
from tornado_proxy.wire.tls import CertificateUnusable, make_context, names_of

A, B = pair("a.test", "*.wild.test"), pair("B.test", common_name="b")


def _setup(*pairs: Pair, **options) -> ConnectionSetup:
    return ConnectionSetup(make_context(Ssl(certificates=tuple(pair.certificate for pair in pairs), **options)))


def _client(**versions) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without the authorities of the system, which take long to load
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    for name, value in versions.items():
        setattr(context, name, value)
    return context


def _certificate_of(client) -> str:
    return ssl.DER_cert_to_PEM_cert(client.writer.get_extra_info("ssl_object").getpeercert(binary_form=True))


async def test_requests_are_answered_over_tls():
    """One TLS connection serves several requests and large bodies, and rules know the scheme."""
    content = b"x" * 3_000_000
    rules = 'rewrite `^/scheme$` -> jinja "/{{ request.scheme }}"'
    async with serve({"big": content, "https": b"yes"}, rules=rules) as site:
        site.server.setup = _setup(A)
        async with site.connect(ssl=_client()) as client:
            assert (await client.request("GET", "/big")).body == content
            assert (await client.request("GET", "/scheme")).body == b"yes"


@pytest.mark.parametrize(
    ("name", "expected"), [("a.test", A), ("x.wild.test", A), ("b.test", B), ("x.y.wild.test", A), ("", A)]
)
async def test_the_server_name_chooses_the_certificate(name, expected):
    """A certificate is chosen by its exact name or by a wildcard; the default is the first."""
    async with serve({"a": b"x"}) as site:
        site.server.setup = _setup(A, B)
        async with site.connect(ssl=_client(), server_hostname=name) as client:
            assert _certificate_of(client).split() == expected.chain.split()
            assert (await client.request("GET", "/a")).status == 200


async def test_the_first_certificate_of_a_name_is_used():
    """If two certificates have the same name, the first one is sent."""
    async with serve({}) as site:
        site.server.setup = _setup(A, B, pair("b.test", common_name="later"))
        async with site.connect(ssl=_client(), server_hostname="b.test") as client:
            assert _certificate_of(client).split() == B.chain.split()


async def test_a_renewed_certificate_is_for_new_connections():
    """Open connections continue, and new ones get the new certificate."""
    async with serve({"a": b"x"}) as site:
        site.server.setup = _setup(A)
        async with site.connect(ssl=_client()) as old:
            await old.request("GET", "/a")
            site.server.setup = _setup(B)
            async with site.connect(ssl=_client()) as new:
                assert _certificate_of(new).split() == B.chain.split()
            assert (await old.request("GET", "/a")).body == b"x"


@pytest.mark.parametrize(
    ("options", "version"),
    [
        ({"min_version": "TLSv1.3"}, "TLSv1_2"),
        ({"max_version": "TLSv1.2"}, "TLSv1_3"),
        ({"cipher_suites": ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",)}, "TLSv1_2"),
        ({"cipher_suites": ("TLS_AES_128_GCM_SHA256",)}, "TLSv1_2"),
    ],
)
async def test_versions_and_cipher_suites_are_enforced(options, version):
    """The handshake fails if the client supports no configured version or cipher suite."""
    async with serve({"a": b"x"}) as site:
        site.server.setup = _setup(A, **options)
        tls_version = ssl.TLSVersion[version]
        context = _client(minimum_version=tls_version, maximum_version=tls_version)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            async with site.connect(ssl=context):
                pass


async def test_an_old_version_works_if_it_is_configured():
    """A client can use TLS 1.1 if the configuration allows it."""
    async with serve({"a": b"x"}) as site:
        site.server.setup = _setup(A, min_version="TLSv1.1")
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            context = _client(maximum_version=ssl.TLSVersion.TLSv1_1, minimum_version=ssl.TLSVersion.TLSv1_1)
        context.set_ciphers("DEFAULT@SECLEVEL=0")
        async with site.connect(ssl=context) as client:
            assert client.writer.get_extra_info("ssl_object").version() == "TLSv1.1"


async def test_plain_http_gets_no_answer():
    """A client that sends plain HTTP to a TLS port gets no answer, and other clients are still served."""
    async with serve({"a": b"x"}) as site:
        site.server.setup = _setup(A)
        async with site.connect() as plain:
            await plain.send(b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
            assert not (await plain.reader.read()).startswith(b"HTTP")
        async with site.connect(ssl=_client()) as client:
            assert (await client.request("GET", "/a")).status == 200


async def test_a_slow_handshake_is_aborted(monkeypatch):
    """A connection without a handshake is closed after a time limit."""
    monkeypatch.setattr(server_module.limits, "OPEN_WITHIN", 0.1)
    async with serve({"a": b"x"}) as site:
        site.server.setup = _setup(A)
        async with site.connect() as silent:
            assert await asyncio.wait_for(silent.is_closed(), 5)


async def test_many_slow_handshakes_do_not_block_clients(monkeypatch):
    """If too many handshakes are pending for long, the oldest connection is closed."""
    monkeypatch.setattr(server_module.limits, "MOST_OPENING", 2)
    monkeypatch.setattr(server_module.limits, "YOUNG_FOR", 0.0)
    async with serve({"a": b"x"}) as site:
        site.server.setup = _setup(A)
        async with site.connect() as first, site.connect() as second, site.connect(ssl=_client()) as client:
            assert await asyncio.wait_for(first.is_closed(), 5)
            assert (await client.request("GET", "/a")).status == 200
            assert not second.reader.at_eof()


@pytest.mark.parametrize("is_tls", [False, True])
async def test_many_clients_at_once_are_all_served(monkeypatch, is_tls):
    """Clients beyond those that may be opening wait for them, and none of these is dropped."""
    monkeypatch.setattr(server_module.limits, "MOST_OPENING", 2)
    async with serve({"a": b"x"}) as site:
        site.server.setup = _setup(A) if is_tls else ConnectionSetup()

        async def ask() -> int:
            async with site.connect(ssl=_client() if is_tls else None) as client:
                return (await client.request("GET", "/a")).status

        async with asyncio.timeout(30):
            assert await asyncio.gather(*(ask() for _ in range(12))) == [200] * 12


async def test_a_shutdown_does_not_wait_for_a_handshake():
    """A connection without a request is closed at the end of the grace period."""
    async with serve({}) as site:
        site.server.setup = _setup(A)
        async with site.connect() as silent:
            await asyncio.sleep(0.05)
            await asyncio.wait_for(site.server.shut_down(0.1), 5)
            assert await silent.is_closed()


async def test_closing_tls_cancels_the_request():
    """A client that closes TLS gets no more of its answer, since TLS connections are not half-closed."""
    async with serve({"a": b"x" * 10_000_000}) as site:
        site.server.setup = _setup(A)
        async with site.connect(ssl=_client()) as client:
            await client.send(b"GET /a HTTP/1.1\r\nHost: files.test\r\n\r\n")
            await client.reader.read(1000)
        event = await site.last_event()
        assert not event.complete


ANN = pair("ann@example.org", common_name="ann", unit="editors")
EVE = pair("eve@example.org", common_name="eve")
BY_CERTIFICATE = {
    "resources": [Resource("/**", provider="devices")],
    "authenticators": {"devices": CertificateAuthenticator(CertificateProvider("devices"), time.time)},
}


def _requesting_certificates(mode: str) -> ConnectionSetup:
    return _setup(A, B, client_auth=mode, client_roots=(Secret("test", ANN.chain),))


def _client_with(folder, client_pair: Pair) -> ssl.SSLContext:
    context = _client()
    (folder / "client.pem").write_text(client_pair.key + client_pair.chain)
    context.load_cert_chain(folder / "client.pem")
    return context


@pytest.mark.parametrize("mode", ["request", "require"])
@pytest.mark.parametrize("name", ["a.test", "b.test"])
async def test_a_client_signs_in_by_its_certificate(tmp_path, mode, name):
    """The certificate signs in with any server name, also in the first request of a connection."""
    rules = 'rewrite `^/me$` -> jinja "/{{ user.username }}-{{ user.email }}-{{ user.groups[0] }}"'
    async with serve({"ann-ann@example.org-editors": b"yes"}, rules=rules, **BY_CERTIFICATE) as site:
        site.server.setup = _requesting_certificates(mode)
        for _ in range(10):
            async with site.connect(ssl=_client_with(tmp_path, ANN), server_hostname=name) as client:
                assert (await client.request("GET", "/me")).body == b"yes"


async def _is_rejected(site, context) -> bool:
    """Whether a client gets no answer; with TLS 1.3, a rejection arrives only after the first request."""
    try:
        async with site.connect(ssl=context) as client:
            await client.send(b"GET /a HTTP/1.1\r\nHost: files.test\r\n\r\n")
            return not await client.reader.read()
    except (ssl.SSLError, ConnectionError):
        return True


async def test_a_client_without_a_required_certificate_is_rejected():
    """With `request`, a client without a certificate can read public files; with `require`, it cannot."""
    async with serve({"a": b"x"}) as site:
        site.server.setup = _requesting_certificates("request")
        async with site.connect(ssl=_client()) as client:
            assert (await client.request("GET", "/a")).status == 200
        site.server.setup = _requesting_certificates("require")
        assert await _is_rejected(site, _client())


async def test_a_certificate_of_an_unknown_authority_is_refused(tmp_path):
    """The handshake fails with an unknown certificate, even if no certificate is required."""
    async with serve({"a": b"x"}) as site:
        site.server.setup = _requesting_certificates("request")
        assert await _is_rejected(site, _client_with(tmp_path, EVE))


async def test_the_certificate_of_a_trusted_proxy_does_not_sign_in(tmp_path):
    """The certificate of a trusted proxy does not identify the client."""
    async with serve({"a": b"x"}, server=Server(trusted_proxies=("127.0.0.1/32",)), **BY_CERTIFICATE) as site:
        site.server.setup = _requesting_certificates("request")
        async with site.connect(ssl=_client_with(tmp_path, ANN)) as client:
            assert (await client.request("GET", "/a")).status == 401


@pytest.mark.parametrize(("headers", "status"), [({}, 200), ({"X-Real-Ip": "192.0.2.1"}, 401)])
async def test_the_certificate_of_a_proxy_that_names_its_client_does_not_sign_in(
    tmp_path, monkeypatch, headers, status
):
    """In a program with `xheaders`, the connection's certificate is not that of a client whom a header names."""
    context = _requesting_certificates("request").tls

    def server(application, _limits):
        return TornadoServer(application, ssl_options=context, xheaders=True)

    monkeypatch.setattr(serving, "make_server", server)
    async with serve({"a": b"x"}, **BY_CERTIFICATE) as site, site.connect(ssl=_client_with(tmp_path, ANN)) as client:
        assert (await client.request("GET", "/a", headers)).status == status


@pytest.mark.parametrize("name", ["X-Scheme", "X-Forwarded-Proto"])
async def test_a_proxy_ends_tls_before_another_program(monkeypatch, name):
    """In a program with `xheaders`, a request that a proxy received over TLS comes on a plain connection."""
    monkeypatch.setattr(serving, "make_server", lambda application, _limits: TornadoServer(application, xheaders=True))
    async with serve({"a": b"x"}) as site:
        assert (await site.request("GET", "/a", {name: "https"})).status == 200


def test_authorities_that_cannot_be_read_are_refused():
    """A private key in place of `clientCAs` is refused."""
    with pytest.raises(CertificateUnusable, match="`clientCAs` has no certificate in PEM"):
        make_context(Ssl(certificates=(A.certificate,), client_auth="require", client_roots=(Secret("test", A.key),)))


def test_names_are_the_alternative_names():
    """The names of a certificate are its subject alternative names, or its common name, in lower case."""
    assert names_of(A.certificate) == ("a.test", "*.wild.test")
    assert names_of(B.certificate) == ("b.test",)
    assert names_of(pair(common_name="Old.Test").certificate) == ("old.test",)


EMPTY = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----"


@pytest.mark.parametrize(
    ("certificate", "message"),
    [
        (structs.replace(A.certificate, key=B.certificate.key), "the private key does not belong to the certificate"),
        (structs.replace(A.certificate, key=A.certificate.chain), "the private key is not one in PEM"),
        (structs.replace(A.certificate, key=Secret("", "")), "the private key is not one in PEM"),
        (structs.replace(A.certificate, chain=Secret("", EMPTY)), "the certificate is not one in PEM"),
        (structs.replace(A.certificate, chain=A.certificate.key), "the certificate is not one in PEM"),
        (Certificate(), "the certificate is not one in PEM"),
        (pair("a.test", passphrase=b"secret").certificate, "the private key has a passphrase"),
    ],
)
def test_an_unusable_certificate_is_refused(certificate, message):
    """The message names the defect without quoting the key."""
    with pytest.raises(CertificateUnusable) as error:
        names_of(certificate)
    assert str(error.value) == message
