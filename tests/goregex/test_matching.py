import base64
import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tornado_proxy.goregex.matching import FirstMatch, Pattern, compile_pattern, compile_source, encoded
from tornado_proxy.goregex.syntax import PatternError

ROOT = Path(__file__).parents[2]
VECTORS = json.loads((ROOT / "tests/vectors/regexp.json").read_text(encoding="utf-8"))


def _text(vector, name):
    """A text of a vector; bytes that are not UTF-8 become what Python reads of them, one character each."""
    if name in vector:
        return vector[name]
    return base64.b64decode(vector[f"{name}_b64"]).decode("utf-8", "surrogateescape")


def _groups(vector):
    if "groups" in vector:
        return tuple(vector["groups"])
    decoded = (each and base64.b64decode(each).decode("utf-8", "surrogateescape") for each in vector["groups_b64"])
    return tuple(decoded)


def _agrees(vector):
    try:
        pattern = compile_pattern(vector["pattern"])
    except PatternError:
        return False
    found = pattern.search(_text(vector, "text"))
    if found is None:
        return not vector["match"]
    numbers = {name: vector["names"].index(name) + 1 for name in vector["names"] if name}
    return vector["match"] and found.groups == _groups(vector) and dict(pattern.names) == numbers


def test_recorded_answers_of_go_are_found_but_for_those_that_the_documentation_lists():
    """Each recorded search has Go's answer; `docs/expressions.md` lists by name every one that has not."""
    documentation = (ROOT / "docs/expressions.md").read_text(encoding="utf-8")
    failing = {vector["id"] for vector in VECTORS["vectors"] if not _agrees(vector)}
    assert failing == set(re.findall(r"\bre-\d+\b", documentation))


@pytest.mark.parametrize("vector", VECTORS["invalid"], ids=lambda vector: vector["id"])
def test_what_go_refuses_is_refused(vector):
    """Every recorded expression that Go refuses is refused, at a place within it."""
    text = vector["pattern"]
    with pytest.raises(PatternError) as caught:
        compile_pattern(text)
    assert 0 <= caught.value.offset <= (caught.value.end or len(text)) <= len(text)


def test_captures_are_text_by_number_and_name():
    """A group that took no part is none; names lead to numbers."""
    pattern = compile_pattern("^/(?P<first>[^/]+)(/x)?/(?P<last>é*)")
    found = pattern.search("/a/éé/b")
    assert found is not None
    assert (found.groups, dict(found.names)) == (("/a/éé", "a", None, "éé"), {"first": 1, "last": 3})
    assert pattern.group_count == 3


@pytest.mark.parametrize(
    ("key", "number"), [("/b", 2), ("/a", 1), ("/c", 1)], ids=["the second", "the first", "none of both"]
)
def test_of_two_groups_of_one_name_the_one_that_took_part_counts(key, number):
    """As in Go's Expand: the first that took part; the first of all where none did."""
    pattern = compile_pattern("^/(?:(?P<n>a)|(?P<n>b)|c)$")
    found = pattern.search(key)
    assert found is not None
    assert dict(found.names) == {"n": number}
    assert dict(pattern.names) == {"n": 1}


def test_patterns_of_one_text_are_equal():
    """A pattern is what it says; what RE2 made of it does not count."""
    assert compile_pattern("^/a") == compile_pattern("^/a")
    assert repr(compile_pattern("^/a")) == "Pattern(text='^/a')"


def test_a_search_is_not_anchored():
    """As Go's MatchString, a pattern may match anywhere."""
    assert compile_pattern("b").search("abc") is not None
    assert compile_pattern("^b").search("abc") is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(?:(?:a??)*)+?", ""),
        ("(?:(?:|a)*)*", ""),
        ("(?:(?:(?:a*)*?)*|b)*", ""),
        ("(?:|a)*(?i)*", ""),
        ("(?:(?:|a)*a)+", "aa"),
        ("/1(?U){2}(?sm)*?", None),
    ],
)
def test_what_may_match_nothing_is_repeated_as_in_go(text, found):
    """A lazy repetition, or an empty alternative before others, stops where Go stops."""
    captures = compile_pattern(text).search("aab")
    assert (captures and captures.groups[0]) == found


@pytest.mark.parametrize(
    ("text", "key", "groups"),
    [
        (r"\B", "aéb", None),
        (r"\B", "é中", ("",)),
        (r"(\B)x?", "aé\U0001f600", ("", "")),
        (r"a|\B", "é中a", ("",)),
    ],
)
def test_no_place_is_within_a_character(text, key, groups):
    """RE2 would find the edge of no word between the bytes of one character."""
    found = compile_pattern(text).search(key)
    assert (found and found.groups) == groups


@pytest.mark.parametrize(
    ("text", "key", "groups"),
    [
        ("^.(.)$", "é\udcff", ("é\udcff", "\udcff")),
        (r"(\x{fffd})(x)?", "a\udce2\udc82", ("\udce2", "\udce2", None)),
        ("b", "\ud800", None),
    ],
)
def test_what_is_not_unicode_is_read_as_a_replacement_character(text, key, groups):
    """As Go reads bytes that are not UTF-8; the captures show the text as it was."""
    found = compile_pattern(text).search(key)
    assert (found and found.groups) == groups


@given(st.text())
def test_the_dot_reads_a_text_character_by_character(text):
    """Whatever a text holds, as many characters match as it has."""
    found = compile_pattern("(?s)^.*$").search(text)
    assert found is not None
    assert found.groups == (text,)
    assert compile_pattern(f"(?s)^.{{{len(text)}}}$").search(text) is not None


