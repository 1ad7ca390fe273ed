from __future__ import annotations

import errno
import io
import subprocess
import sys
import threading
from contextlib import redirect_stderr

import pytest

from tornado_proxy.cli.output import (
    CommandError,
    ExitStatus,
    activity,
    is_stream_error,
    print_diff,
    progress,
    show,
    wants_color,
)
from tornado_proxy.lang.diagnostic import Diagnostic, SourceFile, Span

FILL = """
import os, sys
from tornado_proxy.cli.output import fill_streams
fill_streams()
with open(sys.argv[1], "w") as told:
    where = [os.path.realpath(f"/proc/self/fd/{number}") == "/dev/null" for number in range(3)]
    print(where, [os.get_inheritable(number) for number in range(3)], file=told)
print(sys.stdin.read(0), "out")
print("err", file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("closed", "empty"),
    [
        ("", [False, False, False]),
        ("2>&-", [False, False, True]),
        ("<&-", [True, False, False]),
        ("<&- >&- 2>&-", [True, True, True]),
    ],
)
def test_closed_streams_are_filled(tmp_path, closed, empty):
    """A closed stream becomes the null device, in workers too; open streams stay."""
    words = ["sh", "-c", f'exec "$0" -c "$1" "$2" {closed}', sys.executable, FILL, str(tmp_path / "told")]
    done = subprocess.run(words, capture_output=True, text=True, check=True, input="")
    assert (tmp_path / "told").read_text() == f"{empty} [True, True, True]\n"
    assert (done.stdout == "", done.stderr == "") == (empty[1], empty[2])


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (OSError(errno.ENOSPC, "No space left on device", "a.rules"), False),
        (OSError(errno.ENOENT, "No such file or directory"), False),
    ],
)
def test_an_error_of_a_stream_names_no_file(error, expected):
    """The error of a file has a name."""
    assert is_stream_error(error) is expected


def test_diagnostics_are_printed_with_their_excerpts(capsys):
    """Each goes to standard error in full, in plain text where no terminal reads it."""
    source = SourceFile("site.rules", "target site {")
    show([Diagnostic("first", "one thing"), Diagnostic("second", "another", Span(source, 0, 6), help="do so")])
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error[first]: one thing\nerror[second]: another\n")
    assert "site.rules:1:1" in printed.err
    assert "\x1b" not in printed.err


class _Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("environment", "terminal", "other"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, False, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ({"FORCE_COLOR": "", "NO_COLOR": ""}, True, False),
    ],
)
def test_colours_are_for_people_who_like_them(monkeypatch, environment, terminal, other):
    """A terminal that knows colours is colored_diff; NO_COLOR and FORCE_COLOR say otherwise, the first above all."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (wants_color(_Terminal()), wants_color(io.StringIO())) == (terminal, other)


def _printed_diff(monkeypatch, capsys, *lines, forced):
    monkeypatch.setenv("FORCE_COLOR", forced)
    print_diff(lines)
    return capsys.readouterr().out.splitlines()


def test_what_goes_is_red_and_what_comes_is_green(monkeypatch, capsys):
    """Headings are bold, places cyan; other lines have no colour."""
    lines = ["--- a", "+++ b", "@@ -1 +1 @@", "-old", "  + new", " same"]
    assert _printed_diff(monkeypatch, capsys, *lines, forced="1") == [
        "\x1b[1m--- a\x1b[0m",
        "\x1b[1m+++ b\x1b[0m",
        "\x1b[36m@@ -1 +1 @@\x1b[0m",
        "\x1b[31m-old\x1b[0m",
        "\x1b[32m  + new\x1b[0m",
        " same",
    ]


def test_a_line_cannot_steer_the_terminal(monkeypatch, capsys):
    """Control characters of a file have stand-ins."""
    assert _printed_diff(monkeypatch, capsys, "+\x1b[2J", "\x07", forced="1") == ["\x1b[32m+␛[2J\x1b[0m", "␇"]


def test_a_difference_for_a_program_is_printed_as_it_is(monkeypatch, capsys):
    """`patch` needs each character."""
    assert _printed_diff(monkeypatch, capsys, "+\x07", forced="") == ["+\x07"]


class Terminal(io.StringIO):
    """A stream that says that a person is reading it."""

    def isatty(self):
        """It is one."""
        return True


def test_a_bar_is_drawn_on_one_line_and_taken_away():
    """Each state is written over the one before; in the end nothing is left."""
    with redirect_stderr(Terminal()) as terminal, progress("reading", iter(range(9)).__next__) as show:
        show(0)
        show(0.5)
    assert terminal.getvalue().split("\r\x1b[K") == [
        "",
        f"reading {'░' * 30}   0%",
        f"reading {'█' * 15}{'░' * 15}  50%",
        "",
    ]


def test_it_is_drawn_no_more_often_than_anybody_could_see():
    """The bar changes at most ten times a second."""
    clock = iter([0, 0.05, 0.09, 0.2, 0.25]).__next__
    with redirect_stderr(Terminal()) as terminal, progress("reading", clock) as show:
        for part in (0.1, 0.2, 0.3, 0.4):
            show(part)
    assert terminal.getvalue().count("reading") == 1
    assert " 30%" in terminal.getvalue()


def test_a_terminal_that_cannot_write_over_a_line_shows_none(monkeypatch):
    """Each state would be printed after the one before."""
    monkeypatch.setenv("TERM", "dumb")
    with redirect_stderr(Terminal()) as terminal, progress("reading", iter(range(9)).__next__) as show:
        show(0.5)
    assert terminal.getvalue() == ""


def test_it_is_taken_away_when_the_work_fails():
    """An error message starts on a clean line."""
    with redirect_stderr(Terminal()) as terminal, pytest.raises(ZeroDivisionError), progress("reading"):
        raise ZeroDivisionError
    assert terminal.getvalue() == "\r\x1b[K"


def test_nothing_is_drawn_where_nobody_looks(capsys):
    """In a pipe or a log a bar would be noise."""
    with progress("reading", iter(range(9)).__next__) as show:
        show(0.5)
    assert capsys.readouterr().err == ""


def test_the_end_is_reported_on_standard_error(capsys):
    """With the name of the command."""
    assert CommandError("no").report("test") is ExitStatus.FAILED
    assert capsys.readouterr().err == "tornado-proxy test: no\n"


class Watched(Terminal):
    """A terminal that knows when something was shown."""

    def __init__(self):
        """Nothing was shown yet."""
        super().__init__()
        self.seen = threading.Event()

    def write(self, text):
        """Shows a text."""
        if "…" in text:
            self.seen.set()
        return super().write(text)


def test_the_elapsed_time_of_long_work_is_shown_and_removed():
    """How far it is is unknown, but it is seen to go on."""
    with redirect_stderr(Watched()) as terminal, activity("linting 3 files", 0.01):
        assert terminal.seen.wait(30)
    assert terminal.getvalue().startswith("\r\x1b[Klinting 3 files … 0 s")
    assert terminal.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(("stream", "soon"), [(Terminal, 60), (io.StringIO, 0)])
def test_no_elapsed_time_is_shown_if_nobody_waits(stream, soon):
    """The work is soon done, or there is no terminal."""
    with redirect_stderr(stream()) as terminal, activity("linting", soon):
        pass
    assert terminal.getvalue() == ""
