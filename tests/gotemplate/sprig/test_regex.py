import pytest
from go_programs import budget, failure

from gotemplate.sprig.regex import captures, compile_regex, matches
from gotemplate.template.errors import LimitError


def _matched_texts(pattern, text, limit=-1):
    return [text[slice(*spans[0])] for spans in matches(compile_regex(pattern.encode()), text, budget(), limit)]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("a+", b"baac a", [b"aa", b"a"]),
        ("x*", b"axb", [b"", b"x", b""]),
        ("", "é".encode(), [b"", b""]),
        ("^a", b"aa", [b"a"]),
        (r"\b", b"ab", [b"", b""]),
        (".", "é😀".encode(), ["é".encode(), "😀".encode()]),
        (".", b"a\xffb", [b"a", b"\xff", b"b"]),
        ("\ufffd", b"\xff\xfe", [b"\xff", b"\xfe"]),
        ("b", b"aaa", []),
        (r"\B", "é".encode(), [b"", b""]),
        (r"\B", "aéa".encode(), []),
    ],
)
def test_matches_are_found_in_turn(pattern, text, expected):
    """No empty match is right after another match, and a byte that isn't UTF-8 is a character."""
    assert _matched_texts(pattern, text) == expected


@pytest.mark.parametrize(("limit", "expected"), [(0, []), (1, [b"a"]), (2, [b"a", b"a"]), (-1, [b"a"] * 3)])
def test_the_number_of_matches_is_limited(limit, expected):
    """A limit is the greatest number of matches, and a negative limit returns all matches."""
    assert _matched_texts("a", b"aaa", limit) == expected


def test_groups_of_a_match_are_texts():
    """A group that took no part is None, and a repeated name has its first group that took part."""
    expression = compile_regex(b"(?P<x>a)|(?P<y>b)|(?P<x>c)")
    first, second = matches(expression, b"ac", budget())
    assert captures(expression, b"ac", first).groups == ("a", "a", None, None)
    assert captures(expression, b"ac", first).names == {"x": 1, "y": 2}
    assert captures(expression, b"ac", second).names == {"x": 3, "y": 2}


def test_groups_keep_bytes_that_are_not_utf8():
    """The text of a group has a surrogate for each byte that isn't UTF-8."""
    expression = compile_regex(b"(.)(x)?")
    (spans,) = matches(expression, b"\xff", budget())
    assert captures(expression, b"\xff", spans).groups == ("\udcff", "\udcff", None)


def test_large_expressions_cost_more_steps():
    """A search costs more steps with a large expression, because it may follow all instructions at each byte."""
    render_budget = budget(steps=1000)
    list(matches(compile_regex(b"a"), b"b" * 31, render_budget))
    assert render_budget.left == 999
    list(matches(compile_regex(b"(?:a?){32}"), b"b" * 31, render_budget))
    assert render_budget.left < 960


def test_an_expression_is_compiled_once():
    """Templates and requests share one cache of expressions."""
    assert compile_regex(b"a+") is compile_regex(b"a+")


def test_searches_are_charged():
    """Each search is charged for the rest of the text, which it may read."""
    with pytest.raises(LimitError):
        list(matches(compile_regex(b"a"), b"a" * 100, budget(steps=50)))


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("is not a regular expression", '{{ regexFind "(" "a" }}'),
        ("is not a regular expression", '{{ mustRegexMatch "(" "a" }}'),
        ("is not a regular expression", '{{ regexReplaceAll "(?=a)" "a" "b" }}'),
        ("is not a regular expression", '{{ regexSplit "[" "a" 1 }}'),
        ("is not a regular expression", r'{{ regexFind "\xff" "a" }}'),
        ("more than 2 MiB", r'{{ regexMatch "\\pL{300}" "a" }}'),
        ("more than 2 MiB", r'{{ regexMatch (print "\\pL{300}") "a" }}'),
    ],
)
def test_an_invalid_or_large_expression_is_an_error(message, call):
    """An invalid one fails in all functions except `regexMatch`; one whose program is too large would take too long to compile."""
    assert message in failure(call)


def test_an_expression_is_limited_in_length():
    with pytest.raises(LimitError, match="an expression of more than 2048 bytes"):
        compile_regex(b"a" * 2049)
