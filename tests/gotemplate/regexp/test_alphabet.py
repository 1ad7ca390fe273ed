import pytest

from gotemplate.regexp.alphabet import (
    ASSERTION_BITS,
    Budget,
    Exhausted,
    is_valid_key,
)
from gotemplate.regexp.syntax import AssertionKind as Kind


def test_a_portion_is_limited():
    """A portion cannot spend more than its own steps of a budget."""
    budget = Budget(10)
    with pytest.raises(Exhausted):
        budget.portion(5).spend(6)
    assert budget.left == 10


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


def test_a_key_is_one_line():
    """The start and the end of a line are those of the text, because a key has no line end."""
    assert (ASSERTION_BITS[Kind.LINE_START], ASSERTION_BITS[Kind.LINE_END]) == (
        ASSERTION_BITS[Kind.TEXT_START],
        ASSERTION_BITS[Kind.TEXT_END],
    )
