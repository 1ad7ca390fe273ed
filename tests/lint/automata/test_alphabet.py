import pytest

from tornado_proxy.lint.automata.alphabet import everyday, letters
from tornado_proxy.lint.automata.classes import WORD, listed
from tornado_proxy.rules.expressions.ranges import complement


def test_letters_are_what_the_sets_tell_apart():
    """There is a letter for each combination of sets, and for what stands in none; slash and dot are always apart."""
    found = letters((listed("abc"), listed("cd")), words=False)
    assert {letter.character: letter.sets for letter in found} == {"a": 1, "c": 3, "d": 2, "e": 0, "/": 0, ".": 0}


def test_everyday_characters_stand_for_their_letter():
    """A letter is shown by a small letter, a digit, or whatever else comes first in a key."""
    found = letters((listed("\u03b1\u03b2"), listed("~#")), words=False)
    assert [letter.character for letter in found] == ["a", "/", ".", "~", "\u03b1"]


def test_letters_know_their_size_in_bytes():
    """What counts against the longest key is UTF-8."""
    found = letters((listed("é"), listed("\U0001f600")), words=False)
    assert {letter.character: letter.size for letter in found if letter.sets} == {"é": 2, "\U0001f600": 4}


def test_characters_that_no_key_holds_are_in_no_letter():
    """A set of control characters and surrogates has none."""
    assert all(not letter.sets for letter in letters((((0, 0x1F), (0x80, 0x9F), (0xD800, 0xDFFF)),), words=False))


def test_word_characters_are_apart_where_that_matters():
    """Letters are on one side of a word's edge each."""
    assert len({letter.side for letter in letters((), words=True)}) == 2
    assert len({letter.side for letter in letters((), words=False)}) == 1


@pytest.mark.parametrize(
    ("ranges", "character"),
    [((), None), (listed("Zz9"), "z"), (complement(WORD), "-"), (listed("\u4e00\u4e01"), "\u4e00")],
)
def test_the_everyday_character_of_a_set_is_the_first_that_comes_to_mind(ranges, character):
    """An empty set has none, an exotic one its first."""
    assert everyday(ranges) == character
