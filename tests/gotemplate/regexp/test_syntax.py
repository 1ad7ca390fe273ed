import pytest

from gotemplate.regexp.parser import parse
from gotemplate.regexp.syntax import PatternError, fold, measure


def test_the_representation_of_a_node_has_no_place():
    assert repr(parse("ab").tree) == "Text(characters='ab', folded=False)"


def _measured(text):
    return fold(parse(text).tree, measure)


@pytest.mark.parametrize(
    ("text", "size", "depth"),
    [
        (r"ab\.", 3, 1),
        ("(?i)a(?-i)b", 2, 2),
        ("ab*", 4, 3),
        ("(?:ab*)c", 5, 3),
        ("||a", 3, 2),
        ("(abc)", 5, 2),
        (".*", 3, 2),
        (".{3,}", 4, 2),
        (".{2,5}", 8, 2),
        (".{0}", 1, 2),
    ],
)
def test_an_expression_is_measured_as_go_measures_it(text, size, depth):
    """Characters in a row are one literal, a branch after the first costs one instruction, and a group costs two."""
    measured = _measured(text)
    assert (measured.size, measured.depth) == (size, depth)


@pytest.mark.parametrize(
    ("text", "copies"), [("a", 1), ("a{2,5}", 5), ("(a{10}.){0,10}", 100), ("(?:a{10}){0}", 1), ("a{3,}", 3), ("a*", 1)]
)
def test_nested_counts_multiply(text, copies):
    """Copies are multiplied through groups, and what is repeated zero times counts as one copy."""
    assert _measured(text).copies == copies


@pytest.mark.parametrize(
    ("accepted", "refused"),
    [
        ("(" * 999 + ")" * 999, "(" * 1000 + ")" * 1000),
        ("(" * 998 + "a|" + ")" * 998, "(" * 999 + "a|" + ")" * 999),
        ("(?:" * 999 + ")*" * 999, "(?:" * 1000 + ")*" * 1000),
        ("(?:" * 5000 + "a" + ")" * 5000, "(" * 5000 + "a" + ")" * 5000),
        ("(xx?){1000}" * 500, "(xx?){1000}" * 1000),
    ],
)
def test_a_deep_or_large_expression_is_refused(accepted, refused):
    """The limits of Go hold: a thousand levels, and the memory of its program."""
    parse(accepted)
    with pytest.raises(PatternError, match=r"expression (too large|nested deeper than 1000 levels)"):
        parse(refused)


def test_too_many_copies_are_refused():
    """Nested counts are multiplied, and an expression with more than a thousand copies is refused as in Go."""
    with pytest.raises(PatternError, match="nested counts make more than 1000 copies") as caught:
        parse("x(?:a{100}){11}")
    assert (caught.value.offset, caught.value.end) == (1, 15)
