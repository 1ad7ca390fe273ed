"""The log of the process, and readers of it that are slow, stuck or gone."""

import json
import logging
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from select import PIPE_BUF

import pytest
from forking import ForkedProgram, errors_of

from tornado_proxy.config.server import Log
from tornado_proxy.telemetry import log
from tornado_proxy.telemetry.log import Outlet, StreamOutput

SCRIPT = """
import logging, sys
from tornado_proxy.config.server import Log
from tornado_proxy.service.runtime import configure_logging, line_writer
configure_logging(Log({level!r}, {format!r}))
logging.getLogger("tornado_proxy").info("serving %s", "well")
(line_writer() or str)("path=/a status=200")
logging.getLogger("some.library").info("chatter")
logging.getLogger("urllib3.connection").warning("a broken head", stack_info=True)
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("tornado_proxy").exception("a defect")
"""


@cache
def _lines(log: Log) -> list[str]:
    """Returns the lines that a process logs; it is a separate process, since logging is global."""
    return errors_of(SCRIPT.format(level=log.level, format=log.format)).splitlines()


def test_text_lines_have_time_and_level():
    """Lines of libraries below `warning`, and warnings of urllib3, are left out, and lines of the access log are unchanged."""
    first, second, *defect = _lines(Log("info", "text"))
    assert first.endswith("Z info serving well")
    assert second == "path=/a status=200"
    assert defect[0].endswith("Z error a defect")
    assert defect[-1].startswith("  ZeroDivisionError")


def test_json_lines_are_one_object_each():
    first, second, defect = _lines(Log("info", "json"))
    assert json.loads(first)["message"] == "serving well"
    assert second == "path=/a status=200"
    assert "ZeroDivisionError" in json.loads(defect)["traceback"]