@given(st.text(st.characters()))
def test_every_text_can_be_encoded(text):
    """What is not valid Unicode takes one replacement character."""
    assert len(encoded(text).decode()) == len(text)


def test_what_re2_cannot_compile_is_refused_in_its_words():
    """RE2 may have no room for a program that Go accepts."""
    with pytest.raises(PatternError, match="RE2 cannot compile the expression: pattern too large"):
        compile_pattern(".{1000}" * 9, memory=(1 << 20,))


def test_the_size_of_a_program_is_reported():
    """It is what decides how many patterns share a set."""
    small, large = compile_pattern("a"), compile_pattern("a{100}")
    assert isinstance(small, Pattern)
    assert small.program_size < large.program_size


SOURCES = [
    "^/a",
    "^/a/(?P<rest>.*)$",
    "b$",
    r"\B",
    r"(?i)É",
    r"^/[^/]+/\d{2,}",
    "(x*)*y",
    "^$",
    r"\pL\PL",
    "a|b|",
    "(?:ab){3}",
]
KEYS = st.text(st.sampled_from("/abéÉ中x1 y"), max_size=12)


def _one_by_one(patterns, key):
    """What the sets are held to: the first pattern that matches, found as it says."""
    for index, pattern in enumerate(patterns):
        captures = pattern.search(key)
        if captures is not None:
            return index, captures
    return None


@given(st.lists(st.sampled_from(SOURCES), max_size=8), KEYS)
@example(SOURCES, "/é/x12y")
def test_one_set_several_sets_and_no_set_agree_with_the_naive_loop(sources, key):
    """However the patterns are spread, the first that matches is found with the same captures."""
    patterns = [compile_pattern(source) for source in sources]
    expected = _one_by_one(patterns, key)
    assert FirstMatch(patterns).find(key) == expected
    assert FirstMatch(patterns, instructions=40).find(key) == expected
    assert FirstMatch(patterns, memory=1).find(key) == expected


def test_thousands_of_patterns_are_searched_at_once():
    """The first of three thousand that matches is found, and nothing where none does."""
    first_match = FirstMatch([compile_pattern(f"^/old/{number}/(.*)$") for number in range(3000)])
    found = first_match.find("/old/2999/page.html")
    assert found is not None
    assert (found[0], found[1].groups[1]) == (2999, "page.html")
    assert first_match.find("/new/1/page.html") is None


def test_no_pattern_matches_nothing():
    """An empty list is a list."""
    assert FirstMatch([]).find("/a") is None


def test_a_key_that_is_not_unicode_is_searched_as_well():
    """It is read as the patterns read it."""
    assert FirstMatch([compile_pattern("x"), compile_pattern("^/.$")]).find("/\udcff") is not None


class _Exhausted:
    """A set that has run out of memory: it answers nothing, not even the pattern that matches every key."""

    def Match(self, text):  # noqa: N802 - RE2's name
        return None


@pytest.mark.parametrize(("key", "index"), [("/ab", 1), ("/c", None)])
def test_a_set_without_memory_to_read_on_is_done_without(key, index):
    """The patterns are tried one by one, with the same answer."""
    first_match = FirstMatch([compile_pattern("^/x"), compile_pattern("^/a")])
    (portion,) = first_match._portions
    first_match._portions = (portion._replace(combined=_Exhausted()),)
    found = first_match.find(key)
    assert (found and found[0]) == index


@given(st.lists(st.sampled_from(SOURCES), max_size=6), st.lists(st.sampled_from(SOURCES), max_size=6), KEYS)
def test_what_is_known_finds_what_is_found_without_it(sources, others, key):
    """Portions taken over from another list are those of this list."""
    patterns = [compile_pattern(source) for source in sources]
    known = FirstMatch([compile_pattern(source) for source in others], instructions=40)
    assert FirstMatch(patterns, instructions=40, known=known).find(key) == _one_by_one(patterns, key)


def test_a_portion_that_has_not_changed_is_taken_over():
    """An edit at the end leaves the sets before it as they are."""
    patterns = [compile_pattern(f"^/{number}$") for number in range(20)]
    known = FirstMatch(patterns, instructions=40)
    edited = FirstMatch([*patterns[:-1], compile_pattern("^/new$")], instructions=40, known=known)
    assert edited._portions[0] is known._portions[0]
    assert edited._portions[-1] is not known._portions[-1]


@pytest.mark.parametrize("source", [r"^/[^/]{1,255}/[^/]{1,255}$", "(a?)" * 100, r"\pL{10}", "a?" * 590])
def test_a_source_may_be_as_large_as_authors_need(source):
    """Two segments of any length, a hundred groups and a dozen Unicode classes are within the limits."""
    assert compile_source(source) == compile_pattern(source)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (r"\pL{100}", "123,704 RE2 instructions, the limit is 16,000"),
        ("(a?)" * 1000, "4,004,000 RE2 instructions times groups, the limit is 100,000"),
        ("(?:a?){1000}", "2,000 parts with its counts written out, the limit is 1,200"),
        ("a?b" * 401, "1,203 parts with its counts written out, the limit is 1,200"),
    ],
)
def test_a_source_that_would_match_slowly_is_refused(source, reason):
    """No other request is answered while a key is searched."""
    with pytest.raises(PatternError) as caught:
        compile_source(source)
    assert str(caught.value) == f"expression too slow to match: {reason}"
    assert caught.value.help == "lower its counts, or split it into several rewrites"
