from __future__ import annotations

import pytest

from tornado_proxy.lang.diagnostic import SourceFile, Span
from tornado_proxy.lang.tree import Comment, Literal

SOURCE = SourceFile("a.rules", r'"a\\b"')
LITERAL = Literal("a\\b", Span(SOURCE, 0, 6), offsets=(1, 2, 4, 5))


@pytest.mark.parametrize(
    ("start", "end", "text"), [(0, 1, "a"), (1, 2, r"\\"), (0, 3, r"a\\b"), (3, None, ""), (1, None, ""), (7, 9, "")]
)
def test_part_of_a_value_has_its_place_in_the_file(start, end, text):
    """Offsets in the value become a span of the text as written; beyond the end it is empty."""
    assert LITERAL.at(start, end).text == text


def test_literal_without_offsets_points_at_all_of_itself():
    """A literal that was never read from a file has only its own span."""
    assert Literal("x", Span(SOURCE, 1, 3)).at(0, 1) == Span(SOURCE, 1, 3)


def test_nodes_compare_by_what_they_say():
    """Neither the place nor the form nor a blank line above makes a node another one."""
    here, there = Span(SOURCE, 0, 1), Span(SOURCE, 1, 2)
    assert Literal("x", here, raw=True) == Literal("x", there)
    assert Comment("# x", here, blank_before=True) == Comment("# x", there)
