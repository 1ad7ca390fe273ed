import pytest

from gotemplate.regexp.automaton import Budget, OnlyOverlong, language
from gotemplate.regexp.proofs import shortest


def _shortest(required, excluded=(), steps=100_000):
    return shortest(
        [language(text).automaton for text in required], [language(text).automaton for text in excluded], Budget(steps)
    )


@pytest.mark.parametrize(
    ("required", "excluded", "key"),
    [
        (["^/press/.+"], [], "/press/a"),
        (["b", "a"], [], "/ab"),
        (["^/.*a.*", r"\.html$"], [], "/a.html"),
        (["^/[a-c]"], ["a", "b$", "c$"], "/bd"),
        (["^/[a-z]$"], ["^/[a-y]"], "/z"),
        ([r"\p{Greek}|abc"], [], "/\u0370"),
        ([r"[é\x{1F600}]|abc"], ["é"], "/abc"),
        (["^/a", "^/b"], [], None),
        (["^/a/"], ["^/a"], None),
    ],
)
def test_the_shortest_key_is_found(required, excluded, key):
    """The result is the shortest key in bytes that all required automata match and no excluded one matches."""
    assert _shortest(required, excluded) == key


@pytest.mark.parametrize(
    ("source", "longer"), [("^/.{1000}[^/]{24}$", "^/.{1000}[^/]{25}$"), ("^/é{512}$", "^/é{513}$")]
)
def test_a_key_that_is_too_long_is_not_found(source, longer):
    """A key has at most 1,025 bytes of UTF-8; if only longer ones match, `OnlyOverlong` is raised."""
    assert len(_shortest([source]).encode()) == 1025
    with pytest.raises(OnlyOverlong):
        _shortest([longer])


def test_excluded_positions_do_not_multiply_states():
    """A source covers itself in few steps, although its deterministic automaton has a million states."""
    source = "^/.*[ab].{20}$"
    assert _shortest([source], [source], steps=20_000) is None


def test_a_key_of_two_large_automata_is_found():
    assert _shortest(["a.{30}b", "c.{30}d"], steps=100_000) is not None
