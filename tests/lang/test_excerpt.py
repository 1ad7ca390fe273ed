from __future__ import annotations

from pathlib import Path

import pytest

from tornado_proxy.lang.diagnostic import Diagnostic, Note, Severity, SourceFile, Span
from tornado_proxy.lang.excerpt import padded, render, visible, width

CASES = sorted((Path(__file__).parent / "excerpts").glob("*.txt"))
SOURCE = SourceFile("site.rules", 'target site {\n    rewrite "x" => "y"\n')


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_span_is_shown_as_in_its_golden_file(case):
    """The span between the brackets of the file's first half looks as its second half says."""
    marked, _, expected = case.read_text(encoding="utf-8").partition("\n----------\n")
    span = Span(SourceFile("site.rules", marked.translate({ord("⟦"): None, ord("⟧"): None})), *_marks(marked))
    assert render(Diagnostic("code", "the fact", span)) + "\n" == expected


def _marks(marked: str) -> tuple[int, int]:
    return marked.index("⟦"), marked.index("⟧") - 1


def test_diagnostic_without_a_place_is_its_headline():
    """What belongs to no place shows no lines."""
    assert render(Diagnostic("no-files", "no rule file was found")) == "error[no-files]: no rule file was found"


def test_help_and_notes_follow_the_excerpt():
    """The cure comes first, then the notes, each with its own place if it has one."""
    notes = (Note("the block opens here", Span(SOURCE, 12, 13)), Note("a fact\nin two lines"))
    diagnostic = Diagnostic("syntax-error", "expected `->`", Span(SOURCE, 30, 32), "write `->`\n-> here", notes)
    assert render(diagnostic).splitlines() == [
        "error[syntax-error]: expected `->`",
        " --> site.rules:2:17",
        "  |",
        '2 |     rewrite "x" => "y"',
        "  |                 ^^",
        "  = help: write `->`",
        "          -> here",
        "note: the block opens here",
        " --> site.rules:1:13",
        "  |",
        "1 | target site {",
        "  |             ^",
        "  = note: a fact",
        "          in two lines",
    ]


def test_colours_mark_severity_place_and_help():
    """On a terminal the parts of a diagnostic are coloured."""
    diagnostic = Diagnostic("code", "the fact", Span(SOURCE, 0, 6), "the cure", severity=Severity.WARNING)
    assert render(diagnostic, color=True).splitlines() == [
        "\x1b[1;33mwarning[code]\x1b[0m\x1b[1m: the fact\x1b[0m",
        " \x1b[1;34m-->\x1b[0m site.rules:1:1",
        "  \x1b[1;34m|\x1b[0m",
        "\x1b[1;34m1 |\x1b[0m target site {",
        "  \x1b[1;34m|\x1b[0m \x1b[1;33m^^^^^^\x1b[0m",
        "  \x1b[1;34m=\x1b[0m \x1b[1;36mhelp\x1b[0m: the cure",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31m", "a␛[31m"),
        ("\0", "␀"),
        ("\x7f\x9b", "\ufffd\ufffd"),
        ("\u202eabc", "\ufffdabc"),
        ("\u200fabc\u061c", "\ufffdabc\ufffd"),
        ("\ud800", "\ufffd"),
        ("\ufffe\uffff", "\ufffd\ufffd"),
    ],
)
def test_nothing_reaches_the_terminal_that_it_would_obey(text, shown):
    """Control characters, bidirectional ones and half characters have a visible stand-in."""
    assert visible(text) == shown


def test_whole_report_is_harmless():
    """The line, the message, the file's name and the help are all made visible."""
    span = Span(SourceFile("\x1b.rules", "\x1b[2J"), 0, 1)
    report = render(Diagnostic("code", "found \x1b", span, "remove \x1b", (Note("\x1b"),)))
    assert "\x1b" not in report


def test_carets_stand_under_a_made_visible_character():
    """A stand-in takes the column that its caret points at."""
    lines = render(Diagnostic("code", "x", Span(SourceFile("a", "a\x07b"), 1, 2))).splitlines()
    assert lines[3:] == ["1 | a␇b", "  |  ^"]


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("a\u200db", 2), ("é", 1)])
def test_width_counts_columns_of_a_terminal(text, columns):
    """East Asian characters take two columns, combining and invisible ones none."""
    assert width(text) == columns


def test_padding_counts_columns_too():
    """A padded text takes as many columns as asked for."""
    assert padded("日本", 6) == "日本  "
