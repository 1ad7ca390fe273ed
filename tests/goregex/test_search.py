import pytest

from tornado_proxy.goregex.alphabet import Budget, Exhausted, OnlyOverlong
from tornado_proxy.goregex.language import language
from tornado_proxy.goregex.search import Product, shortest


def _product(inside, outside=()):
    return Product([language(text).automaton for text in inside], [language(text).automaton for text in outside])


def _reached(product, key):
    """The states that a key leads to, its characters shown by their symbols; false where it leads nowhere."""
    states = {*product.initial_states()}
    for character in key:
        states = {
            (spot, excluded)
            for state in states
            for spot, excluded, move in product.successors(*state)
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


def test_word_characters_are_distinguished_only_where_asked():
    """A product without word boundaries has one symbol for all characters that nobody names."""
    assert _product(["/"]).symbols == 3
    assert _product([r"/\b"]).symbols == 4


def _shortest(inside, outside=(), steps=100_000):
    return shortest(
        [language(text).automaton for text in inside], [language(text).automaton for text in outside], Budget(steps)
    )


@pytest.mark.parametrize(
    ("inside", "outside", "key"),
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
def test_the_shortest_key_is_found(inside, outside, key):
    """The first key by length in bytes that all find and none finds that must not."""
    assert _shortest(inside, outside) == key


@pytest.mark.parametrize(
    ("source", "longer"), [("^/.{1000}[^/]{24}$", "^/.{1000}[^/]{25}$"), ("^/é{512}$", "^/é{513}$")]
)
def test_keys_are_no_longer_than_keys_may_be(source, longer):
    """A key may have so many bytes of UTF-8; where only a longer one would do, the question stays open."""
    assert len(_shortest([source]).encode()) == 1025
    with pytest.raises(OnlyOverlong):
        _shortest([longer])


def test_a_proof_counts_keys_of_any_length():
    """What only overlong keys escape is not covered: the rest of the rules may be asked for them."""
    with pytest.raises(OnlyOverlong):
        _shortest([r"^/\x{1F600}*$"], ["^/(?:.{5}){0,50}.{0,6}$"])


def test_the_work_is_bounded():
    """A search that takes more steps than it has ends."""
    with pytest.raises(Exhausted):
        _shortest(["^/.{1000}"], steps=1000)


def test_positions_that_only_hinder_make_no_states():
    """A source subsumes itself though its automaton, made deterministic, has a million states."""
    source = "^/.*[ab].{20}$"
    assert _shortest([source], [source], steps=20_000) is None


def test_a_match_of_many_parts_needs_no_product_of_all_their_sets():
    """What two large automata share is found though neither could be made deterministic."""
    assert _shortest(["a.{30}b", "c.{30}d"], steps=100_000) is not None
