import io
from contextlib import redirect_stderr

import pytest

from tornado_proxy.cli.progress import progress


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
