import pytest

from tornado_proxy.lint.automata.language import language
from tornado_proxy.lint.automata.product import Product


def _product(inside, outside=()):
    return Product([language(text).automaton for text in inside], [language(text).automaton for text in outside])


def _reached(product, key):
    """The states that a key leads to, its characters shown by their letters; false where it leads nowhere."""
    states = {*product.opened()}
    for character in key:
        states = {
            (spot, avoiding)
            for state in states
            for spot, avoiding, move in product.successors(*state)
            if move.character == character
        }
    return states


def _accepts(product, key):
    return any(product.accepts(*state) for state in _reached(product, key))


@pytest.mark.parametrize(("key", "accepted"), [("/", False), ("/a", True), ("/b", False), ("/ab", True), ("a", False)])
def test_a_product_accepts_what_all_find(key, accepted):
    """One automaton alone accepts its keys, and only real ones."""
    assert _accepts(_product(["^/a"]), key) is accepted


@pytest.mark.parametrize(("key", "accepted"), [("/a", False), ("/ab", True), ("/abc", False), ("/ba", True)])
def test_a_product_accepts_what_none_finds_that_must_not(key, accepted):
    """With two that have to match and one that must not, all three count."""
    assert _accepts(_product(["a", "b"], ["c"]), key) is accepted


@pytest.mark.parametrize(("inside", "outside"), [("^/b", ()), ("^/a$", ()), ("", ("^/a",))])
def test_a_state_without_hope_is_never_reached(inside, outside):
    """A key that can no longer match as it has to, whatever follows, leads nowhere."""
    assert not _reached(_product([inside], outside), "/aa")


def test_one_way_to_match_is_enough():
    """Of an automaton that has to match, each state holds one position; of one that must not, all of them."""
    assert len(_reached(_product(["/.*a.*b"]), "/aa")) > 1
    assert len(_reached(_product([""], ["/.*a.*b"]), "/aa")) == 1


def test_word_characters_are_told_apart_only_where_asked():
    """A product without word boundaries has one letter for all characters that nobody names."""
    assert _product(["/"]).letters == 3
    assert _product([r"/\b"]).letters == 4
