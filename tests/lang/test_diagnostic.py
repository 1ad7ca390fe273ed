from __future__ import annotations

import codecs
import os

import pytest

from tornado_proxy.lang.diagnostic import (
    Diagnostic,
    Position,
    Severity,
    SourceFile,
    Span,
    counted,
    decode,
    did_you_mean,
    errors,
    read_file,
)
from tornado_proxy.lang.excerpt import render

TEXT = SourceFile("a.rules", "one\ntwo\r\nthrée")


@pytest.mark.parametrize(("offset", "position"), [(0, (1, 1)), (3, (1, 4)), (4, (2, 1)), (9, (3, 1)), (14, (3, 6))])
def test_offset_has_a_line_and_a_column(offset, position):
    """Lines and columns count from 1, columns in code points."""
    assert TEXT.position(offset) == Position(*position)


@pytest.mark.parametrize("offset", [0, 3, 4, 9, 14])
def test_position_leads_back_to_its_offset(offset):
    """An offset's line and column give the offset again."""
    assert TEXT.offset(*TEXT.position(offset)) == offset


def test_only_line_feed_ends_a_line():
    """A carriage return or another separator ends no line."""
    assert SourceFile("a", "a\rb\x0bc\u2028d").position(6).line == 1


def test_line_comes_without_its_end():
    """A line's text has neither LF nor CR LF."""
    assert [TEXT.line(number) for number in (1, 2, 3)] == ["one", "two", "thrée"]


def test_text_that_ends_with_a_line_end_has_an_empty_last_line():
    """Behind the last LF stands a line, as editors show it."""
    source = SourceFile("a", "one\n")
    assert (source.position(4), source.line(2)) == ((2, 1), "")


def test_span_knows_its_text_and_its_ends():
    """A span covers its text and says where that begins and ends."""
    span = Span(TEXT, 4, 7)
    assert (span.text, span.first, span.last, span.place) == ("two", (2, 1), (2, 4), "a.rules:2:1")


def test_part_of_a_span_counts_within_it():
    """A part's offsets count from the span's start."""
    assert Span(TEXT, 4, 7).part(1, 2).text == "w"


def test_sources_compare_by_name_and_text():
    """Two source files with one name and one text are equal."""
    assert SourceFile("a", "x") == SourceFile("a", "x") != SourceFile("a", "y")


def test_place_names_file_line_and_column():
    """A diagnostic's place is the start of its span."""
    assert Diagnostic("code", "message", Span(SourceFile("a.rules", "\nx"), 1, 2)).place == "a.rules:2:1"


def test_diagnostic_without_a_span_has_no_place():
    """What belongs to no place has an empty one."""
    assert Diagnostic("code", "message").place == ""


def test_errors_leave_out_lesser_findings():
    """Only errors keep a set of files from being used."""
    error, warning = Diagnostic("a", "a"), Diagnostic("b", "b", severity=Severity.WARNING)
    assert errors([warning, error, Diagnostic("c", "c", severity=Severity.INFO)]) == (error,)


def test_a_line_is_what_compilers_print():
    """Place, severity, code and message stand on one line."""
    span = Span(SourceFile("a.rules", "\nx"), 1, 2)
    assert Diagnostic("code", "message", span).line == "a.rules:2:1: error[code] message"
    assert Diagnostic("code", "message", severity=Severity.INFO).line == "info[code] message"


KEYWORDS = ("target", "rewrite", "test")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("rewrit", "rewrite"),
        ("tagret", "target"),
        ("REWRITE", "rewrite"),
        ("tset", "test"),
        ("location", None),
        ("", None),
    ],
)
def test_closest_candidate_is_suggested(word, meant):
    """A word close to a candidate is taken for it, in any case; any other word for none."""
    assert did_you_mean(word, KEYWORDS) == meant


def test_suggestion_keeps_the_candidates_case():
    """The candidate comes back as it is written."""
    assert did_you_mean("indexdocument", ["indexDocument"]) == "indexDocument"


def test_endless_word_is_close_to_nothing():
    """A word longer than any keyword is not even compared."""
    assert did_you_mean("rewrite" * 100, KEYWORDS) is None


@pytest.mark.parametrize(("number", "words"), [(0, "0 files"), (1, "1 file"), (2, "2 files"), (12_000, "12,000 files")])
def test_numbers_of_things(number, words):
    """One is singular, all else plural; thousands are separated."""
    assert counted(number, "file") == words


