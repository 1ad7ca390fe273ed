import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.lint.automata.real_keys import ENDS, FOLLOWING, LONGEST, NOWHERE, REFUSED, START, role
from tornado_proxy.rules.expressions.ranges import contains
from tornado_proxy.rules.keys import objection


def _is_real(text):
    """Whether a text is a real key by this module's tables."""
    place = START
    for character in text:
        if contains(REFUSED, ord(character)) or place == NOWHERE:
            return False
        place = FOLLOWING[place][role(character)]
    return place in ENDS


@given(st.text("/.ab\x85\n\x7f\ud800é", max_size=8))
def test_real_keys_are_those_without_objection(text):
    """The tables let through exactly what the daemon lets through, where it begins with a slash."""
    assert _is_real(text) == (text.startswith("/") and objection(text) is None)


@pytest.mark.parametrize(("text", "real"), [("/" + "a" * (LONGEST - 1), True), ("/" + "a" * LONGEST, False)])
def test_the_longest_key_is_that_of_the_daemon(text, real):
    """A key of the greatest length is one, and a longer one is none."""
    assert (objection(text) is None) is real
