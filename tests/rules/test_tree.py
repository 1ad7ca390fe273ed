from __future__ import annotations

import pytest

from tornado_proxy.rules.diagnostic import SourceFile, Span
from tornado_proxy.rules.tree import Comment, Literal

SOURCE = SourceFile("a.rules", r'"a\\b"')
LITERAL = Literal("a\\b", Span(SOURCE, 0, 6), offsets=(1, 2, 4, 5))


@pytest.mark.parametrize(
    ("start", "end", "text"), [(0, 1, "a"), (1, 2, r"\\"), (0, 3, r"a\\b"), (3, None, ""), (1, None, ""), (7, 9, "")]
)
def test_part_of_a_value_has_a_span_in_the_file(start, end, text):
    """Offsets in a value become a span of the written text, which is empty beyond the end of the value."""
    assert LITERAL.at(start, end).text == text


def test_literal_without_offsets_has_one_span():
    """Every part of a literal without offsets has the span of the literal."""
    assert Literal("x", Span(SOURCE, 1, 3)).at(0, 1) == Span(SOURCE, 1, 3)


def test_nodes_are_compared_without_layout():
    """The place, the quotes and a blank line above a node take no part in a comparison."""
    here, there = Span(SOURCE, 0, 1), Span(SOURCE, 1, 2)
    assert Literal("x", here, raw=True) == Literal("x", there)
    assert Comment("# x", here, blank_before=True) == Comment("# x", there)
