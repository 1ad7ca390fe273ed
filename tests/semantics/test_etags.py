from __future__ import annotations

import pytest

from tornado_proxy.semantics.etags import is_etag, is_weak, opaque, parse_etags, strong_match, weak_match


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("  ", ()),
        (",", ()),
        ("*", ("*",)),
        (" *\t", ("*",)),
        ('"a"', ('"a"',)),
        ('W/"a"', ('W/"a"',)),
        ('""', ('""',)),
        ('"a", W/"b","c"', ('"a"', 'W/"b"', '"c"')),
        (' , "a" ,, "b" , ', ('"a"', '"b"')),
        ('"a,b"', ('"a,b"',)),
        ('"ä"', ('"ä"',)),
    ],
)
def test_a_list_is_read(text, expected):
    """A list of entity tags is its members, as they are written; empty members do not count (RFC 9110 5.6.1)."""
    assert parse_etags(text) == expected


@pytest.mark.parametrize("text", ["abc", '"a', 'w/"a"', '"a" "b"', '"a", b', '"a b"', '*, "a"', '"a"b"', '"a\n"'])
def test_an_ill_formed_list_is_one_member(text):
    """A list that cannot be read is kept whole, as something that no entity tag equals."""
    assert parse_etags(text) == (text,)
    assert not weak_match(text, '"a"')


@pytest.mark.parametrize(
    ("one", "other", "strong", "weak"),
    [
        ('W/"1"', 'W/"1"', False, True),
        ('W/"1"', 'W/"2"', False, False),
        ('W/"1"', '"1"', False, True),
        ('"1"', 'W/"1"', False, True),
        ('"1"', '"1"', True, True),
        ('"1"', '"2"', False, False),
        ("1", "1", False, False),
    ],
)
def test_two_entity_tags_are_compared(one, other, strong, weak):
    """The table of RFC 9110 8.8.3.2; what is no entity tag equals none."""
    assert (strong_match(one, other), weak_match(one, other)) == (strong, weak)


def test_weakness_is_a_prefix():
    """A weak entity tag says so, and has a strong one within."""
    assert (is_weak('W/"a"'), is_weak('"a"'), opaque('W/"a"'), opaque('"a"')) == (True, False, '"a"', '"a"')


@pytest.mark.parametrize(("text", "expected"), [('"a"', True), ('W/"a"', True), ("a", False), ('"a", "b"', False)])
def test_one_entity_tag_is_told_from_other_texts(text, expected):
    """An entity tag is one opaque tag in quotes, weak or not."""
    assert is_etag(text) is expected
