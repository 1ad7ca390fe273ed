from itertools import pairwise

import pytest

from gotemplate.regexp.alphabet import (
    ASSERTION_BITS,
    EDGE,
    GAP_ASSERTIONS,
    Budget,
    Exhausted,
    allowed_cases,
    allowed_characters,
    is_valid_key,
    most_readable,
    side,
    symbols,
)
from gotemplate.regexp.classes import WORD, complement, difference, listed, union
from gotemplate.regexp.parser import parse
from gotemplate.regexp.syntax import AssertionKind as Kind


def test_a_budget_is_spent_to_the_last_step():
    """All steps of a budget may be spent, and the next step raises an exception."""
    budget = Budget(3)
    budget.spend(2)
    assert budget.left == 1
    budget.spend(1)
    with pytest.raises(Exhausted, match="too long"):
        budget.spend(1)


def test_a_portion_spends_the_steps_of_its_budget():
    """The steps of a portion are also spent from its budget."""
    budget = Budget(10)
    budget.portion(5).spend(4)
    assert budget.left == 6


def test_a_portion_is_limited():
    """A portion cannot spend more than its own steps of a budget."""
    budget = Budget(10)
    with pytest.raises(Exhausted):
        budget.portion(5).spend(6)
    assert budget.left == 10


def test_a_portion_is_no_larger_than_its_budget():
    """A portion of a budget that is nearly spent has the steps that are left."""
    portion = Budget(3).portion(5)
    assert portion.left == 3
    with pytest.raises(Exhausted):
        portion.spend(4)


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("/", True),
        ("/a/.b/...", True),
        ("", False),
        ("a", False),
        ("/a/./b", False),
        ("/..", False),
        ("/a\n", False),
        ("/\ud800", False),
        ("/" + "é" * 512, True),
        ("/" + "é" * 512 + "a", False),
    ],
)
def test_a_valid_key_is_one_that_rules_accept(text, valid):
    """A key starts with a slash and has no dot segments, no invisible characters and at most 1,025 bytes."""
    assert is_valid_key(text) is valid


@pytest.mark.parametrize(
    ("text", "assertions"),
    [
        ("", [{Kind.TEXT_START, Kind.TEXT_END, Kind.NO_WORD_BOUNDARY}]),
        ("a", [{Kind.TEXT_START, Kind.WORD_BOUNDARY}, {Kind.TEXT_END, Kind.WORD_BOUNDARY}]),
        (
            "/a_é",
            [
                {Kind.TEXT_START, Kind.NO_WORD_BOUNDARY},
                {Kind.WORD_BOUNDARY},
                {Kind.NO_WORD_BOUNDARY},
                {Kind.WORD_BOUNDARY},
                {Kind.TEXT_END, Kind.NO_WORD_BOUNDARY},
            ],
        ),
    ],
)
def test_a_gap_has_the_assertions_of_its_sides(text, assertions):
    """A gap may begin or end the text, and is or is not the boundary of a word of ASCII characters."""
    sides = pairwise([EDGE, *map(side, text), EDGE])
    assert [GAP_ASSERTIONS[before][after] for before, after in sides] == [
        sum(ASSERTION_BITS[kind] for kind in kinds) for kinds in assertions
    ]


def test_a_key_is_one_line():
    """The start and the end of a line are those of the text, because a key has no line end."""
    assert (ASSERTION_BITS[Kind.LINE_START], ASSERTION_BITS[Kind.LINE_END]) == (
        ASSERTION_BITS[Kind.TEXT_START],
        ASSERTION_BITS[Kind.TEXT_END],
    )


def test_symbols_are_the_combinations_of_sets():
    """Each combination of sets has a symbol, as have the slash, the dot and the characters in no set."""
    key_symbols = symbols((listed("abc"), listed("cd")), words=False)
    assert {symbol.character: symbol.readers for symbol in key_symbols} == {
        "a": 1,
        "c": 3,
        "d": 2,
        "e": 0,
        "/": 0,
        ".": 0,
    }


def test_a_symbol_is_shown_by_a_readable_character():
    """The character of a symbol is a lower-case letter, a digit, or else the most readable one."""
    key_symbols = symbols((listed("\u03b1\u03b2"), listed("~#")), words=False)
    assert [symbol.character for symbol in key_symbols] == ["a", "/", ".", "~", "\u03b1"]


def test_a_symbol_has_a_size_in_bytes():
    """The size of a symbol is that of its character in UTF-8, which counts against the longest key."""
    key_symbols = symbols((listed("é"), listed("\U0001f600")), words=False)
    assert {symbol.character: symbol.size for symbol in key_symbols if symbol.readers} == {"é": 2, "\U0001f600": 4}


def test_characters_of_no_key_have_no_symbol():
    """A set of control characters and surrogates has no symbol."""
    assert all(not symbol.readers for symbol in symbols((((0, 0x1F), (0x80, 0x9F), (0xD800, 0xDFFF)),), words=False))


def test_word_characters_have_their_own_symbols():
    """With words, letters and other characters have different sides of a word boundary; without words, all have one."""
    assert len({symbol.side for symbol in symbols((), words=True)}) == 2
    assert len({symbol.side for symbol in symbols((), words=False)}) == 1


@pytest.mark.parametrize(
    ("ranges", "character"),
    [((), None), (listed("Zz9"), "z"), (complement(WORD), "-"), (listed("\u4e00\u4e01"), "\u4e00")],
)
def test_the_most_readable_character_of_a_set_is_chosen(ranges, character):
    """An empty set has no such character, and a set of rare characters has its first."""
    assert most_readable(ranges) == character


def test_characters_that_no_key_may_have_are_left_out():
    """Control characters and surrogates are in no set of an automaton."""
    assert allowed_characters(parse("[^a]").tree) == difference(
        complement(((0x61, 0x61),)), union(((0, 0x1F), (0x7F, 0x9F), (0xD800, 0xDFFF)))
    )
    assert allowed_cases("\n", folded=False) == ()