UNPRINTABLE = """
import logging
from tornado_proxy.config.server import Log
from tornado_proxy.rules.diagnostic import Diagnostic
from tornado_proxy.rules.diagnostic import SourceFile, Span
from tornado_proxy.service.runtime import configure_logging
from tornado_proxy.telemetry.events import ReloadOutcome, ReloadReport
from tornado_proxy.telemetry.log import service_log
configure_logging(Log("info", {format!r}))
for text in {texts!r}:
    mistake = Diagnostic("a-code", "a fact", Span(SourceFile(text, ""), 0, 0), text)
    service_log(ReloadReport(ReloadOutcome.REFUSED, 7, news=(mistake,)))
    try:
        raise ValueError(text)
    except ValueError:
        logging.getLogger("some.library").exception(text)
"""
CONTROLS = ("\n", "\r", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u2029", "\u202e", "\u200f", "\ud800")


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_control_characters_are_escaped(log_format):
    """Names of files and messages of errors cannot end a line or control a terminal."""
    script = UNPRINTABLE.format(format=log_format, texts=[f"{character}2026 forged" for character in CONTROLS])
    for line in errors_of(script).removesuffix("\n").split("\n"):
        assert line.isprintable()
        assert not line.startswith("2026 forged")
        assert log_format == "text" or json.loads(line)["time"].endswith("Z")


@pytest.mark.parametrize(("level", "count"), [("debug", 2), ("warning", 1), ("error", 1)])
def test_the_level_decides_what_is_reported(level, count):
    lines = [line for line in _lines(Log(level, "json")) if "chatter" not in line and "path" not in line]
    assert len(lines) == count


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_the_level_does_not_switch_the_access_log(level):
    assert "path=/a status=200" in _lines(Log(level, "json"))


MANY_LINES = """
import logging, os, sys
from tornado_proxy.config.server import Log
from tornado_proxy.service.runtime import end_process
from tornado_proxy.service.runtime import configure_logging, line_writer
configure_logging(Log())
write = line_writer()
for number in range({count}):
    write(f"line {{number}}")
{end}
"""


@pytest.mark.parametrize("end", ["", "sys.exit(end_process(0))", "configure_logging(Log())"])
def test_nothing_is_lost_at_the_end(end):
    lines = errors_of(MANY_LINES.format(count=20_000, end=end)).splitlines()
    assert lines == [f"line {number}" for number in range(20_000)]


@pytest.mark.parametrize("end", ["", "sys.exit(end_process(0))"])
def test_a_stuck_reader_does_not_delay_the_end(end):
    process = ForkedProgram(MANY_LINES.format(count=20_000, end=end))
    with process.stderr:
        assert process.wait(timeout=20) == 0


BUFFER_SIZE = 200_000  # bytes; more than a pipe holds


class _Format(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"{record.args[0]} lost" if record.args else record.msg


FORMAT = _Format()


@contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    """The ends of a pipe, for reading and for writing."""
    reading, writing = os.pipe()
    try:
        yield reading, writing
    finally:
        os.close(reading)
        os.close(writing)


def _fill(writing: int) -> int:
    """Fill a pipe and return the number of bytes written."""
    os.set_blocking(writing, False)
    written = 0
    try:
        while True:
            written += os.write(writing, b"." * PIPE_BUF)
    except BlockingIOError:
        os.set_blocking(writing, True)
        return written


def _read(reading: int, count: int) -> bytes:
    """Read `count` bytes from a pipe."""
    data = b""
    while len(data) < count:
        data += os.read(reading, count - len(data))
    return data


def _read_lines(reading: int, last: str) -> list[str]:
    """Read the lines of a pipe up to and including the last."""
    data = b""
    while not data.endswith(f"{last}\n".encode()):
        data += os.read(reading, 65_536)
    return data.decode().splitlines()


def test_a_line_of_the_service_does_not_wait_for_others(monkeypatch):
    """Only lines about requests are gathered: an error may be the last thing that a process tells."""
    monkeypatch.setattr(log, "LOG_GATHERED_FOR", 1000)
    with _pipe() as (reading, writing):
        outlet = Outlet(FORMAT, StreamOutput(writing))
        for number in range(10):
            outlet.emit(logging.LogRecord("tornado_proxy", logging.ERROR, "", 0, f"line {number}", (), None))
            assert _read_lines(reading, f"line {number}") == [f"line {number}"]
        outlet.close()


def _read_after_drain(reading: int, outlet: Outlet) -> list[str]:
    """Read the lines of a pipe that was not read before, without the final `end`."""
    with ThreadPoolExecutor() as pool:
        lines = pool.submit(_read_lines, reading, "end")
        assert outlet.drain(20)
        outlet.put("end")
        return lines.result()[:-1]


def test_lines_without_room_are_counted():
    """If the reader is stuck, lines beyond the buffer are dropped, and their number is written later."""
    with _pipe() as (reading, writing):
        size = _fill(writing)
        outlet = Outlet(FORMAT, StreamOutput(writing), BUFFER_SIZE)
        for number in range(10_000):
            outlet.put(f"line {number:>95}")
        assert not outlet.drain(0.01)
        _read(reading, size)
        expected = 0
        lines = _read_after_drain(reading, outlet)
        for line in lines:
            first, second = line.split()
            if second == "lost":
                expected += int(first)
            else:
                assert int(second) == expected
                expected += 1
        assert expected == 10_000
        # The lines of a full buffer, and the lines that the thread has already taken from it.
        assert BUFFER_SIZE // 101 <= len(lines) <= 2 * (BUFFER_SIZE // 101) + 2


def test_lines_that_nothing_took_are_counted():
    """Once the disk has room again, a line says how many were lost, each once."""

    class Disk:
        is_full, lines = True, []

        def write(self, lines):
            self.lines += [] if self.is_full else lines
            return len(lines) if self.is_full else 0

        def close(self):
            pass

    disk = Disk()
    outlet = Outlet(FORMAT, disk)
    for number in range(3):
        outlet.put(f"line {number}")
        assert outlet.drain(20)
    disk.is_full = False
    for text in ("after", "the end"):
        outlet.put(text)
        assert outlet.drain(20)
    assert disk.lines == [b"3 lost\n", b"after\n", b"the end\n"]


def test_lines_of_several_processes_do_not_mix():
    with _pipe() as (reading, writing):
        outlets = [Outlet(FORMAT, StreamOutput(writing)) for _ in range(4)]
        with ThreadPoolExecutor() as pool:
            lines = pool.submit(_read_lines, reading, "end")
            for _ in range(2000):
                for name, outlet in zip("abcd", outlets, strict=True):
                    outlet.put(name * 99)
            assert all(outlet.drain(20) for outlet in outlets)
            outlets[0].put("end")
            *received, _ = lines.result()
        assert sorted(received) == [name * 99 for name in "abcd" for _ in range(2000)]


def test_a_nonblocking_descriptor_loses_nothing():
    """If another process made the pipe non-blocking, the thread waits for room."""
    with _pipe() as (reading, writing):
        size = _fill(writing)
        os.set_blocking(writing, False)
        outlet = Outlet(FORMAT, StreamOutput(writing))
        outlet.put("a line")
        assert not outlet.drain(0.01)
        _read(reading, size)
        assert _read_lines(reading, "a line") == ["a line"]


def test_a_closed_reader_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    outlet = Outlet(FORMAT, StreamOutput(writing))
    outlet.put("a line")
    assert outlet.drain(20)
    os.close(writing)


@pytest.mark.parametrize("text", ["größe", "\ud800", "x" * 1000])
def test_every_line_can_be_written(text):
    """Lines are UTF-8, and surrogates are escaped; one that does not have to wait may be longer than the buffer."""
    with _pipe() as (reading, writing):
        Outlet(FORMAT, StreamOutput(writing), 10).put(text)
        assert _read_lines(reading, "") == [text.encode("utf-8", "backslashreplace").decode()]


def test_a_closed_outlet_ends():
    with _pipe() as (reading, writing):
        before = threading.active_count()
        outlet = Outlet(FORMAT, StreamOutput(writing))
        outlet.put("a line")
        assert outlet.drain(20)
        outlet.close()
        outlet.put("too late")
        assert os.read(reading, 100) == b"a line\n"
        assert threading.active_count() == before


JOURNAL = "import os; error = os.fstat(2); os.environ['JOURNAL_STREAM'] = f'{error.st_dev}:{error.st_ino}'\n"


def test_lines_for_the_journal_have_priorities():
    first, access, *defect = errors_of(JOURNAL + SCRIPT.format(level="info", format="text")).splitlines()
    assert (first, access, defect[0]) == ("<6>serving well", "path=/a status=200", "<3>a defect")
    assert all(line.startswith("<3>  ") for line in defect[1:])
