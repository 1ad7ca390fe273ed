import pytest

from gotemplate.regexp.alphabet import ASSERTION_BITS, Unsupported
from gotemplate.regexp.automaton import MOST_POSITIONS, Automaton, Fragment, bits
from gotemplate.regexp.parser import parse
from gotemplate.regexp.syntax import AssertionKind


def _tree(text):
    return parse(text).tree


START = ASSERTION_BITS[AssertionKind.TEXT_START]
END = ASSERTION_BITS[AssertionKind.TEXT_END]


def _automaton(text):
    return Automaton(_tree(text))


def test_positions_follow_each_other_as_in_the_text():
    """In `a(b|c)*d`, each of the first three positions may be followed by b, c and d."""
    table = _automaton("a(?:b|c)*d").table(0)
    assert table.follow == [0b1110, 0b1110, 0b1110, 0]
    assert table.whole == Fragment(nullable=False, first=0b0001, last=0b1000)


@pytest.mark.parametrize(
    ("text", "literal_prefix"),
    [
        (r"^/a\.b[c]d", "/a.b"),
        ("^(/a)b+", "/a"),
        ("(?m)^/a", "/a"),
        ("^/(?i)1a", "/"),
        ("^^/a", ""),
        ("/a", ""),
        ("^/a|^/b", ""),
    ],
)
def test_the_literal_prefix_begins_every_key(text, literal_prefix):
    """The literal prefix is the plain text behind an anchor."""
    assert _automaton(text).literal_prefix == literal_prefix


@pytest.mark.parametrize(("text", "may_start_later"), [("^/a", False), ("/a", True), ("$", True), (r"^/|\b", True)])
def test_an_anchored_source_does_not_start_later(text, may_start_later):
    """A match begins only at the start of a key if all branches of the source are anchored."""
    assert _automaton(text).may_start_later is may_start_later


@pytest.mark.parametrize(
    ("text", "positions"),
    [("^/.*$", 0b10), ("^/[^/]*$", 0), ("^/.*a", 0b100), (r"^/.*\b", 0), ("^/.+$", 0b10), ("^/(?:.*)*$", 0b10)],
)
def test_certain_positions_match_with_any_continuation(text, positions):
    """A position that reads everything to the end of the key is certain to match."""
    assert _automaton(text).certain == positions


def test_a_position_behind_an_assertion_needs_the_assertion():
    """In `^a$`, the position of `a` is first only at the start, and matches only at the end."""
    automaton = _automaton("^a$")
    assert [automaton.table(assertions).whole.first for assertions in (0, START, END)] == [0, 1, 0]
    assert [automaton.table(assertions).whole.matches_after(1) for assertions in (0, START, END)] == [
        False,
        False,
        True,
    ]


def test_tables_are_shared_by_equal_assertions():
    """Gaps have one table if they differ only in assertions that the expression does not contain."""
    automaton = _automaton("a$")
    assert automaton.table(START) is automaton.table(0)
    assert automaton.table(START | END) is automaton.table(END)


@pytest.mark.parametrize(
    ("text", "positions"),
    [("a{3}", 3), ("a{2,5}", 5), ("a{2,}", 2), ("a{0}", 0), ("a*", 1), ("(?:a{10}){10}", 100), ("^{1000}", 0)],
)
def test_a_repetition_has_a_position_for_each_copy(text, positions):
    """Counts are written out, and a repeated assertion has no position."""
    assert len(_automaton(text).sets) == positions


@pytest.mark.parametrize("text", [".{1000}.{1000}.{1000}", "a" * (MOST_POSITIONS + 1)])
def test_a_large_automaton_is_unsupported(text):
    """An expression with too many positions raises an exception."""
    with pytest.raises(Unsupported, match="places"):
        _automaton(text)


def test_bits_are_listed_from_the_lowest():
    """The positions in a set of bits are in ascending order."""
    assert [*bits(0b10110)] == [1, 2, 4]
