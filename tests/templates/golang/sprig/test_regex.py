from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from go_programs import budget, failure, written

from tornado_proxy.templates.golang.sprig.regex import (
    LARGEST_MEMORY,
    USUAL_MEMORY,
    captures,
    compile_regex,
    keeping,
    matches,
)
from tornado_proxy.templates.template import LimitError


def _found(pattern, text, most=-1):
    return [text[slice(*spans[0])] for spans in matches(compile_regex(pattern, USUAL_MEMORY), text, budget(), most)]


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
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
def test_matches_follow_one_another(pattern, text, found):
    """None is empty right after another, and a byte that is not UTF-8 is a character."""
    assert _found(pattern, text) == found


@pytest.mark.parametrize(("most", "found"), [(0, []), (1, [b"a"]), (2, [b"a", b"a"]), (-1, [b"a"] * 3)])
def test_so_many_matches_as_are_wanted(most, found):
    """All of them if the number is negative."""
    assert _found("a", b"aaa", most) == found


def test_groups_of_a_match_are_texts():
    """One that took no part is none; of namesakes the first that did counts."""
    expression = compile_regex("(?P<x>a)|(?P<y>b)|(?P<x>c)", USUAL_MEMORY)
    first, second = matches(expression, b"ac", budget())
    assert captures(expression, b"ac", first).groups == ("a", "a", None, None)
    assert captures(expression, b"ac", first).names == {"x": 1, "y": 2}
    assert captures(expression, b"ac", second).names == {"x": 3, "y": 2}


def test_groups_keep_bytes_that_are_no_utf8():
    """As Python writes such bytes in texts."""
    expression = compile_regex("(.)(x)?", USUAL_MEMORY)
    (spans,) = matches(expression, b"\xff", budget())
    assert captures(expression, b"\xff", spans).groups == ("\udcff", "\udcff", None)


def test_what_is_no_expression_says_why():
    """In the words for sources."""
    with pytest.raises(ValueError, match="unclosed group"):
        compile_regex("(", USUAL_MEMORY)


def test_a_large_expression_gets_the_memory_that_it_needs():
    """But not without end; that is a limit, and no mistake in it."""
    assert compile_regex(r"\pL{300}", LARGEST_MEMORY).spans(b"a" * 300, 0) == [(0, 300)]
    with pytest.raises(LimitError, match="more than 16 MiB"):
        compile_regex(r"\pL{1000}", LARGEST_MEMORY)
    with pytest.raises(LimitError, match="more than 2 MiB"):
        compile_regex(r"\pL{300}", USUAL_MEMORY)


def test_large_expressions_cost_more_steps():
    """A search may follow all instructions of one at each byte."""
    left = budget(steps=1000)
    list(matches(compile_regex("a", USUAL_MEMORY), b"b" * 31, left))
    assert left.left == 999
    list(matches(compile_regex("(?:a?){32}", USUAL_MEMORY), b"b" * 31, left))
    assert left.left < 960


@dataclass(frozen=True)
class _Weighing:
    memory: int
    names: Sequence[tuple[str, int]] = ()
    size: int = 1

    def spans(self, _text, _start):
        return None


def test_expressions_used_lately_are_kept_as_far_as_memory_goes():
    """The one that was not used for longest goes first; one that is too large by itself stays no longer than another."""
    compiled = []

    @keeping
    def compile_weighing(text, _memory):
        compiled.append(text)
        return _Weighing(int(text) << 20)

    for text in ("50", "60", "50", "61", "50", "60", "999", "999"):
        compile_weighing(text, USUAL_MEMORY)
    assert compiled == ["50", "60", "61", "60", "999", "999"]


def test_an_expression_is_compiled_once():
    """Templates and requests share what is kept."""
    assert compile_regex("a+", USUAL_MEMORY) is compile_regex("a+", USUAL_MEMORY)


def test_searching_is_work():
    """Each search may look at all that is left."""
    with pytest.raises(LimitError):
        list(matches(compile_regex("a", USUAL_MEMORY), b"a" * 100, budget(steps=50)))


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ('regexMatch "^a" "abc"', "true"),
        ('regexMatch "(" "abc"', "false"),
        ('regexMatch "x" "abc"', "false"),
        ('mustRegexMatch "b" "abc"', "true"),
        ('regexFind "[0-9]+" "a12b3"', "12"),
        ('regexFind "x" "abc"', ""),
        ('regexFindAll "[0-9]" "a1b2c3" 2', "[1 2]"),
        ('regexFindAll "[0-9]" "a1b2" -1', "[1 2]"),
        ('regexFindAll "x" "abc" -1 | toJson', "null"),
        ('regexFindAll "b" "abc" 0 | toJson', "null"),
        ('regexReplaceAll "a(x*)b" "-ab-axxb-" "${1}W"', "-W-xxW-"),
        ('regexReplaceAll "a(?P<n>x*)b" "-ab-axxb-" "<$n>"', "-<>-<xx>-"),
        ('regexReplaceAll "x*" "ab" "-"', "-a-b-"),
        ('regexReplaceAll "é" "aé" "\\xff" | quote', '"a\\xff"'),
        ('regexReplaceAllLiteral "a" "abc" "$1"', "$1bc"),
        ('regexSplit "/" "a//b" -1 | toJson', '["a","","b"]'),
        ('regexSplit "a" "banana" 2 | toJson', '["b","nana"]'),
        ('regexSplit "z" "banana" -1 | toJson', '["banana"]'),
        ('regexSplit "" "ab" -1 | toJson', '["a","b"]'),
        ('regexSplit "x*" "axb" -1 | toJson', '["a","b"]'),
        ('regexSplit "a" "" -1 | toJson', '[""]'),
        ('regexSplit "" "" -1 | toJson', "[]"),
        ('regexSplit "a" "ba" -1 | toJson', '["b",""]'),
        ('regexSplit "a" "bab" 0 | toJson', "null"),
        ('regexSplit "a" "bab" 1 | toJson', '["bab"]'),
        ('regexSplit "b$" "ab" -1 | toJson', '["a",""]'),
        ('regexQuoteMeta "a.b*[c]"', "a\\.b\\*\\[c\\]"),
        ('mustRegexFind "b" "abc"', "b"),
        ('mustRegexSplit "b" "abc" -1', "[a c]"),
    ],
)
def test_expressions_find_replace_and_split(call, result):
    """As Go's package regexp does."""
    assert written(f"{{{{ {call} }}}}") == result


@pytest.mark.parametrize(
    "call",
    [
        'regexFind "(" "a"',
        'mustRegexMatch "(" "a"',
        'regexReplaceAll "(?=a)" "a" "b"',
        'regexSplit "[" "a" 1',
        'regexFind "\\xff" "a"',
    ],
)
def test_what_is_no_expression_fails(call):
    """Only `regexMatch` takes it for one that is not found."""
    assert "is not a regular expression" in failure(f"{{{{ {call} }}}}")


def test_a_constant_expression_may_be_larger_than_one_that_is_made():
    """It is compiled with the template, where it holds up no request."""
    assert written(r'{{ regexMatch "\\pL{300}" (repeat 300 "a") }}') == "true"
    assert "more than 2 MiB" in failure(r'{{ regexMatch (print "\\pL{300}") "a" }}')
    assert "more than 16 MiB" in failure(r'{{ regexMatch "\\pL{1000}" "a" }}')
