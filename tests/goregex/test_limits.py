import pytest

from tornado_proxy.goregex.limits import Measure, measure
from tornado_proxy.goregex.parser import parse
from tornado_proxy.goregex.syntax import PatternError, fold


def _measured(text):
    return fold(parse(text).tree, measure)


@pytest.mark.parametrize(
    ("text", "size", "depth"),
    [
        ("", 1, 1),
        (r"ab\.", 3, 1),
        ("a.", 2, 2),
        ("(?i)a(?-i)b", 2, 2),
        ("ab*", 4, 3),
        ("(?:ab*)c", 5, 3),
        ("abc|.|abc", 9, 2),
        ("||a", 3, 2),
        ("|", 1, 1),
        ("(abc)", 5, 2),
        ("(?:abc)", 3, 1),
        (".*", 3, 2),
        (".+", 2, 2),
        (".{3,}", 4, 2),
        (".?", 2, 2),
        (".{2,5}", 8, 2),
        (".{0}", 1, 2),
    ],
)
def test_an_expression_is_measured_as_go_measures_it(text, size, depth):
    """Neighbouring characters are one literal, each branch but one costs an instruction, a group costs two."""
    found = _measured(text)
    assert (found.size, found.depth) == (size, depth)


@pytest.mark.parametrize(
    ("text", "copies"),
    [("a", 1), ("a{2,5}", 5), ("(a{10}.){0,10}", 100), ("(?:a{10}){0}", 1), ("a{3,}", 3), ("a*", 1)],
)
def test_nested_counts_multiply(text, copies):
    """Ten times ten copies are a hundred, through groups; what is repeated no times has no copies."""
    assert _measured(text).copies == copies


def test_a_measure_is_a_value():
    """Measures are compared by what they count."""
    assert _measured("ab") == _measured("cd")
    assert isinstance(_measured("ab"), Measure)


@pytest.mark.parametrize(
    ("accepted", "refused"),
    [
        ("(" * 999 + ")" * 999, "(" * 1000 + ")" * 1000),
        ("(" * 998 + "a|" + ")" * 998, "(" * 999 + "a|" + ")" * 999),
        ("(?:" * 999 + ")*" * 999, "(?:" * 1000 + ")*" * 1000),
        ("(?:" * 5000 + "a" + ")" * 5000, "(" * 5000 + "a" + ")" * 5000),
        ("(xx?){1000}" * 500, "(xx?){1000}" * 1000),
        (r"\pL" * 100, r"\pL" * 27000),
        ("[^a-c]" * 5000, r"[\pLa]" * 27000),
    ],
)
def test_what_is_too_deep_or_too_large_is_refused(accepted, refused):
    """Go's limits hold: a thousand levels, and what its program would take of memory."""
    parse(accepted)
    with pytest.raises(PatternError, match=r"expression (too large|nested deeper than 1000 levels)"):
        parse(refused)


def test_too_many_copies_are_refused():
    """Counts within counts multiply, and Go makes a thousand copies at most."""
    with pytest.raises(PatternError, match="nested counts make more than 1000 copies") as caught:
        parse("x(?:a{100}){11}")
    assert (caught.value.offset, caught.value.end) == (1, 15)
