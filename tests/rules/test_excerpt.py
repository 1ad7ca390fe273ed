from __future__ import annotations

from pathlib import Path

import pytest

from tornado_proxy.rules.diagnostic import Diagnostic, Note, Severity, SourceFile, Span
from tornado_proxy.rules.excerpt import padded, render, visible, width

CASES = sorted((Path(__file__).parent / "excerpts").glob("*.txt"))
SOURCE = SourceFile("site.rules", 'target site {\n    rewrite "x" => "y"\n')


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_span_is_shown_as_in_its_golden_file(case):
    """The span between the brackets in the first half of a file has the excerpt in the second half."""
    marked, _, expected = case.read_text(encoding="utf-8").partition("\n----------\n")
    span = Span(SourceFile("site.rules", marked.translate({ord("⟦"): None, ord("⟧"): None})), *_marked_offsets(marked))
    assert render(Diagnostic("code", "the fact", span)) + "\n" == expected


def _marked_offsets(marked: str) -> tuple[int, int]:
    return marked.index("⟦"), marked.index("⟧") - 1


def test_diagnostic_without_a_place_has_no_excerpt():
    """A diagnostic without a span is shown as one line."""
    assert render(Diagnostic("no-files", "no rule file was found")) == "error[no-files]: no rule file was found"


def test_help_and_notes_follow_the_excerpt():
    """The help follows the excerpt, then the notes, each with an excerpt of its own if it has a span."""
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
    """The severity, the place and the help of a diagnostic are coloured on a terminal."""
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
    ("text", "expected"),
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
def test_control_characters_do_not_reach_the_terminal(text, expected):
    """Control characters, bidirectional marks and surrogates are replaced by visible characters."""
    assert visible(text) == expected


def test_report_has_no_control_characters():
    """Control characters are replaced in the excerpt, the message, the name of the file, the help and the notes."""
    span = Span(SourceFile("\x1b.rules", "\x1b[2J"), 0, 1)
    report = render(Diagnostic("code", "found \x1b", span, "remove \x1b", (Note("\x1b"),)))
    assert "\x1b" not in report


def test_caret_stands_under_a_replaced_character():
    """A replaced character takes one column, and the caret stands below it."""
    lines = render(Diagnostic("code", "x", Span(SourceFile("a", "a\x07b"), 1, 2))).splitlines()
    assert lines[3:] == ["1 | a␇b", "  |  ^"]


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("a\u200db", 2), ("é", 1)])
def test_width_counts_columns_of_a_terminal(text, columns):
    """East Asian characters take two columns, and combining and invisible characters take no column."""
    assert width(text) == columns


def test_padding_counts_columns():
    """A padded text has the requested number of columns."""
    assert padded("日本", 6) == "日本  "
