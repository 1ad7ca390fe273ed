from contextlib import suppress
from functools import cache
from itertools import product

from hypothesis import assume, given
from hypothesis import strategies as st
from proving import covered, is_treatable

from tornado_proxy.goregex.alphabet import is_valid_key
from tornado_proxy.goregex.language import Language, language, longest_matching_part
from tornado_proxy.goregex.matching import FirstMatch, compile_pattern
from tornado_proxy.goregex.parser import parse
from tornado_proxy.goregex.proofs import (
    Covered,
    Example,
    NoKey,
    difference,
    fold_case,
    literal_prefix,
    literal_suffix,
    overlap,
    overlaps,
    reachability,
    shortest_key,
)
from tornado_proxy.goregex.syntax import PatternError

PIECES = (
    *("a", "b", "k", "S", "é", "1", "_", "/", "-", r"\.", ".", "[^/]", "[a-c]", "[^a]", "[]a]", "[a-]", "[^]]"),
    *(r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"[\d/]", r"[^\w/]", "[[:alpha:]]", "[[:^punct:]é]", "[[:^word:]]"),
    *(r"\pL", r"\p{Lu}", r"\P{Greek}", r"\p{^Ll}", r"(?i)\pL", "(?i)[a-k]", "(?i)[^s]", "(?i)[[:upper:]]", "(?i)k"),
    *("^", "$", r"\A", r"\z", r"\b", r"\B", "(?i)", "(?-i)", "(?s)", "(?m)^", "(?U)", r"\Q.*\E", r"\x41", r"\x{e9}"),
    *(r"\101", "{", "}", "]", "{,2}", "()", ""),
)
REPEATS = ("*", "+", "?", "*?", "+?", "??", "{2}", "{0}", "{1,}", "{0,2}", "{2,3}?")


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=2, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map("|".join),
        st.tuples(st.sampled_from(("({})", "(?:{})", "(?i:{})", "(?P<n>{})", "^/{}", "{}$", "^/(?:{})$")), inner).map(
            lambda drawn: drawn[0].format(drawn[1])
        ),
        st.tuples(inner, st.sampled_from(REPEATS)).map(lambda drawn: f"(?:{drawn[0]}){drawn[1]}"),
    )


SOURCES = st.recursive(st.sampled_from(PIECES), _larger, max_leaves=7)
LANGUAGES = SOURCES.map(language).filter(is_treatable)
CHARACTERS = "abkKK\u017fsSéÉ1_/.-{}]*Aα~ "
TEXTS = st.text(CHARACTERS, max_size=7).map("/{}".format)
KEYS = TEXTS.filter(is_valid_key)
FEW_KEYS = tuple(
    key for size in range(4) for letters in product("ab1/.", repeat=size) if is_valid_key(key := "/" + "".join(letters))
)


def _matches(of: Language, key: str) -> bool:
    return _pattern(of.text).search(key) is not None


_pattern = cache(compile_pattern)


@given(SOURCES, st.lists(TEXTS, min_size=1, max_size=8))
def test_an_automaton_finds_what_the_matcher_finds(source, texts):
    """Of any expression and any text, automaton and matcher say the same."""
    found = language(source)
    assume(is_treatable(found))
    assert [found.finds(text) for text in texts] == [_matches(found, text) for text in texts]


@given(st.text(st.sampled_from(r"ab/^$.*+?{}[]()|\dQEpLx1,-:<>P!i" + "é\n"), max_size=12))
def test_what_the_matcher_accepts_is_read_alike_or_not_at_all(source):
    """A text is a tree that means what the matcher means, is unsupported, or is not an expression; nothing else happens."""
    found = language(source)
    try:
        pattern = compile_pattern(source)
    except PatternError:
        return
    if is_treatable(found):
        assert [found.finds(key) for key in FEW_KEYS] == [pattern.search(key) is not None for key in FEW_KEYS]


@given(st.text())
def test_parsing_any_text_ends_in_a_tree_or_in_a_mistake(text):
    """No text makes the parser fail in another way."""
    with suppress(PatternError):
        parse(text)


@given(LANGUAGES)
def test_a_shortest_key_is_real_and_matched(found):
    """The example of an expression is a real key that the matcher finds, and no shorter key is."""
    match shortest_key(found):
        case Example(key):
            assert is_valid_key(key)
            assert _matches(found, key)
            assert not any(_matches(found, each) for each in FEW_KEYS if len(each) < len(key.encode()))
        case answer:
            assert answer == NoKey()
            assert not any(_matches(found, each) for each in FEW_KEYS)


