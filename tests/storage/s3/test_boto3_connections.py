from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from endless_s3 import endless_s3
from faulty_s3 import faulty_s3
from scripted_s3 import Then, an_error, an_object, ending, reply, scripted_s3
from stores import body_of, pieces, store_at

from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.storage.errors import ObjectExists, TimedOut, Unreachable, UpstreamError
from tornado_proxy.storage.store import Write

ANY = Conditions()
KIB, MIB = 1024, 1024**2


@contextmanager
def slow_s3(rate: int) -> Iterator[tuple[str, list[int]]]:
    """An S3 behind a line that takes so many bytes a second; it gives its URL and the bytes of each request."""
    taken: list[int] = []

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            data = b""
            while b"\r\n\r\n" not in data:
                data += connection.recv(4096)
            head, _, body = data.partition(b"\r\n\r\n")
            length = next(int(line[15:]) for line in head.splitlines() if line.lower().startswith(b"content-length:"))
            left, begun = length - len(body), time.monotonic()
            while left > 0:
                left -= len(connection.recv(min(left, 4 * KIB)))
                behind = (length - left) / rate - (time.monotonic() - begun)
                time.sleep(max(0.0, behind))
            taken.append(length)
            connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: "e"\r\nConnection: close\r\n\r\n')

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 * KIB)  # of accepted connections too
        server.bind(("127.0.0.1", 0))
        server.listen()
        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", taken
        server.shutdown(socket.SHUT_RDWR)


async def test_an_upload_over_a_slow_line_is_stored():
    """A body that takes longer than the time-outs is sent, as long as S3 takes some of it."""
    with slow_s3(rate=MIB) as (url, taken):
        async with store_at(url, connect_timeout=2, read_timeout=2, timeout=2, max_attempts=1) as store:
            begun = time.monotonic()
            stored = await store.put("a", pieces(bytes(4 * MIB)), Write())
    assert (stored.etag, taken) == ('"e"', [4 * MIB])
    assert time.monotonic() - begun > 3


@pytest.mark.integration
async def test_an_upload_at_300_kilobytes_a_second_is_stored():
    """The default time-outs suit a slow line."""
    with slow_s3(rate=300_000) as (url, taken):
        async with store_at(url, connect_timeout=5, read_timeout=30, part_size=16 * MIB) as store:
            await store.put("a", pieces(bytes(8 * MIB)), Write())
    assert taken == [8 * MIB]


async def test_many_uploads_to_a_healthy_s3_are_stored():
    """64 uploads at once need more time than a connection may take."""
    with endless_s3() as (url, traffic):
        async with store_at(url, threads=64, connect_timeout=1, read_timeout=30, max_attempts=1) as store:
            await asyncio.gather(*[store.put(f"{n}", pieces(bytes(5 * MIB)), Write()) for n in range(64)])
    assert traffic.stored == 64


async def test_an_s3_that_takes_nothing_is_given_up():
    """Silence is bounded while a body is sent, too."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        async with store_at(url, read_timeout=0.3, max_attempts=1) as store:
            with pytest.raises((TimedOut, Unreachable)):
                await store.put("a", pieces(bytes(32 * MIB)), Write())


async def test_an_answer_byte_by_byte_is_given_up():
    """An S3 that is never silent and never done is no more than a time-out."""
    with faulty_s3() as s3:
        async with store_at(s3.url, "executor", read_timeout=5, timeout=0.5) as store:
            for ask in (store.head("drip", ANY), store.open("drip", ANY), store.open("drip-body", ANY)):
                with pytest.raises(TimedOut):
                    await ask


async def test_a_body_that_hangs_is_cut_off_with_its_reader():
    """A thread that waits for the rest of a body is free when the body is closed."""
    half = ending(an_object(bytes(MIB)), Then.SILENCE, after=600 * KIB)
    with scripted_s3(half, an_object(b"next")) as s3:
        async with store_at(s3.url, "executor", threads=1, read_timeout=30) as store:
            opened = await store.open("a", ANY)
            chunks = opened.chunks()
            await anext(chunks)
            await anext(chunks)
            reading = asyncio.ensure_future(anext(chunks))
            await asyncio.sleep(0.05)
            reading.cancel()
            await asyncio.wait([reading])
            await opened.close()
            assert await body_of(store, "next") == b"next"


async def test_a_body_that_hangs_times_out():
    """A chunk that does not come is given up, though the connection is not silent for as long."""
    half = ending(an_object(bytes(MIB)), Then.SILENCE, after=600 * KIB)
    with scripted_s3(half) as s3:
        async with store_at(s3.url, "executor", read_timeout=30, timeout=2) as store:
            opened = await store.open("a", ANY)
            with pytest.raises(TimedOut):
                assert [chunk async for chunk in opened.chunks()] == []
            await opened.close()


CREATE = Write(replace=False)


@pytest.mark.parametrize("lost", [ending(reply(200), Then.CLOSE, after=0), reply(500), reply(502), reply(504)])
async def test_a_conditional_write_whose_answer_is_lost_is_not_repeated(lost):
    """It may have happened: a second attempt would find the object of the first, and say that it is another's."""
    with scripted_s3(lost, an_error(412, "PreconditionFailed")) as s3:
        async with store_at(s3.url, "executor", max_attempts=3) as store:
            with pytest.raises((Unreachable, UpstreamError, TimedOut)):
                await store.put("a", pieces(b"x"), CREATE)
    assert len(s3.requests) == 1


@pytest.mark.parametrize(
    ("write", "answer"),
    [(CREATE, reply(503)), (Write(), reply(500)), (Write(), ending(reply(200), Then.CLOSE, after=0))],
)
async def test_other_writes_are_tried_again(write, answer):
    """What S3 refused for now has not happened, and what has no condition may happen twice."""
    with scripted_s3(answer, reply(200, ETag='"e"')) as s3:
        async with store_at(s3.url, "executor", max_attempts=3) as store:
            assert (await store.put("a", pieces(b"x"), write)).etag == '"e"'


async def test_an_object_in_the_way_is_told():
    """A first attempt that finds an object is somebody else's."""
    with scripted_s3(an_error(412, "PreconditionFailed")) as s3:
        async with store_at(s3.url, "executor", max_attempts=3) as store:
            with pytest.raises(ObjectExists):
                await store.put("a", pieces(b"x"), CREATE)
