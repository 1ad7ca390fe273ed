from tornado_proxy.cli.diagnostics import show
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
