import os
from pathlib import Path

import pytest

from tornado_proxy.rules.diagnostic import (
    Diagnostic,
    Note,
    Severity,
    SourceFile,
    Span,
    counted,
    decode,
    did_you_mean,
    padded,
    read_file,
    render,
    shortened,
    visible,
    width,
)

TEXT = SourceFile("a.rules", "one\ntwo\r\nthrée")


@pytest.mark.parametrize("offset", [0, 3, 4, 9, 14])
def test_position_has_its_offset(offset):
    assert TEXT.offset(*Span(TEXT, 0, offset).last) == offset


def test_diagnostic_fits_on_one_line():
    """The line of a diagnostic has its place, severity, code and message, in the form of compilers."""
    span = Span(SourceFile("a.rules", "\nx"), 1, 2)
    assert Diagnostic("code", "message", span).line == "a.rules:2:1: error[code] message"
    assert Diagnostic("code", "message", severity=Severity.INFO).line == "info[code] message"


KEYWORDS = ("target", "rewrite", "test")


@pytest.mark.parametrize(
    ("word", "candidate"),
    [
        ("rewrit", "rewrite"),
        ("tagret", "target"),
        ("REWRITE", "rewrite"),
        ("tset", "test"),
        ("location", None),
        ("", None),
    ],
)
def test_closest_candidate_is_suggested(word, candidate):
    """A word similar to a candidate has this suggestion, in any case; any other word has no suggestion."""
    assert did_you_mean(word, KEYWORDS) == candidate


def test_suggestion_has_the_case_of_the_candidate():
    assert did_you_mean("indexdocument", ["indexDocument"]) == "indexDocument"


def test_very_long_word_has_no_suggestion():
    """A word much longer than the candidates is not compared with them."""
    assert did_you_mean("rewrite" * 100, KEYWORDS) is None


def test_counted_word_may_have_an_irregular_plural():
    """A plural that isn't the word with an `s` is passed as an argument."""
    assert counted(2, "fix", "fixes") == "2 fixes"


def test_only_a_long_text_is_shortened():
    """The sign for what is left out takes no part in the length."""
    assert [shortened(text, 3) for text in ("abc", "abcd")] == ["abc", "abc…"]


@pytest.mark.parametrize("regular", [True, False])
def test_a_file_may_have_the_largest_size(tmp_path, regular):
    (tmp_path / "a").write_bytes(b"12345")
    assert read_file(tmp_path / "a", 5, regular=regular) == b"12345"


@pytest.mark.parametrize("regular", [True, False])
def test_a_file_that_is_too_large_is_an_error(tmp_path, regular):
    (tmp_path / "a").write_bytes(b"12345")
    with pytest.raises(OSError, match="it is larger than 4 bytes"):
        read_file(tmp_path / "a", 4, regular=regular)


def test_a_pipe_is_not_waited_for(tmp_path):
    """A pipe where a regular file is required raises an error without waiting for a writer."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is not a regular file") as caught:
        read_file(tmp_path / "pipe", 5, regular=True)
    assert caught.value.filename == str(tmp_path / "pipe")


def test_a_pipe_may_be_read():
    """A pipe is read if the file need not be regular, so that the output of a command can be used."""
    reading, writing = os.pipe()
    os.write(writing, b"12345")
    os.close(writing)
    assert read_file(f"/dev/fd/{reading}", 5, regular=False) == b"12345"
    os.close(reading)


def test_text_in_another_encoding_has_a_diagnostic():
    """The diagnostic names and shows the first byte that isn't UTF-8."""
    diagnostic = decode("a.rules", b"# one\n# caf\xe9\n")
    assert render(diagnostic).splitlines() == [
        "error[not-utf-8]: invalid UTF-8: byte 0xe9 at offset 11, on line 2",
        " --> a.rules:2:6",
        "  |",
        "2 | # caf\ufffd",
        "  |      ^",
        "  = help: save the file as UTF-8",
    ]


def test_utf16_is_recognised():
    diagnostic = decode("a.rules", "target".encode("utf-16"))
    assert diagnostic.help == "the file seems to be UTF-16; save it as UTF-8"


@pytest.mark.parametrize(
    ("data", "message", "help"),
    [
        (b"\0\0\0", "the file is not text: byte 0x00 at offset 0, on line 1", "remove the file, or restore its text"),
        (b"target a {}\n\0", "the file is not text: byte 0x00 at offset 12, on line 2", "remove the file, or restore its text"),
        (b"a\0\xff", "invalid UTF-8: byte 0x00 at offset 1, on line 1", "the file seems to be UTF-16; save it as UTF-8"),
        (b"abc\xff\0", "invalid UTF-8: byte 0xff at offset 3, on line 1", "save the file as UTF-8"),
        (b"abc\0\xff", "the file is not text: byte 0x00 at offset 3, on line 1", "remove the file, or restore its text"),
    ],
)  # fmt: skip
def test_binary_file_has_one_diagnostic(data, message, help):
    """A file with a NUL byte has one diagnostic and no text for the parser."""
    diagnostic = decode("a.rules", data)
    assert (diagnostic.message, diagnostic.help) == (message, help)


def test_diagnostic_of_a_binary_file_is_small():
    """The diagnostic keeps only the text around the first wrong byte."""
    diagnostic = decode("a.rules", b"ab" + b"\0" * 5_000_000)
    assert len(diagnostic.span.source.text) < 300


@pytest.mark.parametrize(
    ("text", "start", "end", "covered"),
    [
        ("a\n  b\nc", 4, 5, "  b\n"),  # the indentation and the line end
        ("a\n  b", 4, 5, "  b"),  # the last line has no end
        ("a b\n", 2, 3, "b"),  # not alone on its line
        ("a", 1, 1, ""),
    ],
)
def test_span_is_extended_to_whole_lines(text, start, end, covered):
    """A span extends to its whole lines if they hold nothing else."""
    assert Span(SourceFile("x", text), start, end).whole_lines().text == covered


CASES = sorted((Path(__file__).parent / "excerpts").glob("*.txt"))
SOURCE = SourceFile("site.rules", 'target site {\n    rewrite "x" => "y"\n')


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_span_is_shown_as_in_its_golden_file(case):
    """The span between the brackets in the first half of a file has the excerpt in the second half."""
    marked, _, expected = case.read_text(encoding="utf-8").partition("\n----------\n")
    source = SourceFile("site.rules", marked.translate({ord("⟦"): None, ord("⟧"): None}))
    span = Span(source, marked.index("⟦"), marked.index("⟧") - 1)
    assert render(Diagnostic("code", "the fact", span)) + "\n" == expected


def test_diagnostic_without_a_place_has_no_excerpt():
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
    assert padded("日本", 6) == "日本  "
