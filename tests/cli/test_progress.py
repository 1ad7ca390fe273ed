import io
import threading
from contextlib import redirect_stderr

import pytest

from tornado_proxy.cli.progress import activity, progress


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
    """What is told within a tenth of a second is not shown."""
    clock = iter([0, 0.05, 0.09, 0.2, 0.25]).__next__
    with redirect_stderr(Terminal()) as terminal, progress("reading", clock) as show:
        for part in (0.1, 0.2, 0.3, 0.4):
            show(part)
    assert terminal.getvalue().count("reading") == 1
    assert " 30%" in terminal.getvalue()


def test_a_terminal_that_cannot_write_over_a_line_shows_none(monkeypatch):
    """It would show each state behind the other."""
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


class Told(Terminal):
    """A terminal that says when a person has seen something."""

    def __init__(self):
        """Nothing has been seen."""
        super().__init__()
        self.seen = threading.Event()

    def write(self, text):
        """Show it."""
        if "…" in text:
            self.seen.set()
        return super().write(text)


def test_a_work_that_takes_long_is_told_and_its_line_taken_away():
    """Nobody knows how far it is, but that it goes on."""
    with redirect_stderr(Told()) as terminal, activity("linting 3 files", 0.01):
        assert terminal.seen.wait(30)
    assert terminal.getvalue().startswith("\r\x1b[Klinting 3 files … 0 s")
    assert terminal.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(("stream", "soon"), [(Terminal, 60), (io.StringIO, 0)])
def test_nothing_is_told_where_nobody_waits(stream, soon):
    """Of a work that is soon done, or where no terminal shows it."""
    with redirect_stderr(stream()) as terminal, activity("linting", soon):
        pass
    assert terminal.getvalue() == ""
