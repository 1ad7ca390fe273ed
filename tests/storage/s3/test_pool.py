from __future__ import annotations

import asyncio
import random
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from hostile_s3 import hostile_s3, wait_until
from scripted_s3 import Reply, Then, object_reply, reply, with_ending

from tornado_proxy.storage.errors import Busy, StorageError, TimedOut, Unreachable
from tornado_proxy.storage.s3.pool import Pool, PoolLimits

REQUEST = b"GET /bucket/a HTTP/1.1\r\nhost: s3\r\n\r\n"
SILENT = Reply(b"", Then.SILENCE)
MIB = 1024**2


def pool_at(port: int, **limits) -> Pool:
    return Pool("127.0.0.1", port, None, PoolLimits(**{"connect_timeout": 2.0, "read_timeout": 5.0} | limits))


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def body_of(pool: Pool) -> bytes:
    answer = await pool.request(REQUEST)
    return await answer.read_all(MIB)


async def test_a_connection_is_used_again():
    """Requests one after the other have one connection; at one time, one each."""
    async with hostile_s3(object_reply(b"x")) as s3:
        pool = pool_at(s3.port)
        for _ in range(5):
            assert await body_of(pool) == b"x"
        one = s3.connections_made
        await asyncio.gather(*[body_of(pool) for _ in range(5)])
        pool.close()
    assert (one, s3.connections_made) == (1, 5)


async def test_an_answer_that_is_not_read_gives_its_connection_back():
    """What has come whole is in memory: its connection is free, whether or not somebody reads it."""
    async with hostile_s3(object_reply(b"x")) as s3:
        pool = pool_at(s3.port)
        answers = [await pool.request(REQUEST) for _ in range(3)]
        assert ([await answer.read() for answer in answers], s3.connections_made) == ([b"x"] * 3, 1)
        pool.close()


async def test_an_answer_that_is_dropped_closes_its_connection():
    """A body that is not read to its end is not reused: what is left of it would be the next answer."""
    async with hostile_s3(object_reply(bytes(64 * MIB))) as s3:
        pool = pool_at(s3.port)
        for _ in range(3):
            (await pool.request(REQUEST)).drop()
        await wait_until(lambda: not s3.open_connections)
        pool.close()
    assert s3.connections_made == 3


async def test_what_s3_has_closed_meanwhile_is_replaced_unseen():
    """A pool full of connections that S3 has closed, or closes as soon as it is asked, costs no request."""
    async with hostile_s3(
        lambda number: object_reply(b"x") if number < 8 or number > 8 else Reply(b"", Then.RESET)
    ) as s3:
        pool = pool_at(s3.port)
        await asyncio.gather(*[body_of(pool) for _ in range(8)])
        assert await body_of(pool) == b"x"
        s3.hang_up()
        assert await body_of(pool) == b"x"
        pool.close()


async def test_a_new_connection_that_is_closed_is_an_error():
    """An S3 that hangs up on a connection that is new has no answer, and is not asked again unseen."""
    async with hostile_s3(Reply(b"", Then.CLOSE)) as s3:
        pool = pool_at(s3.port)
        with pytest.raises(Unreachable):
            await body_of(pool)
        pool.close()
    assert len(s3.requests) == 1


async def test_half_closed_connections_are_not_used():
    """A connection whose end has come, together with the answer before, takes no request."""
    async with hostile_s3(with_ending(object_reply(b"x"), Then.CLOSE)) as s3:
        pool = pool_at(s3.port)
        for _ in range(20):
            assert await body_of(pool) == b"x"
        pool.close()
    assert (s3.connections_made, len(s3.requests)) == (20, 20)


# Limits


async def test_there_are_no_more_connections_than_the_limit():
    """Further requests wait their turn, in order, and get one."""
    async with hostile_s3(object_reply(b"x")) as s3:
        pool = pool_at(s3.port, connections=3)
        assert await asyncio.gather(*[body_of(pool) for _ in range(50)]) == [b"x"] * 50
        pool.close()
    assert s3.connections_made == 3


