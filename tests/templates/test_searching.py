import pytest
import re2

from tornado_proxy.templates.searching import is_within, leftmost


@pytest.mark.parametrize(
    ("pattern", "text", "start", "span"),
    [
        (r"\B", "é", 0, (0, 0)),
        (r"\B", "é", 1, (2, 2)),
        (r"\B", "aé", 1, (3, 3)),
        (r"\Bx?", "aéa", 0, None),
        ("é", "aé", 1, (1, 3)),
    ],
)
def test_no_match_begins_within_a_character(pattern, text, start, span):
    """Even where RE2 sees no boundary of a word between two bytes."""
    found = leftmost(re2.compile(pattern.encode()), text.encode(), start, sees_within=True)
    assert (found and found.span()) == span


def test_a_character_begins_with_its_first_byte():
    """And nothing is within one at the end of the text."""
    assert [is_within("aé".encode(), offset) for offset in range(4)] == [False, False, True, False]