def test_an_irregular_plural():
    """A plural that does not end in `s` alone is given."""
    assert counted(2, "fix", "fixes") == "2 fixes"


@pytest.mark.parametrize("regular", [True, False])
def test_a_file_is_read_whole(tmp_path, regular):
    """Up to the last byte that is allowed."""
    (tmp_path / "a").write_bytes(b"12345")
    assert read_file(tmp_path / "a", 5, regular=regular) == b"12345"


@pytest.mark.parametrize("regular", [True, False])
def test_a_file_that_is_too_large_is_an_error(tmp_path, regular):
    """It is not read to its end."""
    (tmp_path / "a").write_bytes(b"12345")
    with pytest.raises(OSError, match="it is larger than 4 bytes"):
        read_file(tmp_path / "a", 4, regular=regular)


def test_a_pipe_is_not_waited_for(tmp_path):
    """Nobody may ever write into it."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is not a regular file") as caught:
        read_file(tmp_path / "pipe", 5, regular=True)
    assert caught.value.filename == str(tmp_path / "pipe")


def test_a_pipe_can_be_asked_for():
    """A command's output may stand where a file's name is asked for."""
    reading, writing = os.pipe()
    os.write(writing, b"12345")
    os.close(writing)
    assert read_file(f"/dev/fd/{reading}", 5, regular=False) == b"12345"
    os.close(reading)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    """The system's own."""
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "a", 4, regular=True)


def test_utf8_becomes_a_source_file():
    """Bytes in UTF-8 are the file's text."""
    assert decode("a.rules", "é\n".encode()) == (SourceFile("a.rules", "é\n"), None)


def test_byte_order_mark_is_no_part_of_the_text():
    """A byte order mark is taken off, so that columns count from the first character."""
    assert decode("a.rules", codecs.BOM_UTF8 + b"x") == (SourceFile("a.rules", "x"), None)


def test_other_encoding_is_a_diagnostic_with_its_place():
    """The first byte that is not UTF-8 is named with its offset and line, and shown."""
    source, diagnostic = decode("a.rules", b"# one\n# caf\xe9\n")
    assert source is None
    assert render(diagnostic).splitlines() == [
        "error[not-utf-8]: invalid UTF-8: byte 0xe9 at offset 11, on line 2",
        " --> a.rules:2:6",
        "  |",
        "2 | # caf\ufffd",
        "  |      ^",
        "  = help: save the file as UTF-8",
    ]


def test_offset_counts_the_byte_order_mark():
    """An offset is one in the file, as other tools count it."""
    _, diagnostic = decode("a.rules", codecs.BOM_UTF8 + b"a\xff")
    assert diagnostic.message == "invalid UTF-8: byte 0xff at offset 4, on line 1"
    assert diagnostic.place == "a.rules:1:2"


def test_utf16_is_recognised():
    """A file in UTF-16 is called by its name."""
    _, diagnostic = decode("a.rules", "target".encode("utf-16"))
    assert diagnostic.help == "the file seems to be UTF-16; save it as UTF-8"


@pytest.mark.parametrize(
    ("data", "message", "help"),
    [
        (
            b"\0\0\0",
            "the file is not text: byte 0x00 at offset 0, on line 1",
            "remove the file, or restore its text",
        ),
        (
            b"target a {}\n\0",
            "the file is not text: byte 0x00 at offset 12, on line 2",
            "remove the file, or restore its text",
        ),
        (
            b"a\0\xff",
            "invalid UTF-8: byte 0x00 at offset 1, on line 1",
            "the file seems to be UTF-16; save it as UTF-8",
        ),
        (b"abc\xff\0", "invalid UTF-8: byte 0xff at offset 3, on line 1", "save the file as UTF-8"),
        (
            b"abc\0\xff",
            "the file is not text: byte 0x00 at offset 3, on line 1",
            "remove the file, or restore its text",
        ),
    ],
)
def test_binary_file_is_one_diagnostic(data, message, help):
    """A NUL byte is not text: the parser never sees it."""
    source, diagnostic = decode("a.rules", data)
    assert source is None
    assert (diagnostic.message, diagnostic.help) == (message, help)


def test_diagnostic_of_a_binary_file_is_small():
    """Only what stands around the first wrong byte is kept."""
    _, diagnostic = decode("a.rules", b"ab" + b"\0" * 5_000_000)
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
def test_whole_lines_are_those_with_nothing_else(text, start, end, covered):
    """What is removed or moved takes its lines along."""
    assert Span(SourceFile("x", text), start, end).whole_lines().text == covered
