"""Attacks that HTTP/2 makes cheap: the connection ends before they cost much, and a client that means well sees none of it."""

import asyncio

import pytest
from fakes import EndlessBody, OneObjectStore
from h2.errors import ErrorCodes
from h2.settings import SettingCodes
from hostile_s3 import hostile_s3
from http2_client import connect, head
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    ExtensionFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)
from ranged_s3 import RangedS3
from serving import serve
from stores import store_at

from tornado_proxy.config.actions import Actions, PutAction
from tornado_proxy.config.server import Limits

GET = b"\x82\x87\x84\x01\x0afiles.test"  # HPACK: GET, https, /, and an authority


async def _flood(client, frames) -> ErrorCodes:
    """Sends frames until the server ends the connection; returns why it does."""

    async def send() -> None:
        for batch in frames:
            await client.send(*batch)

    sending = asyncio.ensure_future(send())
    code = await client.goodbye()
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    return code


def _resets():
    for number in range(1, 200_001, 200):
        yield [
            frame
            for each in range(number, number + 200, 2)
            for frame in (
                HeadersFrame(each, data=GET, flags=["END_HEADERS", "END_STREAM"]),
                RstStreamFrame(each, error_code=ErrorCodes.CANCEL),
            )
        ]


async def test_rapid_resets_end_the_connection():
    """CVE-2023-44487: of 100,000 requests that are reset at once, a few hundred are begun."""
    async with serve({}) as site, connect(site) as client:
        code = await _flood(client, _resets())
        await site.last_event()
    assert code == ErrorCodes.ENHANCE_YOUR_CALM
    assert len(site.events) < 1000


def _continuations(data: bytes):
    yield [HeadersFrame(1, data=GET)]
    for _ in range(1000):
        yield [ContinuationFrame(1, data=data) for _ in range(100)]


@pytest.mark.parametrize("size", [0, 1, 16384])
async def test_heads_without_end_end_the_connection(size):
    """CVE-2024-27316: neither many nor large pieces of a head are collected."""
    async with serve({}) as site, connect(site) as client:
        code = await _flood(client, _continuations(bytes(size)))
    assert code in (ErrorCodes.ENHANCE_YOUR_CALM, ErrorCodes.PROTOCOL_ERROR)
    assert site.events == []


FLOODS = {
    "pings": lambda: PingFrame(0),
    "settings": lambda: SettingsFrame(0, {SettingCodes.INITIAL_WINDOW_SIZE: 65_535}),
    "windows": lambda: WindowUpdateFrame(0, window_increment=1),
    "windows for what was not sent": lambda: WindowUpdateFrame(0, window_increment=4096),
    "priorities": lambda: PriorityFrame(1, depends_on=3),
    "unknown frames": lambda: ExtensionFrame(0xFA, 0),
    "bodies of nobody": lambda: DataFrame(1, data=b"x"),
}


@pytest.mark.parametrize("frame", FLOODS.values(), ids=FLOODS)
async def test_floods_end_the_connection(frame):
    """Frames that ask for work and give none are taken a thousand times, and then in a slow rate (CVE-2019-9512 to 9518)."""
    async with serve({"a": b"x"}) as site, connect(site) as client:
        assert (await client.request("GET", "/a")).status == 200
        code = await _flood(client, ([frame()] * 100 for _ in range(100)))
    assert code == ErrorCodes.ENHANCE_YOUR_CALM


async def test_empty_bodies_end_the_connection():
    """CVE-2019-9518: frames of a body without a byte of it."""
    uploads = Actions(put=PutAction(enabled=True, raw_uploads=True))
    async with serve({}, actions=uploads) as site, connect(site) as client:
        number = await client.ask(head("PUT", "/a"), b"x", ends=False)
        code = await _flood(client, ([DataFrame(number)] * 100 for _ in range(100)))
    assert code == ErrorCodes.ENHANCE_YOUR_CALM


async def test_windows_of_a_byte_end_the_connection():
    """CVE-2019-9511: a client that takes an answer byte by byte makes more work than it is worth."""
    async with serve({"a": b"x" * 100_000}) as site, connect(site, takes=False) as client:
        client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 0})
        number = await client.ask(head("GET", "/a"))
        reading = asyncio.ensure_future(client.goodbye())
        while not reading.done():
            client.h2.increment_flow_control_window(1, number)
            await client.flush()
            await asyncio.sleep(0)
        event = await site.last_event()
    assert reading.result() == ErrorCodes.ENHANCE_YOUR_CALM
    assert not event.complete


async def test_more_streams_than_announced_are_refused():
    """Requests beyond the limit may be repeated (RFC 9113 8.7); those before are answered."""
    async with serve(OneObjectStore(EndlessBody(10**9))) as site, connect(site, takes=False) as client:
        await client.read()
        limit = client.h2.remote_settings.max_concurrent_streams
        client.h2.remote_settings.max_concurrent_streams = 1000
        client.h2.remote_settings.acknowledge()
        numbers = [await client.ask(head("GET", "/a")) for _ in range(limit + 5)]
        refused = [await client.receive(number) for number in numbers[limit:]]
        while not all(client.answers[number].status for number in numbers[:limit]):
            await client.read()
    assert [answer.reset for answer in refused] == [ErrorCodes.REFUSED_STREAM] * 5
    assert limit == 100


async def test_a_frame_that_is_too_long_is_not_awaited():
    """Its announcement ends the connection, before a byte of it is kept."""
    async with serve({}) as site, connect(site) as client:
        await client.read()
        client.writer.write(b"\x00\x40\x01\x00\x00\x00\x00\x00\x01")
        assert await client.goodbye() == ErrorCodes.FRAME_SIZE_ERROR


