"""Bytes go from one socket to another, and what the second one does not take comes back."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import pytest

from tornado_proxy.wire import splicing
from tornado_proxy.wire.splicing import splice

KIB, MIB = 1024, 1024**2


@dataclass
class Ends:
    """S3, which sends to `source`, and the client, which reads from `target`."""

    s3: socket.socket
    source: socket.socket
    target: socket.socket
    client: socket.socket

    def splice(self, received: bytes, most: int = MIB) -> tuple[int, bytes]:
        """Moves bytes from `source` to `target`."""
        return splice(memoryview(received), self.source.fileno(), most, self.target.fileno())

    def arrived(self) -> bytes:
        """Everything that has arrived at the client."""
        chunks = []
        try:
            while chunk := self.client.recv(MIB):
                chunks.append(chunk)
        except BlockingIOError:
            pass
        return b"".join(chunks)


@pytest.fixture
def ends() -> Iterator[Ends]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(each) for _ in range(2) for each in socket.socketpair()]
        for each in sockets:
            each.setblocking(False)
        sockets[2].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 128 * KIB)
        yield Ends(*sockets)


async def test_bytes_keep_their_order(ends):
    """What was received comes first, then what has arrived."""
    ends.s3.send(b"cd")
    assert ends.splice(b"ab") == (2, b"")
    assert ends.arrived() == b"abcd"


async def test_no_more_than_asked_for_is_taken(ends):
    """The next bytes, which may be of another answer, stay in the socket."""
    ends.s3.send(b"cdef")
    assert ends.splice(b"ab", most=2) == (2, b"")
    assert (ends.arrived(), ends.source.recv(10)) == (b"abcd", b"ef")


async def test_nothing_is_taken_for_a_client_that_is_full(ends):
    """Bytes that do not fit come back, and none are taken from the socket."""
    ends.s3.send(b"x")
    received = os.urandom(MIB)
    taken, rest = ends.splice(received)
    assert (taken, ends.arrived() + rest) == (0, received)
    assert rest
    assert ends.source.recv(10) == b"x"


async def test_what_a_client_does_not_take_comes_back(ends):
    """A client that is full in the middle has the first bytes, and the last ones come back, at most 64 KiB."""
    body = os.urandom(MIB)
    taken, sent, rest = 0, 0, b""
    while not rest and sent < MIB:
        sent += ends.s3.send(body[sent : sent + 40 * KIB])
        more, rest = ends.splice(b"")
        taken += more
    assert 0 < len(rest) <= 64 * KIB
    assert ends.arrived() + rest == body[:taken]


async def test_bytes_of_two_bodies_are_never_mixed(ends):
    """The pipe is empty after a client that was full or has left."""
    ends.s3.send(b"secret")
    ends.client.close()
    ends.splice(b"")
    source, target = socket.socketpair(), socket.socketpair()
    with source[0], source[1], target[0], target[1]:
        source[0].send(b"public")
        splice(memoryview(b""), source[1].fileno(), MIB, target[0].fileno())
        assert target[1].recv(100) == b"public"


async def test_all_comes_back_if_the_client_has_left(ends):
    """The error is left to the next write."""
    ends.s3.send(b"cd")
    ends.client.close()
    assert ends.splice(b"ab") == (0, b"ab")
    assert ends.splice(b"") == (2, b"cd")


@pytest.mark.parametrize("has_ended", [False, True])
async def test_a_source_without_bytes_gives_none(ends, has_ended):
    """Whether more will come or not is left to its next reader."""
    if has_ended:
        ends.s3.close()
    assert ends.splice(b"ab") == (0, b"")
    assert ends.arrived() == b"ab"


async def test_without_descriptors_nothing_is_taken(ends, monkeypatch):
    """Where no pipe can be opened, the bytes are read as ever."""

    def refuse(_flags):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(splicing, "_PIPES", WeakKeyDictionary())
    monkeypatch.setattr(os, "pipe2", refuse)
    ends.s3.send(b"cd")
    assert ends.splice(b"ab") == (0, b"")
    assert (ends.arrived(), ends.source.recv(10)) == (b"ab", b"cd")
