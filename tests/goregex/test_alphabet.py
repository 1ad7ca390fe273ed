import pytest

from tornado_proxy.goregex.alphabet import (
    ASSERTION_BITS,
    Budget,
    Exhausted,
    OnlyOverlong,
    Unproved,
    Unsupported,
    allowed_cases,
    allowed_characters,
    gaps,
    is_valid_key,
    most_readable,
    symbols,
)
from tornado_proxy.goregex.classes import WORD, complement, difference, listed, union
from tornado_proxy.goregex.parser import parse
from tornado_proxy.goregex.syntax import AssertionKind as Kind


@pytest.mark.parametrize("reason", [Unsupported("`{0}` is not a count"), Exhausted(), OnlyOverlong()])
def test_whatever_keeps_a_question_open_says_why(reason):
    """Each is one kind of open question, with a reason that can be shown."""
    assert isinstance(reason, Unproved)
    assert str(reason)


def test_a_budget_is_spent_to_the_last_step():
    """All steps may be spent, and not one more."""
    budget = Budget(3)
    budget.spend(2)
    assert budget.left == 1
    budget.spend(1)
    with pytest.raises(Exhausted, match="too long"):
        budget.spend(1)


def test_a_portion_spends_from_the_whole():
    """What one question spends is gone for the others."""
    whole = Budget(10)
    whole.portion(5).spend(4)
    assert whole.left == 6


def test_a_portion_ends_before_the_whole_does():
    """One question cannot spend what is meant for all."""
    whole = Budget(10)
    with pytest.raises(Exhausted):
        whole.portion(5).spend(6)
    assert whole.left == 10


def test_a_portion_is_never_more_than_the_whole_has():
    """A portion of a budget that is nearly spent has what is left of it."""
    portion = Budget(3).portion(5)
    assert portion.left == 3
    with pytest.raises(Exhausted):
        portion.spend(4)


@pytest.mark.parametrize(
    ("text", "real"),
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
def test_a_real_key_is_what_rules_let_through(text, real):
    """It starts with a slash, has no dot segments and nothing that cannot be shown, and at most 1,025 bytes."""
    assert is_valid_key(text) is real


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
def test_each_gap_holds_what_its_sides_say(text, assertions):
    """A gap begins or ends the text, and lies on the edge of a word or does not; words are ASCII."""
    assert [held for held, _ in gaps(text)] == [sum(ASSERTION_BITS[kind] for kind in kinds) for kinds in assertions]


def test_a_key_is_one_line():
    """A line begins and ends where the text does, since no key holds a line end."""
    assert (ASSERTION_BITS[Kind.LINE_START], ASSERTION_BITS[Kind.LINE_END]) == (
        ASSERTION_BITS[Kind.TEXT_START],
        ASSERTION_BITS[Kind.TEXT_END],
    )


def test_each_gap_comes_with_the_character_after_it():
    """The last gap has none."""
    assert [character for _, character in gaps("/ab")] == ["/", "a", "b", ""]


def test_letters_are_what_the_sets_tell_apart():
    """There is a symbol for each combination of sets, and for what stands in none; slash and dot are always split."""
    found = symbols((listed("abc"), listed("cd")), words=False)
    assert {symbol.character: symbol.sets for symbol in found} == {"a": 1, "c": 3, "d": 2, "e": 0, "/": 0, ".": 0}


def test_everyday_characters_stand_for_their_letter():
    """A symbol is shown by a small symbol, a digit, or whatever else comes first in a key."""
    found = symbols((listed("\u03b1\u03b2"), listed("~#")), words=False)
    assert [symbol.character for symbol in found] == ["a", "/", ".", "~", "\u03b1"]


def test_letters_know_their_size_in_bytes():
    """What counts against the longest key is UTF-8."""
    found = symbols((listed("é"), listed("\U0001f600")), words=False)
    assert {symbol.character: symbol.size for symbol in found if symbol.sets} == {"é": 2, "\U0001f600": 4}


def test_characters_that_no_key_holds_are_in_no_letter():
    """A set of control characters and surrogates has none."""
    assert all(not symbol.sets for symbol in symbols((((0, 0x1F), (0x80, 0x9F), (0xD800, 0xDFFF)),), words=False))


def test_word_characters_are_apart_where_that_matters():
    """Letters are on one side of a word's edge each."""
    assert len({symbol.side for symbol in symbols((), words=True)}) == 2
    assert len({symbol.side for symbol in symbols((), words=False)}) == 1


@pytest.mark.parametrize(
    ("ranges", "character"),
    [((), None), (listed("Zz9"), "z"), (complement(WORD), "-"), (listed("\u4e00\u4e01"), "\u4e00")],
)
def test_the_everyday_character_of_a_set_is_the_first_that_comes_to_mind(ranges, character):
    """An nullable set has none, an exotic one its first."""
    assert most_readable(ranges) == character


def test_what_a_key_cannot_hold_is_left_out():
    """No position of an automaton reads a control character or a surrogate."""
    assert allowed_characters(parse("[^a]").tree) == difference(
        complement(((0x61, 0x61),)), union(((0, 0x1F), (0x7F, 0x9F), (0xD800, 0xDFFF)))
    )
    assert allowed_cases("\n", folded=False) == ()