@given(LANGUAGES, LANGUAGES, st.lists(KEYS, max_size=8))
def test_an_overlap_is_a_key_of_both(one, other, keys):
    """The key of an overlap belongs to both; where there is none, no key does."""
    match overlap(one, other):
        case Example(key):
            assert is_valid_key(key)
            assert _matches(one, key)
            assert _matches(other, key)
        case answer:
            assert answer == NoKey()
            assert not any(_matches(one, each) and _matches(other, each) for each in (*keys, *FEW_KEYS))


@given(LANGUAGES, LANGUAGES, st.lists(KEYS, max_size=8))
def test_a_difference_is_a_key_of_the_one_alone(one, other, keys):
    """The key of a difference belongs to the one only; where there is none, all keys of the one are the other's."""
    match difference(one, other):
        case Example(key):
            assert is_valid_key(key)
            assert _matches(one, key)
            assert not _matches(other, key)
        case answer:
            assert answer == NoKey()
            assert all(_matches(other, each) for each in (*keys, *FEW_KEYS) if _matches(one, each))


@given(st.lists(LANGUAGES, max_size=4), LANGUAGES, st.lists(KEYS, max_size=8))
def test_a_covered_source_is_never_reached(earlier, later, keys):
    """No key escapes those that are said to cover a source, and the key of one that is free escapes all."""
    match covered(earlier, later):
        case Example(key):
            assert is_valid_key(key)
            assert _matches(later, key)
            assert not any(_matches(each, key) for each in earlier)
        case Covered(by):
            mine = [key for key in (*keys, *FEW_KEYS) if _matches(later, key)]
            assert all(any(_matches(earlier[index], key) for index in by) for key in mine)
        case answer:
            assert answer == NoKey()
            assert not any(_matches(later, key) for key in FEW_KEYS)


@given(st.lists(LANGUAGES, max_size=6))
def test_a_list_is_judged_as_its_members_are(languages):
    """The reachability of a list says of each member what its own question would, whichever key shows it."""
    first = FirstMatch([compile_pattern(each.text) for each in languages])
    found = reachability(languages, lambda key: match[0] if (match := first.find(key)) else None)
    alone = [covered(languages[:index], each) for index, each in enumerate(languages)]
    assert [type(each) for each in found] == [type(each) for each in alone]
    assert all(first.find(each.key)[0] == index for index, each in enumerate(found) if isinstance(each, Example))


@given(st.lists(LANGUAGES, max_size=5))
def test_pairs_are_those_that_overlap(languages):
    """The pairs of a list are exactly those of which a key can be found, and their keys belong to both."""
    found = {
        (one, other): key for one, other, key in overlaps(languages, lambda index, key: _matches(languages[index], key))
    }
    every = [(one, other) for other in range(len(languages)) for one in range(other)]
    assert [*found] == [
        (one, other) for one, other in every if isinstance(overlap(languages[one], languages[other]), Example)
    ]
    assert all(_matches(languages[index], key) for pair, key in found.items() for index in pair)


@given(LANGUAGES, KEYS)
def test_an_opening_and_a_closing_are_those_of_every_key(found, key):
    """What a source's keys are said to begin and end with, they do."""
    assume(_matches(found, key))
    assert fold_case(key).startswith(literal_prefix(found))
    assert fold_case(key).endswith(literal_suffix(found))


@given(LANGUAGES, TEXTS)
def test_progress_is_whole_where_the_source_matches(found, key):
    """Nothing fails where the matcher finds the source, and something does where it does not."""
    progress = longest_matching_part(found, key)
    assert (progress.failing is None) == _matches(found, key)


@given(st.lists(st.sampled_from(PIECES).filter(lambda piece: "(?" not in piece), max_size=5), TEXTS)
def test_the_longest_part_matches_and_the_next_does_not(pieces, key):
    """A source cut after its longest matching part is found in the key; cut one part later, it is not."""
    source = "".join(pieces)
    found = language(source)
    progress = longest_matching_part(found, key)
    assert _matches(language(source[: progress.part.end]), key)
    if progress.failing:
        assert not _matches(language(source[: progress.failing.end]), key)
