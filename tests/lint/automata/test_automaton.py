import pytest

from tornado_proxy.lint.automata.automaton import LARGEST, Stage, atoms, automaton, bits
from tornado_proxy.lint.automata.errors import Unsupported
from tornado_proxy.lint.automata.gaps import TRUTHS
from tornado_proxy.lint.automata.parser import parse
from tornado_proxy.lint.automata.syntax import AssertionKind

START = TRUTHS[AssertionKind.TEXT_START]
END = TRUTHS[AssertionKind.TEXT_END]


def _ends(text):
    """Where the atoms of an expression end, as the leading parts of its text."""
    return [text[: atom.end] for atom in atoms(parse(text))]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", [""]),
        ("ab", ["a", "ab"]),
        ("^a(?P<n>b)$", ["^", "^a", "^a(?P<n>b)", "^a(?P<n>b)$"]),
        ("((a)(b))c", ["((a)", "((a)(b))", "((a)(b))c"]),
        ("a(b|c)d*", ["a", "a(b|c)", "a(b|c)d*"]),
        ("a()", ["a", "a()"]),
    ],
)
def test_atoms_are_the_parts_of_the_outermost_sequence(text, parts):
    """Groups are opened, alternations and repetitions are not; an atom ends where a group ends that ends with it."""
    assert _ends(text) == parts


def test_positions_follow_each_other_as_in_the_text():
    """In `a(b|c)*d` any of the first three may be followed by b, c and d."""
    table = automaton(parse("a(?:b|c)*d")).table(0)
    assert table.first == 0b0001
    assert table.follow == [0b1110, 0b1110, 0b1110, 0]
    assert table.stages == (Stage(True, 0), Stage(False, 0b0001), Stage(False, 0b0111), Stage(False, 0b1000))


def test_an_assertion_is_passed_only_where_it_holds():
    """What stands after `^` can be first only at the beginning."""
    found = automaton(parse("^a$"))
    assert [found.table(holding).first for holding in (0, START, END)] == [0, 1, 0]
    assert [found.table(holding).stages[-1].ended(1) for holding in (0, START, END)] == [False, False, True]


def test_tables_differ_only_in_what_the_expression_looks_at():
    """A gap's other truths make no other table."""
    found = automaton(parse("a$"))
    assert found.table(START) is found.table(0)
    assert found.table(START | END) is found.table(END)


@pytest.mark.parametrize(
    ("text", "positions"),
    [("a{3}", 3), ("a{2,5}", 5), ("a{2,}", 2), ("a{0}", 0), ("a*", 1), ("(?:a{10}){10}", 100), ("^{1000}", 0)],
)
def test_a_repetition_has_a_position_for_each_copy(text, positions):
    """Counts are written out; what reads nothing is not repeated."""
    assert len(automaton(parse(text)).sets) == positions


@pytest.mark.parametrize("text", ["(?:.{1000}){3}", "a" * (LARGEST + 1)])
def test_what_is_too_large_is_unsupported(text):
    """An automaton has bounded size."""
    with pytest.raises(Unsupported, match="places"):
        automaton(parse(text))


def test_readers_of_a_character_are_the_positions_whose_set_has_it():
    """Each position reads its own set."""
    assert automaton(parse("a[ab][^a]")).readers("a") == 0b011


def test_bits_are_positions():
    """A set of positions lists them from the lowest."""
    assert [*bits(0b10110)] == [1, 2, 4]
