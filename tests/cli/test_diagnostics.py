import io

import pytest

from tornado_proxy.cli.diagnostics import in_color, show
from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.source import SourceFile, Span


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
    """A terminal that knows colours is painted; NO_COLOR and FORCE_COLOR say otherwise, the first above all."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (in_color(_Terminal()), in_color(io.StringIO())) == (terminal, other)
