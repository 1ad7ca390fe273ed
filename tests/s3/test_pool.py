import asyncio
import errno
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hostile_s3 import hostile_s3, silent_port, wait_until
from scripted_s3 import Reply, Then, object_reply, reply, with_ending

from tornado_proxy.config.model import Bucket
from tornado_proxy.config.server import S3Pool
from tornado_proxy.s3 import connection as connections
from tornado_proxy.s3.connection import Pool
from tornado_proxy.storage.errors import Busy, StorageError, TimedOut, Unreachable

REQUEST = b"GET /bucket/a HTTP/1.1\r\nhost: s3\r\n\r\n"
MIB = 1024**2


def pool_at(port: int, connections: int = 512, waiting: int = 1024, **timeouts) -> Pool:
    bucket = Bucket("bucket", **{"connect_timeout": 2.0, "read_timeout": 5.0, **timeouts})
    return Pool("127.0.0.1", port, None, bucket, S3Pool(connections=connections, queue=waiting))


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def get(pool: Pool) -> bytes:
    answer = await pool.request(REQUEST)
    return await answer.read_all(MIB)


async def test_an_old_connection_is_not_used_again(monkeypatch):
    """A connection of a certain age is replaced although it always works, so that requests follow a name's address."""
    monkeypatch.setattr(connections.limits, "LONGEST_LIFETIME", 0.0)
    async with hostile_s3(object_reply(b"x")) as s3:
        pool = pool_at(s3.port)
        assert [await get(pool) for _ in range(3)] == [b"x"] * 3
        pool.close()
    assert s3.connections_made == 3


async def test_an_unread_small_answer_frees_its_connection():
    """The connection of an answer that is completely in memory is free, even if the answer was not read."""
    async with hostile_s3(object_reply(b"x")) as s3:
        pool = pool_at(s3.port)
        answers = [await pool.request(REQUEST) for _ in range(3)]
        assert ([await answer.read() for answer in answers], s3.connections_made) == ([b"x"] * 3, 1)
        pool.close()


async def test_a_dropped_answer_closes_its_connection():
    """The connection of a body that was not read to its end is closed, because the rest would become the next answer."""
    async with hostile_s3(object_reply(bytes(64 * MIB))) as s3:
        pool = pool_at(s3.port)
        for _ in range(3):
            (await pool.request(REQUEST)).close()
        await wait_until(lambda: not s3.open_connections)
        pool.close()
    assert s3.connections_made == 3


async def test_a_connection_that_s3_has_closed_is_replaced():
    """Requests succeed if S3 has closed all idle connections, or closes one when a request is sent on it."""
    async with hostile_s3(
        lambda number: object_reply(b"x") if number < 8 or number > 8 else Reply(b"", Then.RESET)
    ) as s3:
        pool = pool_at(s3.port)
        await asyncio.gather(*[get(pool) for _ in range(8)])
        assert await get(pool) == b"x"
        s3.hang_up()
        assert await get(pool) == b"x"
        pool.close()


async def test_a_new_connection_that_is_closed_is_an_error():
    """A request fails, and is not repeated, if S3 closes its new connection without an answer."""
    async with hostile_s3(Reply(b"", Then.CLOSE)) as s3:
        pool = pool_at(s3.port)
        with pytest.raises(Unreachable):
            await get(pool)
        pool.close()
    assert len(s3.requests) == 1


async def test_half_closed_connections_are_not_used():
    """A connection that S3 closes right after an answer is not used for the next request."""
    async with hostile_s3(with_ending(object_reply(b"x"), Then.CLOSE)) as s3:
        pool = pool_at(s3.port)
        for _ in range(20):
            assert await get(pool) == b"x"
        pool.close()
    assert (s3.connections_made, len(s3.requests)) == (20, 20)


# Limits


async def test_the_number_of_connections_is_limited():
    """Requests above the limit of connections wait, and all succeed."""
    async with hostile_s3(object_reply(b"x")) as s3:
        pool = pool_at(s3.port, connections=3)
        assert await asyncio.gather(*[get(pool) for _ in range(50)]) == [b"x"] * 50
        pool.close()
    assert s3.connections_made == 3


# Time


async def test_a_slow_client_does_not_time_s3_out():
    """A body that waits longer than the read timeout for its reader does not time out."""
    async with hostile_s3(object_reply(bytes(8 * MIB))) as s3:
        pool = pool_at(s3.port, read_timeout=0.5)
        answer = await pool.request(REQUEST)
        await asyncio.sleep(1.2)
        assert len(await answer.read_all(8 * MIB)) == 8 * MIB
        pool.close()


async def test_a_connection_that_is_not_accepted_times_out():
    """A request times out if its connection is not accepted in time."""
    with silent_port() as port, pytest.raises(TimedOut, match="no connection"):
        await get(pool_at(port, connect_timeout=0.2))


# Closing


async def test_answers_can_be_read_after_the_pool_is_closed():
    """A closed pool makes no new request; an answer that has begun can be read, and its connection is closed afterwards."""
    async with hostile_s3(object_reply(bytes(MIB))) as s3:
        pool = pool_at(s3.port)
        answer = await pool.request(REQUEST)
        pool.close()
        with pytest.raises(Unreachable):
            await pool.request(REQUEST)
        assert len(await answer.read_all(MIB)) == MIB
        await wait_until(lambda: not s3.open_connections)


async def test_thousands_of_faults_leave_nothing_open():
    """Under random faults of S3, each request ends, and no connection or descriptor stays open."""
    generator = random.Random(11)
    complete = object_reply(b"0123456789" * 50)
    faults = [
        lambda: with_ending(
            complete, generator.choice([Then.CLOSE, Then.RESET]), after=generator.randrange(len(complete.data))
        ),
        lambda: Reply(generator.randbytes(50), generator.choice([Then.CLOSE, Then.KEEP_OPEN])),
        lambda: replace(complete, data=complete.data + b"more"),
        lambda: reply(503),
        lambda: Reply(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Length: 8\r\n\r\n"),
        lambda: Reply(b"HTTP/1.0 200 OK\r\n\r\nabc", Then.CLOSE),
    ]
    results = []

    async def make_requests(pool):
        for _ in range(80):
            try:
                answer = await pool.request(REQUEST)
                if generator.random() < 0.1:
                    answer.close()
                results.append(await answer.read_all(MIB))
            except StorageError as error:
                results.append(error)

    async with hostile_s3(lambda _: generator.choice(faults)() if generator.random() < 0.8 else complete) as s3:
        pool = pool_at(s3.port, connections=30)
        before = descriptors()
        await asyncio.gather(*[make_requests(pool) for _ in range(50)])
        pool.close()
        await wait_until(lambda: not s3.open_connections)
        assert descriptors() <= before
    assert len(results) == 4_000
    assert {len(result) for result in results if isinstance(result, bytes)} <= {500, 0, 3}
    assert repr(pool).endswith("0 busy, 0 idle>")


async def test_a_lack_of_descriptors_is_busy(monkeypatch):
    """A connection for which no descriptor is free is a reason to try again later."""

    async def fail(*_arguments, **_options):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(connections.Dialer, "connect", fail)
    with pytest.raises(Busy, match="Too many open files"):
        await pool_at(1).request(b"")
