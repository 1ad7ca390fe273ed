import pytest

from tornado_proxy.lint.automata.gaps import TRUTHS, gaps
from tornado_proxy.lint.automata.syntax import AssertionKind as Kind


@pytest.mark.parametrize(
    ("text", "holding"),
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
def test_each_gap_holds_what_its_sides_say(text, holding):
    """A gap begins or ends the text, and lies on the edge of a word or does not; words are ASCII."""
    assert [held for held, _ in gaps(text)] == [sum(TRUTHS[kind] for kind in kinds) for kinds in holding]


def test_a_key_is_one_line():
    """A line begins and ends where the text does, since no key holds a line end."""
    assert (TRUTHS[Kind.LINE_START], TRUTHS[Kind.LINE_END]) == (TRUTHS[Kind.TEXT_START], TRUTHS[Kind.TEXT_END])


def test_each_gap_comes_with_the_character_after_it():
    """The last gap has none."""
    assert [character for _, character in gaps("/ab")] == ["/", "a", "b", ""]
