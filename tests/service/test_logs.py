"""The process's log, as text and as JSON."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from tornado_proxy.config.model import Log

SCRIPT = """
import logging, sys
from tornado_proxy.config.model import Log
from tornado_proxy.service.logs import configure_logging
configure_logging(Log({level!r}, {form!r}))
logging.getLogger("tornado_proxy").info("serving %s", "well")
logging.getLogger("tornado_proxy.access").info("path=/a status=200")
logging.getLogger("some.library").info("chatter")
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("tornado_proxy").exception("a defect")
"""


def _lines(log: Log) -> list[str]:
    """What a process logs; in one of its own, since logging is the process's."""
    script = SCRIPT.format(level=log.level, form=log.format)
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stderr.splitlines()


def test_text_lines_have_time_and_level():
    """A line of the service says when and how grave; libraries' chatter is left out; an access line is as it is."""
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
from tornado_proxy.config.model import Log
from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.source import SourceFile, Span
from tornado_proxy.service.logs import configure_logging
from tornado_proxy.telemetry.events import ReloadRefused
from tornado_proxy.telemetry.service_log import service_log
configure_logging(Log("info", {form!r}))
odd = {odd!r}
service_log(ReloadRefused(7, (Diagnostic("a-code", "a fact", Span(SourceFile(odd, ""), 0, 0), odd),)))
try:
    raise ValueError(odd)
except ValueError:
    logging.getLogger("some.library").exception(odd)
"""


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    "odd", ["\n", "\r", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u2029", "\u202e", "\u200f", "\ud800"]
)
def test_nothing_that_a_message_holds_ends_a_line_or_steers_a_terminal(form, odd):
    """Whatever a file is called or an error says, each line is printable, and begins as lines of the log do."""
    script = ODD.format(form=form, odd=f"{odd}2026 forged")
    lines = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stderr.decode()
    for line in lines.removesuffix("\n").split("\n"):
        assert line.isprintable()
        assert not line.startswith("2026 forged")
        assert form == "text" or json.loads(line)["time"].endswith("Z")


@pytest.mark.parametrize("form", ["text", "json"])
def test_all_lines_have_one_form_of_time(form):
    """Times are in UTC, and say so by `Z`."""
    first, *_ = _lines(Log("info", form))
    time = json.loads(first)["time"] if form == "json" else first.split()[0]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", time)


@pytest.mark.parametrize(("level", "count"), [("debug", 3), ("warning", 1), ("error", 1)])
def test_the_level_decides_what_is_said(level, count):
    """Of the service, a warning level leaves the defect only."""
    lines = [line for line in _lines(Log(level, "json")) if "chatter" not in line]
    assert len(lines) == count


MANY = """
import logging, os, sys
from tornado_proxy.config.model import Log
from tornado_proxy.service.ending import end_process
from tornado_proxy.service.logs import configure_logging
configure_logging(Log())
for number in range({count}):
    logging.getLogger("tornado_proxy.access").info("line %d", number)
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


SHORT = """
import errno, logging
from tornado_proxy.config.model import Log
from tornado_proxy.service.logs import Shortages, configure_logging
configure_logging(Log("info", {form!r}))
for number in range(100):
    if number == 99:
        Shortages.every = 0.0
        logging.getLogger().handlers[0].filters[0]._until = 0.0
    try:
        raise OSError(errno.EMFILE, "Too many open files")
    except OSError:
        logging.getLogger("asyncio").exception("Exception in callback\\nhandle: <Handle>")
"""


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_shortage_is_told_on_one_line_a_second(form):
    """Nobody needs a traceback for each request that finds no descriptor left."""
    script = SHORT.format(form=form)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    first, second = ended.stderr.splitlines()
    assert "Exception in callback: Too many open files" in first
    assert "98 times more" in second
