from __future__ import annotations

import pytest

from tornado_proxy.lang.source import Position, SourceFile, Span

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
    assert SourceFile("a", "a\rb\x0bc\u2028d").line_count == 1


def test_line_comes_without_its_end():
    """A line's text has neither LF nor CR LF."""
    assert [TEXT.line(number) for number in range(1, TEXT.line_count + 1)] == ["one", "two", "thrée"]


def test_text_that_ends_with_a_line_end_has_an_empty_last_line():
    """Behind the last LF stands a line, as editors show it."""
    source = SourceFile("a", "one\n")
    assert (source.line_count, source.line(2)) == (2, "")


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
