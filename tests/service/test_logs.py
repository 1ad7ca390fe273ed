"""The process's log, and a reader that may be slow, stuck or gone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from select import PIPE_BUF

import pytest

from tornado_proxy.config.server import Log
from tornado_proxy.service.logs import LogWriter

SCRIPT = """
import logging, sys
from tornado_proxy.config.server import Log
from tornado_proxy.service.logs import configure_logging, line_writer
configure_logging(Log({level!r}, {form!r}))
logging.getLogger("tornado_proxy").info("serving %s", "well")
(line_writer() or str)("path=/a status=200")
logging.getLogger("some.library").info("chatter")
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("tornado_proxy").exception("a defect")
"""


@cache
def _lines(log: Log) -> list[str]:
    """Returns what a process logs; logging is global, so it is a process of its own."""
    script = SCRIPT.format(level=log.level, form=log.format)
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stderr.splitlines()


def test_text_lines_have_time_and_level():
    """A line of the service has time and level; debug lines of libraries are left out; access lines are unchanged."""
    first, second, *defect = _lines(Log("info", "text"))
    assert first.endswith("Z info serving well")
    assert second == "path=/a status=200"
    assert defect[0].endswith("Z error a defect")
    assert defect[-1].startswith("  ZeroDivisionError")


def test_json_lines_are_one_object_each():
    """A traceback is a field of its line."""
    first, second, defect = _lines(Log("info", "json"))
    assert json.loads(first)["message"] == "serving well"
    assert second == "path=/a status=200"
    assert "ZeroDivisionError" in json.loads(defect)["traceback"]


ODD = """
import logging
from tornado_proxy.config.server import Log
from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.diagnostic import SourceFile, Span
from tornado_proxy.service.logs import configure_logging
from tornado_proxy.telemetry.events import ReloadOutcome, ReloadReport
from tornado_proxy.telemetry.log import service_log
configure_logging(Log("info", {form!r}))
for odd in {odd!r}:
    mistake = Diagnostic("a-code", "a fact", Span(SourceFile(odd, ""), 0, 0), odd)
    service_log(ReloadReport(ReloadOutcome.REFUSED, 7, news=(mistake,)))
    try:
        raise ValueError(odd)
    except ValueError:
        logging.getLogger("some.library").exception(odd)
"""
ENDS = ("\n", "\r", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u2029", "\u202e", "\u200f", "\ud800")


@pytest.mark.parametrize("form", ["text", "json"])
def test_nothing_that_a_message_holds_ends_a_line_or_steers_a_terminal(form):
    """Whatever a file is called or an error says, each line is printable, and begins as lines of the log do."""
    script = ODD.format(form=form, odd=[f"{odd}2026 forged" for odd in ENDS])
    lines = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stderr.decode()
    for line in lines.removesuffix("\n").split("\n"):
        assert line.isprintable()
        assert not line.startswith("2026 forged")
        assert form == "text" or json.loads(line)["time"].endswith("Z")


@pytest.mark.parametrize("form", ["text", "json"])
def test_all_lines_have_one_form_of_time(form):
    """Times are in UTC and end with `Z`."""
    first, *_ = _lines(Log("info", form))
    time = json.loads(first)["time"] if form == "json" else first.split()[0]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", time)


@pytest.mark.parametrize(("level", "count"), [("debug", 3), ("warning", 1), ("error", 1)])
def test_the_level_decides_what_is_reported(level, count):
    """Of the service, a warning level leaves the defect only."""
    lines = [line for line in _lines(Log(level, "json")) if "chatter" not in line]
    assert len(lines) == count


MANY = """
import logging, os, sys
from tornado_proxy.config.server import Log
from tornado_proxy.service.runtime import end_process
from tornado_proxy.service.logs import configure_logging, line_writer
configure_logging(Log())
write = line_writer()
for number in range({count}):
    write(f"line {{number}}")
{end}
"""


@pytest.mark.parametrize("end", ["", "sys.exit(end_process(0))", "configure_logging(Log())"])
def test_nothing_is_lost_at_the_end(end):
    """Everything that was logged before the end of a process is written."""
    script = MANY.format(count=20_000, end=end)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stderr.splitlines() == [f"line {number}" for number in range(20_000)]


@pytest.mark.parametrize("end", ["", "sys.exit(end_process(0))"])
def test_a_stuck_reader_does_not_hold_up_the_end(end):
    """A process whose standard error nobody reads ends all the same."""
    script = MANY.format(count=20_000, end=end)
    with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE) as process:
        assert process.wait(timeout=20) == 0


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
    """Lines after a loss follow the line that reports it."""
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
    """A line that need not wait needs no room."""
    with _pipe() as (reading, writing):
        writer = LogWriter(writing, _lost, 10)
        writer.put("x" * 1000)
        assert _read_lines(reading, "x") == ["x" * 1000]


def test_lines_of_several_processes_do_not_mix():
    """Lines of several processes never break each other."""
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
    """Lines without a reader are dropped."""
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
    """Closing writes the last lines and ends the thread."""
    with _pipe() as (reading, writing):
        before = threading.active_count()
        writer = LogWriter(writing, _lost)
        writer.put("a line")
        writer.close(20)
        writer.put("too late")
        assert os.read(reading, 100) == b"a line\n"
        assert threading.active_count() == before


def test_the_journal_gets_priorities_and_no_time_of_ours():
    """Each line begins with its priority, and has no time."""
    reading, writing = os.pipe()
    stream = os.fstat(writing)
    environment = {**os.environ, "JOURNAL_STREAM": f"{stream.st_dev}:{stream.st_ino}"}
    subprocess.run(
        [sys.executable, "-c", SCRIPT.format(level="info", form="text")], env=environment, stderr=writing, check=True
    )
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as lines:
        first, access, *defect = lines.read().splitlines()
    assert (first, access, defect[0]) == ("<6>serving well", "path=/a status=200", "<3>a defect")
    assert all(line.startswith("<3>  ") for line in defect[1:])
