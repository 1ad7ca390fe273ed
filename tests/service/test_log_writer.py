"""Lines on their way to a descriptor whose reader may be slow, stuck or gone."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from select import PIPE_BUF

import pytest

from tornado_proxy.service.log_writer import LogWriter

ROOM = 200_000  # bytes; more than a pipe holds


def _lost(count: int) -> str:
    return f"{count} lost"


@contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    """The ends of a pipe: where to read, and where to write."""
    reading, writing = os.pipe()
    try:
        yield reading, writing
    finally:
        os.close(reading)
        os.close(writing)


def _fill(writing: int) -> int:
    """Fill a pipe; the number of bytes that it took."""
    os.set_blocking(writing, False)
    taken = 0
    try:
        while True:
            taken += os.write(writing, b"." * PIPE_BUF)
    except BlockingIOError:
        os.set_blocking(writing, True)
        return taken


def _read(reading: int, count: int) -> bytes:
    """So many bytes of a pipe."""
    found = b""
    while len(found) < count:
        found += os.read(reading, count - len(found))
    return found


def _read_lines(reading: int, last: str) -> list[str]:
    """The lines of a pipe, up to and with the last."""
    found = b""
    while not found.endswith(f"{last}\n".encode()):
        found += os.read(reading, 65_536)
    return found.decode().splitlines()


def test_lines_arrive_in_order():
    """Whatever is put is written, each on its line."""
    with _pipe() as (reading, writing):
        writer = LogWriter(writing, _lost)
        for number in range(1000):
            writer.put(f"line {number}")
        assert _read_lines(reading, "line 999") == [f"line {number}" for number in range(1000)]
        assert writer.drain(20)


def _told(reading: int, writer: LogWriter) -> list[str]:
    """The lines of a pipe whose reader reads again."""
    with ThreadPoolExecutor() as pool:
        lines = pool.submit(_read_lines, reading, "end")
        assert writer.drain(20)
        writer.put("end")
        return lines.result()[:-1]


def test_a_reader_that_is_stuck_holds_nobody_up():
    """Lines that find no room are dropped and counted, and the reader is told how many when it reads again."""
    with _pipe() as (reading, writing):
        filled = _fill(writing)
        writer = LogWriter(writing, _lost, ROOM)
        for number in range(10_000):
            writer.put(f"line {number:>95}")
        assert not writer.drain(0.01)
        _read(reading, filled)
        expected = 0
        lines = _told(reading, writer)
        for line in lines:
            first, second = line.split()
            if second == "lost":
                expected += int(first)
            else:
                assert int(second) == expected
                expected += 1
        assert expected == 10_000
        # As many as may wait, and as many in the hand of the writer.
        assert ROOM // 101 <= len(lines) <= 2 * (ROOM // 101) + 2


def test_there_is_room_again_after_a_loss():
    """What is put after a loss follows the word of it."""
    with _pipe() as (reading, writing):
        filled = _fill(writing)
        writer = LogWriter(writing, _lost, 10)
        for number in range(100):
            writer.put(f"line {number}")
        _read(reading, filled)
        assert writer.drain(20)
        writer.put("after")
        *_, word, last = _told(reading, writer)
        assert word.endswith(" lost")
        assert last == "after"


def test_a_line_that_is_longer_than_all_room_is_written():
    """Room is for what waits; a line that waits behind none has it."""
    with _pipe() as (reading, writing):
        writer = LogWriter(writing, _lost, 10)
        writer.put("x" * 1000)
        assert _read_lines(reading, "x") == ["x" * 1000]


def test_lines_of_several_processes_do_not_mix():
    """Whoever else writes to the pipe finds his lines between whole lines, never within one."""
    with _pipe() as (reading, writing):
        writers = [LogWriter(writing, _lost) for _ in range(4)]
        with ThreadPoolExecutor() as pool:
            lines = pool.submit(_read_lines, reading, "end")
            for _ in range(2000):
                for name, writer in zip("abcd", writers, strict=True):
                    writer.put(name * 99)
            assert all(writer.drain(20) for writer in writers)
            writers[0].put("end")
            *found, _ = lines.result()
        assert sorted(found) == [name * 99 for name in "abcd" for _ in range(2000)]


def test_a_descriptor_that_does_not_block_loses_nothing():
    """Another process may have made the pipe one that does not block: then the writer waits for room."""
    with _pipe() as (reading, writing):
        filled = _fill(writing)
        os.set_blocking(writing, False)
        writer = LogWriter(writing, _lost)
        writer.put("a line")
        assert not writer.drain(0.01)
        _read(reading, filled)
        assert _read_lines(reading, "a line") == ["a line"]


def test_a_reader_that_has_gone_is_no_error():
    """With nobody to tell, lines are let go."""
    reading, writing = os.pipe()
    os.close(reading)
    writer = LogWriter(writing, _lost)
    writer.put("a line")
    assert writer.drain(20)
    os.close(writing)


@pytest.mark.parametrize("text", ["größe", "\ud800"])
def test_every_text_can_be_written(text):
    """Lines are UTF-8; half a character is escaped."""
    with _pipe() as (reading, writing):
        LogWriter(writing, _lost).put(text)
        assert _read_lines(reading, "") == [text.encode("utf-8", "backslashreplace").decode()]


def test_a_closed_writer_ends():
    """Whoever closes it waits for what was put, and its thread ends."""
    with _pipe() as (reading, writing):
        before = threading.active_count()
        writer = LogWriter(writing, _lost)
        writer.put("a line")
        writer.close(20)
        writer.put("too late")
        assert os.read(reading, 100) == b"a line\n"
        assert threading.active_count() == before
