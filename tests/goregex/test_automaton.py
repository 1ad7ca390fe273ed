import pytest

from tornado_proxy.goregex.alphabet import ASSERTION_BITS, Unsupported
from tornado_proxy.goregex.automaton import MOST_POSITIONS, Automaton, Prefix, atoms, bits
from tornado_proxy.goregex.parser import parse
from tornado_proxy.goregex.syntax import AssertionKind


def _tree(text):
    return parse(text).tree


START = ASSERTION_BITS[AssertionKind.TEXT_START]
END = ASSERTION_BITS[AssertionKind.TEXT_END]


def _automaton(text):
    return Automaton(tuple(atoms(_tree(text))))


def _ends(text):
    """Where the atoms of an expression end, as the leading parts of its text."""
    return [text[: atom.end] for atom in atoms(_tree(text))]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", [""]),
        ("ab", ["ab"]),
        (r"ab\.c", ["ab", r"ab\.", r"ab\.c"]),
        ("^a(?P<n>b)$", ["^", "^a", "^a(?P<n>b)", "^a(?P<n>b)$"]),
        ("((a)(b))c", ["((a)", "((a)(b))", "((a)(b))c"]),
        ("a(b|c)d*", ["a", "a(b|c)", "a(b|c)d*"]),
        ("a()", ["a", "a()"]),
    ],
)
def test_atoms_are_the_parts_of_the_outermost_sequence(text, parts):
    """Groups are initial_states, alternations and repetitions are not; an atom ends where a group ends that ends with it."""
    assert _ends(text) == parts


def test_positions_follow_each_other_as_in_the_text():
    """In `a(b|c)*d` any of the first three may be followed by b, c and d."""
    table = _automaton("a(?:b|c)*d").table(0)
    assert table.first == 0b0001
    assert table.follow == [0b1110, 0b1110, 0b1110, 0]
    assert table.prefixes == (Prefix(True, 0), Prefix(False, 0b0001), Prefix(False, 0b0111), Prefix(False, 0b1000))


def test_atoms_can_be_taken_apart_into_characters():
    """A text has an atom for each of its characters, which ends where the character does, or its group."""
    assert [each.end for atom in atoms(_tree("(ab)c*")) for each in atom.split()] == [2, 4, 6]


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
def test_an_opening_is_the_text_that_every_key_begins_with(text, literal_prefix):
    """What stands plainly behind an anchor is read by the first positions."""
    assert _automaton(text).literal_prefix == literal_prefix


@pytest.mark.parametrize(
    ("text", "read", "held", "complete"),
    [
        ("^/ab", "/a", 0b010, False),
        ("^/a[bc]", "/ac", 0b100, True),
        ("^/a[bc]d", "/ac", 0b100, False),
        ("^/a.*$", "/ab", 0b100, True),
        ("^/a(?:b|c)*$", "/ab", 0b0100, False),
        ("^/a", "/ab", 0b10, True),
        ("^/a", "/a", 0b10, True),
        ("^/a$", "/a", 0b10, False),
        ("^/a", "", 0, False),
    ],
)
def test_reading_shows_what_is_held_and_what_is_complete(text, read, held, complete):
    """A match is complete where nothing that follows can undo it."""
    assert _automaton(text).read(read) == (held, complete)


@pytest.mark.parametrize(("text", "may_start_later"), [("^/a", False), ("/a", True), ("$", True), (r"^/|\b", True)])
def test_what_is_anchored_does_not_begin_later(text, may_start_later):
    """Only a source that is anchored in all its branches can begin nowhere but at the start."""
    assert _automaton(text).may_start_later is may_start_later


@pytest.mark.parametrize(
    ("text", "positions"),
    [("^/.*$", 0b10), ("^/[^/]*$", 0), ("^/.*a", 0b100), (r"^/.*\b", 0), ("^/.+$", 0b10), ("^/(?:.*)*$", 0b10)],
)
def test_certain_positions_are_those_whatever_follows(text, positions):
    """What reads everything to the end of the key is as good as what needs no end."""
    assert _automaton(text).certain == positions


def test_an_assertion_is_passed_only_where_it_holds():
    """What stands after `^` can be first only at the beginning."""
    found = _automaton("^a$")
    assert [found.table(assertions).first for assertions in (0, START, END)] == [0, 1, 0]
    assert [found.table(assertions).prefixes[-1].matches_after(1) for assertions in (0, START, END)] == [
        False,
        False,
        True,
    ]


def test_tables_differ_only_in_what_the_expression_looks_at():
    """A gap's other assertions make no other table."""
    found = _automaton("a$")
    assert found.table(START) is found.table(0)
    assert found.table(START | END) is found.table(END)


@pytest.mark.parametrize(
    ("text", "positions"),
    [("a{3}", 3), ("a{2,5}", 5), ("a{2,}", 2), ("a{0}", 0), ("a*", 1), ("(?:a{10}){10}", 100), ("^{1000}", 0)],
)
def test_a_repetition_has_a_position_for_each_copy(text, positions):
    """Counts are written out; what reads nothing is not repetition."""
    assert len(_automaton(text).sets) == positions


@pytest.mark.parametrize("text", [".{1000}.{1000}.{1000}", "a" * (MOST_POSITIONS + 1)])
def test_what_is_too_large_is_unsupported(text):
    """An automaton has bounded size."""
    with pytest.raises(Unsupported, match="places"):
        _automaton(text)


def test_readers_of_a_character_are_the_positions_whose_set_has_it():
    """Each position reads its own set."""
    assert _automaton("a[ab][^a]").positions_reading("a") == 0b011


def test_bits_are_positions():
    """A set of positions lists them from the lowest."""
    assert [*bits(0b10110)] == [1, 2, 4]
