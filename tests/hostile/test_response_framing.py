"""Answers of S3 that another parser could end elsewhere: none becomes the answer to another request."""

import asyncio
from itertools import pairwise

import pytest
from framing import Answer, dialogues, disagreement_about_answers, read_answers_by_h11
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.config.model import Bucket
from tornado_proxy.config.server import S3Pool
from tornado_proxy.s3.connection import Pool, S3Connection
from tornado_proxy.storage.errors import StorageError

SMUGGLED = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"


class _Transport:
    """What a connection needs of its transport; it receives what `feed` is given while it is not paused."""

    def __init__(self) -> None:
        self.is_paused = self.is_closed = False

    def write(self, data: bytes) -> None:
        """Takes a request."""

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def is_closing(self) -> bool:
        return self.is_closed

    def abort(self) -> None:
        self.is_closed = True


class _Pool(Pool):
    """A pool of one connection, which is in `free` once it may be used again."""

    def __init__(self) -> None:
        super().__init__("127.0.0.1", 1, None, Bucket("bucket", read_timeout=5.0), S3Pool())
        self.free: list[S3Connection] = []

    def give_back(self, connection: S3Connection) -> None:
        """Keeps it for the next request."""
        self.free.append(connection)


async def read_answers(data: bytes, methods: list[str], cuts: list[int]) -> list[Answer]:
    """The answers that the connection reads as complete; a request goes out once the one before it is answered."""
    pool = _Pool()
    transport, free = _Transport(), pool.free
    connection = S3Connection(pool)
    connection.connection_made(transport)
    answers, pending = [], [data[start:end] for start, end in pairwise([0, *sorted({*cuts, len(data)})])]
    for method in methods:
        answer = connection.ask(b"", is_head_only=method == "HEAD")
        while not answer.ended and pending and not transport.is_closed:
            piece = pending.pop(0)
            connection.get_buffer(-1)[: len(piece)] = piece
            connection.buffer_updated(len(piece))
        if not answer.ended:
            connection.eof_received()
        try:
            answers.append(Answer(answer.status, await answer.read_all(1 << 20)))
        except StorageError:
            break
        if not free:
            break
        free.clear()
    connection.abort()
    return answers


@given(dialogue=dialogues(), cuts=st.lists(st.integers(0, 400), max_size=3))
def test_h11_reads_the_same_answers(dialogue, cuts):
    """Whatever this service takes for the answers to its requests, h11 reads with the same statuses and bodies."""
    data, methods = dialogue
    ours = asyncio.run(read_answers(data, methods, [min(cut, len(data)) for cut in cuts]))
    assert disagreement_about_answers(ours, read_answers_by_h11(data, methods)) == ""


@pytest.mark.parametrize(
    ("method", "head"),
    [
        ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 43"),
        ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 43"),
        ("GET", "HTTP/1.1 204 No Content"),
        ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 0"),
        ("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0"),
    ],
)
def test_bytes_behind_an_answer_are_not_the_next_one(method, head):
    """What arrives behind an answer before the next request is sent ends the connection."""
    data = f"{head}\r\n\r\n".encode() + SMUGGLED
    assert asyncio.run(read_answers(data, [method, "GET"], []))[1:] == []
