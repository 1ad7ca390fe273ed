from contextlib import suppress
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from proving import covered, finds, is_treatable, pattern_of

from gotemplate.limits import STEPS_PER_LIST
from gotemplate.regexp.automaton import Budget, Language, is_valid_key, language
from gotemplate.regexp.matching import FirstMatch, compile_pattern, longest_matching_part
from gotemplate.regexp.parser import parse
from gotemplate.regexp.proofs import (
    Covered,
    Example,
    NoKey,
    difference,
    fold_case,
    folded_edge,
    overlap,
    overlaps,
    reachability,
    shortest_key,
)
from gotemplate.regexp.syntax import ENDS, STARTS, PatternError

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


def _matches(source: Language, key: str) -> bool:
    return pattern_of(source.text).search(key) is not None


@given(SOURCES, st.lists(TEXTS, min_size=1, max_size=8))
def test_automata_and_matchers_agree(text, keys):
    source = language(text)
    assume(is_treatable(source))
    assert [finds(source, key) for key in keys] == [_matches(source, key) for key in keys]


@given(st.text(st.sampled_from(r"ab/^$.*+?{}[]()|\dQEpLx1,-:<>P!i" + "é\n"), max_size=12))
def test_any_text_is_treatable_unsupported_or_invalid(text):
    source = language(text)
    try:
        pattern = compile_pattern(text)
    except PatternError:
        return
    if is_treatable(source):
        assert [finds(source, key) for key in FEW_KEYS] == [pattern.search(key) is not None for key in FEW_KEYS]


@given(st.text())
def test_parsing_any_text_ends_in_a_tree_or_in_a_mistake(text):
    with suppress(PatternError):
        parse(text)


@given(LANGUAGES)
def test_the_shortest_key_is_valid_and_matched(source):
    """The example of a source is a valid key that the matcher finds, and no shorter key is."""
    match shortest_key(source):
        case Example(key):
            assert is_valid_key(key)
            assert _matches(source, key)
            assert not any(_matches(source, other) for other in FEW_KEYS if len(other) < len(key.encode()))
        case answer:
            assert answer == NoKey()
            assert not any(_matches(source, other) for other in FEW_KEYS)


@pytest.mark.parametrize(("find", "is_in_other"), [(overlap, True), (difference, False)])
@given(LANGUAGES, LANGUAGES, st.lists(KEYS, max_size=8))
def test_a_key_is_found_of_both_sources_or_of_the_first_only(find, is_in_other, one, other, keys):
    """That of an overlap belongs to both, that of a difference to the first only; where none is found, there is none."""
    match find(one, other):
        case Example(key):
            assert is_valid_key(key)
            assert (_matches(one, key), _matches(other, key)) == (True, is_in_other)
        case answer:
            assert answer == NoKey()
            assert not any(_matches(one, key) and _matches(other, key) == is_in_other for key in (*keys, *FEW_KEYS))


@given(st.lists(LANGUAGES, max_size=4), LANGUAGES, st.lists(KEYS, max_size=8))
def test_a_covered_source_is_never_reached(earlier, later, keys):
    """The sources of a cover match every key of the covered one, and no earlier source matches an example."""
    match covered(earlier, later):
        case Example(key):
            assert is_valid_key(key)
            assert _matches(later, key)
            assert not any(_matches(source, key) for source in earlier)
        case Covered(by):
            matched = [key for key in (*keys, *FEW_KEYS) if _matches(later, key)]
            assert all(any(_matches(earlier[index], key) for index in by) for key in matched)
        case answer:
            assert answer == NoKey()
            assert not any(_matches(later, key) for key in FEW_KEYS)


@given(st.lists(LANGUAGES, max_size=6))
def test_a_list_has_the_reachability_of_its_members(languages):
    """Each source of a list has the same kind of answer as on its own, whatever its key."""
    matcher = FirstMatch([compile_pattern(source.text) for source in languages])
    answers = reachability(
        languages, lambda key: match[0] if (match := matcher.find(key)) else None, Budget(STEPS_PER_LIST)
    )
    alone = [covered(languages[:index], source) for index, source in enumerate(languages)]
    assert [type(answer) for answer in answers] == [type(answer) for answer in alone]
    assert all(
        matcher.find(answer.key)[0] == index for index, answer in enumerate(answers) if isinstance(answer, Example)
    )


@given(st.lists(LANGUAGES, max_size=5))
def test_pairs_of_a_list_are_those_that_overlap(languages):
    pairs = {
        (one, other): key
        for one, other, key in overlaps(
            languages, lambda index, key: _matches(languages[index], key), Budget(STEPS_PER_LIST)
        )
    }
    all_pairs = [(one, other) for other in range(len(languages)) for one in range(other)]
    assert [*pairs] == [
        (one, other) for one, other in all_pairs if isinstance(overlap(languages[one], languages[other]), Example)
    ]
    assert all(_matches(languages[index], key) for pair, key in pairs.items() for index in pair)


@given(LANGUAGES, KEYS)
def test_every_key_has_the_literal_prefix_and_suffix(source, key):
    assume(_matches(source, key))
    assert fold_case(key).startswith(folded_edge(source, STARTS))
    assert fold_case(key).endswith(folded_edge(source, ENDS))


@given(LANGUAGES, TEXTS)
def test_progress_has_no_failing_part_if_the_source_matches(source, key):
    progress = longest_matching_part(source.text, key)
    assert (progress.failing is None) == _matches(source, key)


@given(st.lists(st.sampled_from(PIECES).filter(lambda piece: "(?" not in piece), max_size=5), TEXTS)
def test_the_longest_part_matches_and_a_longer_one_does_not(pieces, key):
    text = "".join(pieces)
    source = language(text)
    progress = longest_matching_part(source.text, key)
    assert _matches(language(text[: progress.part.end]), key)
    if progress.failing:
        assert not _matches(language(text[: progress.failing.end]), key)
