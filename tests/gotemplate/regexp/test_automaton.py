import re

import pytest
from proving import finds, is_treatable
from recorded import vectors

from gotemplate.regexp.alphabet import ASSERTION_BITS, Unsupported
from gotemplate.regexp.automaton import MOST_POSITIONS, Automaton, Fragment, bits, guess, language
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


VECTORS = [vector for vector in vectors("regexp") if "match" in vector]
NO_KEY = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def test_languages_match_as_go_does():
    """Automata give the recorded answers of Go for all texts of characters that a key may have."""
    searched = [vector for vector in VECTORS if not NO_KEY.search(vector.get("text", "\0"))]
    languages = [(language(vector["pattern"]), vector) for vector in searched]
    assert len(searched) > 1000
    assert sum(not is_treatable(source) for source, _ in languages) <= 1
    assert [
        vector
        for source, vector in languages
        if is_treatable(source) and finds(source, vector["text"]) != vector["match"]
    ] == []


def test_an_unsupported_expression_is_not_treatable():
    """The language of an unsupported expression has neither a tree nor a guess, and its error has the reason."""
    source = language("(?=a)")
    assert (source.tree, is_treatable(source), source.guess) == (None, False, None)
    with pytest.raises(Unsupported, match="look-ahead"):
        source.automaton  # noqa: B018 - the property raises


def test_a_large_expression_is_not_treatable_but_has_a_tree():
    """The language of an expression whose automaton would be too large still has a tree."""
    source = language(".{1000}.{1000}.{1000}")
    assert source.tree
    assert not is_treatable(source)


@pytest.mark.parametrize(("depth", "has_tree"), [(60, True), (61, False)])
def test_a_deep_expression_is_not_treatable(depth, has_tree):
    """The depth of nested groups is limited, because proofs recurse over the tree; groups in a row are not limited."""
    source = language("(" * depth + ")" * depth)
    assert ((source.tree is not None), is_treatable(source)) == (has_tree, has_tree)
    assert is_treatable(language("()" * 61))


def test_languages_are_compared_by_their_text():
    """Languages with the same text are equal, and their representation shows the text only."""
    assert language("a") == language("a")
    assert repr(language("a")) == "Language(text='a')"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (r"^/press/(?P<page>[^/]+)\.html$", "/press/a.html"),
        (r"\.html$", "/.html"),
        ("", "/"),
        (r"^/\d{4}/(?i:IMG|pic)_?", "/0000/img"),
        ("(?:[^\x00-\U0010ffff]|b)c", "/bc"),
        (r"/\pL/.", "/a/a"),
        (r"/\p{Greek}", "/\u0370"),
        (r"[[:punct:]]", "/-"),
        (r"/\W\S\w", "/-aa"),
        ("a{0}b", "/b"),
        (r"(?s)\Ax\z", "/x"),
    ],
)
def test_a_guess_is_short_and_readable(text, key):
    """A guess has the fewest repetitions, the first branches and the most readable characters."""
    assert guess(_tree(text)) == key


@pytest.mark.parametrize(
    "text", [r"/\.", r"/a/\.\./b", r"\n", r"a\nb", r"[\x00-\x1f]+", r"(?:\n|\t)", "/" + "a{1000}" * 2]
)
def test_an_invalid_key_is_not_guessed(text):
    """There is no guess if the guessed text is not a valid key."""
    assert guess(_tree(text)) is None