async def test_more_than_may_wait_are_refused():
    """With all connections in use and the queue full, a request is refused at once."""
    async with hostile_s3(SILENT) as s3:
        pool = pool_at(s3.port, connections=1, waiting=2)
        waiting = [asyncio.ensure_future(body_of(pool)) for _ in range(3)]
        await wait_until(lambda: len(s3.requests) == 1)
        with pytest.raises(Busy):
            await body_of(pool)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        pool.close()


async def test_who_goes_away_leaves_the_queue():
    """A place in the queue is free as soon as the one who had it is cancelled."""
    async with hostile_s3(SILENT) as s3:
        pool = pool_at(s3.port, connections=1, waiting=1)
        first = asyncio.ensure_future(body_of(pool))
        await wait_until(lambda: len(s3.requests) == 1)
        for _ in range(20):
            waiting = asyncio.ensure_future(body_of(pool))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        pool.close()


async def test_who_waits_too_long_is_refused():
    """A queue that does not move is not waited in for ever."""
    async with hostile_s3(with_ending(object_reply(bytes(64 * MIB)), Then.SILENCE, after=4 * MIB)) as s3:
        pool = pool_at(s3.port, connections=1, read_timeout=0.5)
        # Nobody reads on, so that S3 is not to blame and the connection stays.
        answer = await pool.request(REQUEST)
        with pytest.raises(Busy, match="free"):
            await body_of(pool)
        answer.drop()
        pool.close()


async def test_a_place_that_is_given_up_goes_to_the_next():
    """Whatever becomes of those in front, the last in the queue is served."""
    async with hostile_s3(lambda number: Reply(b"", Then.CLOSE) if number % 2 else object_reply(b"x")) as s3:
        pool = pool_at(s3.port, connections=2, waiting=1000)
        tasks = [asyncio.ensure_future(body_of(pool)) for _ in range(300)]
        for task in random.Random(5).sample(tasks, 100):
            await asyncio.sleep(0)
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(result) for result in results} <= {bytes, Unreachable, asyncio.CancelledError}
        s3.answer = lambda _: object_reply(b"last")
        assert await body_of(pool) == b"last"
        pool.close()
    assert repr(pool).endswith("0 busy, 0 idle>")


# Time


async def test_silence_times_out_in_head_and_body():
    """An S3 that stands still, before, in or after the head, is given up after the longest silence."""
    whole = object_reply(bytes(1000))
    for after in (0, 10, len(whole.data) - 1000, len(whole.data) - 1):
        async with hostile_s3(with_ending(whole, Then.SILENCE, after=after)) as s3:
            pool = pool_at(s3.port, read_timeout=0.1)
            with pytest.raises(TimedOut):
                await body_of(pool)
            await wait_until(lambda: not s3.open_connections)
            pool.close()


async def test_a_head_that_comes_slowly_times_out():
    """A byte now and then does not keep a request alive whose answer has not begun."""

    async def serve(_, writer):
        for byte in b"HTTP/1.1 200 OK\r\nX: " + b"y" * 30:
            writer.write(bytes([byte]))
            await asyncio.sleep(0.01)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    pool = pool_at(server.sockets[0].getsockname()[1], read_timeout=0.2)
    with pytest.raises(TimedOut):
        await body_of(pool)
    await asyncio.sleep(0.4)
    pool.close()
    server.close()


async def test_a_slow_client_does_not_time_s3_out():
    """While a body waits for its reader, nothing is expected of S3."""
    async with hostile_s3(object_reply(bytes(8 * MIB))) as s3:
        pool = pool_at(s3.port, read_timeout=0.5)
        answer = await pool.request(REQUEST)
        await asyncio.sleep(1.2)
        assert len(await answer.read_all(8 * MIB)) == 8 * MIB
        pool.close()


