"""How connections are opened; tests/s3/test_way_to_s3.py shows what becomes of it on the way to S3."""

import asyncio
import gc
import socket
import threading

import pytest
from hostile_s3 import silent_port

from tornado_proxy.wire.dialing import Dialer, Names
from tornado_proxy.wire.shares import in_own_thread

RESOLVE = socket.getaddrinfo


@pytest.fixture
def hanging(monkeypatch):
    """An event; until it is set, names that end in `.hangs` are not resolved. The names that were asked for are `asked`."""
    let_go, asked = threading.Event(), []

    def resolve(host, port, *arguments, **options):
        if options.get("flags"):
            return RESOLVE(host, port, *arguments, **options)
        asked.append(host)
        if host.endswith(".hangs"):
            let_go.wait(20)
        return RESOLVE("127.0.0.1", port, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    let_go.asked = asked
    yield let_go
    let_go.set()


async def test_a_name_that_hangs_stops_no_other(hanging):
    """However many names hang, and however many ask for them, another one is resolved; each hangs on one thread."""
    names = Names()
    waiting = [asyncio.ensure_future(names.resolve(f"{number % 50}.hangs", 1)) for number in range(200)]
    assert await names.resolve("other", 7) == [(socket.AF_INET, ("127.0.0.1", 7))]
    assert len(hanging.asked) == 51
    hanging.set()
    assert await asyncio.gather(*waiting) == [[(socket.AF_INET, ("127.0.0.1", 1))]] * 200


async def test_who_leaves_does_not_stop_who_asks_for_the_same_name(hanging):
    """A resolution goes on for those who still wait."""
    names = Names()
    first, second = (asyncio.ensure_future(names.resolve("a.hangs", 1)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    hanging.set()
    assert await second == [(socket.AF_INET, ("127.0.0.1", 1))]


async def test_an_address_is_not_asked_for(hanging):
    """What is an address needs no thread."""
    assert await Names().resolve("127.0.0.9", 80) == [(socket.AF_INET, ("127.0.0.9", 80))]
    assert await Names().resolve("::1", 80, socket.AF_INET6) == [(socket.AF_INET6, ("::1", 80, 0, 0))]
    assert hanging.asked == []


async def test_a_name_that_is_unknown_is_an_error():
    """Each who waits gets it."""
    names = Names()
    results = await asyncio.gather(*[names.resolve("nowhere.invalid", 1) for _ in range(3)], return_exceptions=True)
    assert [type(each) for each in results] == [socket.gaierror] * 3


async def test_a_call_in_its_own_thread_may_be_left(hanging):
    """Nobody waits for a call that was given up, and it ends without a word."""
    left = asyncio.ensure_future(in_own_thread(lambda: hanging.wait(20)))
    await asyncio.sleep(0)
    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        await left


async def test_addresses_that_answer_share_the_connections(monkeypatch):
    """The order of the resolver holds among them; one that refused comes last."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
        with socket.create_server(("127.0.0.2", port)):
            orders = iter(
                [("127.0.0.3", "127.0.0.1"), ("127.0.0.1", "127.0.0.2"), ("127.0.0.3", "127.0.0.2", "127.0.0.1")]
            )

            def resolve(host, port, *arguments, **options):
                if options.get("flags"):
                    return RESOLVE(host, port, *arguments, **options)
                return [RESOLVE(each, port, *arguments, **options)[0] for each in next(orders)]

            monkeypatch.setattr(socket, "getaddrinfo", resolve)
            dialer, tried = Dialer("name", port), []
            for _ in range(3):
                with await dialer.connect() as made:
                    tried.append(made.getpeername()[0])
    assert tried == ["127.0.0.1", "127.0.0.1", "127.0.0.2"]


@pytest.mark.parametrize("count", [1, 2])
def test_a_thread_connects_in_time(monkeypatch, count):
    """Without an address that answers, a call in a thread ends."""
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, port, **_: RESOLVE("127.0.0.1", port, **_) * count)
    with silent_port() as port, pytest.raises(TimeoutError):
        Dialer("name", port).connect_in_thread(0.5)


def test_a_refused_connection_is_called_so():
    """The error of a thread has the words that people look for."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(ConnectionRefusedError, match="Connection refused"):
            Dialer("127.0.0.1", unused.getsockname()[1]).connect_in_thread(5)


async def test_who_leaves_at_any_moment_leaves_no_connection():
    """A connection that is made as its caller is cancelled is closed; one that is left open is an error of the tests."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        dialer = Dialer("127.0.0.1", server.getsockname()[1])
        for steps in range(12):
            connecting = asyncio.ensure_future(dialer.connect())
            for _ in range(steps):
                await asyncio.sleep(0)
            connecting.cancel()
            (made,) = await asyncio.gather(connecting, return_exceptions=True)
            if isinstance(made, socket.socket):
                made.close()
            del made, connecting
        gc.collect()
