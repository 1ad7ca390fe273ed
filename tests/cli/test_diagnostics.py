import io

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


def test_colours_are_for_people_who_like_them(monkeypatch):
    """A terminal is painted unless NO_COLOR is set; anything else is not."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert in_color(_Terminal())
    assert not in_color(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not in_color(_Terminal())