async def test_a_port_that_does_not_answer_times_out():
    """A connection that is not accepted is given up."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        held = []
        for _ in range(3):
            held.append(socket.socket())
            held[-1].setblocking(False)
            held[-1].connect_ex(("127.0.0.1", port))
        pool = pool_at(port, connect_timeout=0.2)
        with pytest.raises(TimedOut, match="no connection"):
            await body_of(pool)
        for each in held:
            each.close()


async def test_a_request_has_no_timer_of_its_own():
    """A thousand requests leave the loop with one timer: the sweep."""
    async with hostile_s3(object_reply(b"x")) as s3:
        pool = pool_at(s3.port)
        loop = asyncio.get_running_loop()
        await body_of(pool)
        before = len(loop._scheduled)
        for _ in range(1000):
            await body_of(pool)
        assert len(loop._scheduled) <= before
        pool.close()


# The end


async def test_a_closed_pool_lets_answers_end():
    """What is being received is received; nothing new is asked, and no connection stays."""
    async with hostile_s3(object_reply(bytes(MIB))) as s3:
        pool = pool_at(s3.port)
        answer = await pool.request(REQUEST)
        pool.close()
        with pytest.raises(Unreachable):
            await pool.request(REQUEST)
        assert len(await answer.read_all(MIB)) == MIB
        await wait_until(lambda: not s3.open_connections)


async def test_who_waits_when_the_pool_is_closed_is_let_go():
    """Nobody waits for what will not come."""
    async with hostile_s3(SILENT) as s3:
        pool = pool_at(s3.port, connections=1)
        tasks = [asyncio.ensure_future(body_of(pool)) for _ in range(2)]
        await wait_until(lambda: len(s3.requests) == 1)
        pool.close()
        with pytest.raises(Unreachable):
            await tasks[1]
        tasks[0].cancel()
        await asyncio.gather(tasks[0], return_exceptions=True)


async def test_nothing_is_left_of_thousands_of_faults():
    """Whatever S3 does, each request ends, and no connection, descriptor or waiting task is left over."""
    dice = random.Random(11)
    whole = object_reply(b"0123456789" * 50)
    faults = [
        lambda: with_ending(whole, dice.choice([Then.CLOSE, Then.RESET]), after=dice.randrange(len(whole.data))),
        lambda: Reply(dice.randbytes(50), dice.choice([Then.CLOSE, Then.KEEP_OPEN])),
        lambda: replace(whole, data=whole.data + b"more"),
        lambda: reply(503),
        lambda: Reply(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Length: 8\r\n\r\n"),
        lambda: Reply(b"HTTP/1.0 200 OK\r\n\r\nabc", Then.CLOSE),
    ]
    results = []

    async def ask(pool):
        for _ in range(80):
            try:
                answer = await pool.request(REQUEST)
                if dice.random() < 0.1:
                    answer.drop()
                results.append(await answer.read_all(MIB))
            except StorageError as error:
                results.append(error)

    async with hostile_s3(lambda _: dice.choice(faults)() if dice.random() < 0.8 else whole) as s3:
        pool = pool_at(s3.port, connections=30)
        before = descriptors()
        await asyncio.gather(*[ask(pool) for _ in range(50)])
        pool.close()
        await wait_until(lambda: not s3.open_connections)
        assert descriptors() <= before
    assert len(results) == 4_000
    assert {len(result) for result in results if isinstance(result, bytes)} <= {500, 0, 3}
    assert repr(pool).endswith("0 busy, 0 idle>")


async def test_other_pools_are_undisturbed():
    """A pool whose S3 hangs holds up no other."""
    async with hostile_s3(SILENT) as bad, hostile_s3(object_reply(b"x")) as good:
        stuck, pool = pool_at(bad.port, connections=2), pool_at(good.port)
        tasks = [asyncio.ensure_future(body_of(stuck)) for _ in range(20)]
        await wait_until(lambda: len(bad.requests) == 2)
        assert await asyncio.gather(*[body_of(pool) for _ in range(20)]) == [b"x"] * 20
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        stuck.close()
        pool.close()