async def test_a_bomb_of_headers_ends_the_connection():
    """CVE-2016-6581: a head whose few bytes stand for many is not unfolded."""
    value = b"x" * 3900
    bomb = GET + b"\x40\x01a\x7f" + bytes([0x80 | (len(value) - 127) & 0x7F, (len(value) - 127) >> 7]) + value
    bomb += b"\xbe" * 12_000  # each is that header once more
    async with serve({}) as site, connect(site) as client:
        await client.read()
        await client.send(HeadersFrame(1, data=bomb, flags=["END_HEADERS", "END_STREAM"]))
        assert await client.goodbye() == ErrorCodes.ENHANCE_YOUR_CALM
    assert site.events == []


@pytest.mark.parametrize("sizes", [(0,), (1024,), (0, 2**31), (65536, 0), (0, 4096), (65536, 1024, 65536, 0, 100)])
@pytest.mark.parametrize("together", [True, False])
async def test_heads_of_answers_follow_the_table_of_the_client(sizes, together):
    """The next head says the smallest and the last size of the table, if either changed (RFC 7541 4.2)."""
    async with serve({"a": b"x"}) as site, connect(site) as client:
        assert (await client.request("GET", "/a")).status == 200
        for size in sizes:
            client.h2.update_settings({SettingCodes.HEADER_TABLE_SIZE: size})
            if not together:
                await client.flush()
                assert (await client.request("GET", "/a")).status == 200
        client.h2.update_settings({SettingCodes.ENABLE_PUSH: 0})
        for _ in range(3):
            assert (await client.request("GET", "/a")).status == 200
    assert client.h2.decoder.header_table_size == min(sizes[-1], 4096)


async def test_heads_of_answers_follow_each_size_of_the_table_in_a_frame():
    """The smallest of several sizes in one frame is said, too: the client has emptied its table (RFC 7541 4.2)."""
    async with serve({"a": b"x"}) as site, connect(site) as client:
        assert (await client.request("GET", "/a")).status == 200
        sizes = b"".join(b"\0\1" + size.to_bytes(4) for size in (0, 100, 65536))
        client.writer.write(b"\0\0" + bytes([len(sizes)]) + b"\4\0\0\0\0\0" + sizes)
        client.h2.receive_data = lambda data, receive=client.h2.receive_data: receive(data) if data[3] != 4 else []
        client.h2.decoder.header_table.maxsize = 0
        client.h2.decoder.header_table.maxsize = 4096
        assert (await client.request("GET", "/a")).status == 200


async def test_a_client_that_reads_no_answers_to_its_pings_is_not_read():
    """What a client does not read does not pile up."""
    async with serve({}) as site, connect(site, Limits(send_timeout=0.2)) as client:
        sending = asyncio.ensure_future(_ping_for_ever(client))
        await asyncio.wait([sending])
        assert isinstance(sending.exception(), ConnectionError)


async def _ping_for_ever(client) -> None:
    while True:
        await client.send(*[PingFrame(0)] * 500)


async def test_a_busy_client_is_not_taken_for_an_attacker():
    """Requests with a cancelled one after each, and a ping and a window's update with each, are served."""
    async with serve({"a": b"x"}) as site, connect(site) as client:
        for _ in range(250):
            assert (await client.request("GET", "/a")).status == 200
            number = await client.ask(head("GET", "/a"))
            await client.receive(number)
            await client.send(PingFrame(0), WindowUpdateFrame(0, window_increment=1), RstStreamFrame(number))
    assert client.goodbyes == []


async def test_windows_may_open_after_an_answer():
    """A client that is sent a large answer at once and reads it later, 4 KiB at a time as Go may do, is served on."""
    async with serve({"a": bytes(3 * 2**20)}) as site, connect(site, takes=False) as client:
        client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 2**30})
        client.h2.increment_flow_control_window(2**30)
        number = await client.ask(head("GET", "/a"))
        size = len((await client.receive(number)).body)
        await client.send(*[WindowUpdateFrame(each, window_increment=4096) for each in (0, number)] * (size // 4096))
        assert (await client.request("GET", "/a")).complete


async def test_uploads_that_were_answered_may_be_reset():
    """A client that does not send the rest of what was refused, as it should (RFC 9113 8.1), is served on."""
    async with serve({}) as site, connect(site) as client:
        for _ in range(400):
            number = await client.ask(head("PUT", "/a"), b"x", ends=False)
            assert (await client.receive(number)).ended
            client.h2.reset_stream(number)


async def test_shut_windows_hold_no_connections_to_s3():
    """Streams whose client takes nothing let go of the one connection, which others get, and go on when windows open."""
    body = bytes(range(256)) * 8192
    ranged = RangedS3(body)
    async with (
        hostile_s3(ranged) as ranged.s3,
        store_at(ranged.s3.url, connections=1, release_after=0.1) as store,
        serve(store) as site,
        connect(site, takes=False) as client,
    ):
        numbers = [await client.ask(head("GET", f"/{each}")) for each in "abcd"]
        while not all(client.answers[each].status for each in numbers):
            assert await client.read()
        other = await site.request("HEAD", "/other")
        client.takes = True
        for number in numbers:
            client.h2.acknowledge_received_data(len(client.answers[number].body), number)
        await client.flush()
        answers = [await client.receive(each) for each in numbers]
    assert other.status == 200
    assert all(each.body == body for each in answers)
