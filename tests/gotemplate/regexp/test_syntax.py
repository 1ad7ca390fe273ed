import pytest

from gotemplate.regexp.parser import parse
from gotemplate.regexp.syntax import (
    CharacterRange,
    Extent,
    Measure,
    PatternError,
    Text,
    atoms,
    fold,
    measure,
    walk,
)


def _tree(text):
    return parse(text).tree


def test_walking_visits_every_node_in_the_order_of_the_text():
    """A tree is walked from the outside to the inside and from left to right, with the members of its classes."""
    visited = [type(node).__name__ for node in walk(_tree(r"(a|[b\d])+$"))]
    assert visited == [
        "Sequence",
        *("Repeat", "Group", "Alternation", "Text", "BracketClass", "CharacterRange", "NamedClass"),
        "Assertion",
    ]


def test_trees_are_compared_without_places():
    """The extents of nodes take no part in a comparison."""
    assert _tree("a") == _tree(r"\x61")
    assert CharacterRange("a", "a", False, Extent(0, 1)) == CharacterRange("a", "a", False, Extent(5, 6))


def test_the_representation_of_a_node_has_no_place():
    """The representation of a node leaves out its extent."""
    assert repr(_tree("ab")) == "Text(characters='ab', folded=False)"


def test_a_text_is_split_into_characters():
    """Each character of a text keeps its extent, and a text of one character is not changed."""
    assert [tuple(character.extent) for character in _tree("ab").split()] == [(0, 1), (1, 2)]
    assert _tree(r"a").split() == (Text("a", False, Extent(0, 4)),)


def _leading_parts(text):
    """Returns the parts of an expression from its start to the end of each atom."""
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
    """Groups are split into atoms, but alternations and repetitions are not; the last atom of a group ends with it."""
    assert _leading_parts(text) == parts


def test_atoms_are_split_into_characters():
    """A text has an atom for each character, which ends where the character or its group ends."""
    assert [character.end for atom in atoms(_tree("(ab)c*")) for character in atom.split()] == [2, 4, 6]


def test_folding_passes_each_node_the_results_of_its_children():
    """A function is applied from the leaves upwards and from left to right, at any depth."""
    assert fold(_tree("a(b|c)*"), lambda node, results: f"{type(node).__name__}({', '.join(results)})") == (
        "Sequence(Text(), Repeat(Group(Alternation(Text(), Text()))))"
    )
    assert fold(_tree("(?:" * 5000 + ")" * 5000), lambda _, results: 1 + sum(results)) == 5001


def test_a_mistake_has_a_message_a_place_and_help():
    """A mistake in an expression has its message, its start and end, and help."""
    mistake = PatternError("nothing to repeat before `*`", 0, 1, "write `.*` for any text")
    assert (str(mistake), mistake.offset, mistake.end, mistake.help) == (
        "nothing to repeat before `*`",
        0,
        1,
        "write `.*` for any text",
    )


def test_a_mistake_without_a_place_is_one_of_the_whole_expression():
    """A mistake without a place begins at the start of the expression and has no end."""
    mistake = PatternError("expression too large")
    assert (mistake.offset, mistake.end, mistake.help) == (0, None, None)


def _measured(text):
    return fold(parse(text).tree, measure)


@pytest.mark.parametrize(
    ("text", "size", "depth"),
    [
        ("", 1, 1),
        (r"ab\.", 3, 1),
        ("a.", 2, 2),
        ("(?i)a(?-i)b", 2, 2),
        ("ab*", 4, 3),
        ("(?:ab*)c", 5, 3),
        ("abc|.|abc", 9, 2),
        ("||a", 3, 2),
        ("|", 1, 1),
        ("(abc)", 5, 2),
        ("(?:abc)", 3, 1),
        (".*", 3, 2),
        (".+", 2, 2),
        (".{3,}", 4, 2),
        (".?", 2, 2),
        (".{2,5}", 8, 2),
        (".{0}", 1, 2),
    ],
)
def test_an_expression_is_measured_as_go_measures_it(text, size, depth):
    """Characters in a row are one literal, a branch after the first costs one instruction, and a group costs two."""
    measured = _measured(text)
    assert (measured.size, measured.depth) == (size, depth)


@pytest.mark.parametrize(
    ("text", "copies"),
    [("a", 1), ("a{2,5}", 5), ("(a{10}.){0,10}", 100), ("(?:a{10}){0}", 1), ("a{3,}", 3), ("a*", 1)],
)
def test_nested_counts_multiply(text, copies):
    """Copies are multiplied through groups, and what is repeated zero times counts as one copy."""
    assert _measured(text).copies == copies


def test_a_measure_is_a_value():
    """Measures with the same numbers are equal."""
    assert _measured("ab") == _measured("cd")
    assert isinstance(_measured("ab"), Measure)


@pytest.mark.parametrize(
    ("accepted", "refused"),
    [
        ("(" * 999 + ")" * 999, "(" * 1000 + ")" * 1000),
        ("(" * 998 + "a|" + ")" * 998, "(" * 999 + "a|" + ")" * 999),
        ("(?:" * 999 + ")*" * 999, "(?:" * 1000 + ")*" * 1000),
        ("(?:" * 5000 + "a" + ")" * 5000, "(" * 5000 + "a" + ")" * 5000),
        ("(xx?){1000}" * 500, "(xx?){1000}" * 1000),
    ],
)
def test_a_deep_or_large_expression_is_refused(accepted, refused):
    """The limits of Go hold: a thousand levels, and the memory of its program."""
    parse(accepted)
    with pytest.raises(PatternError, match=r"expression (too large|nested deeper than 1000 levels)"):
        parse(refused)


def test_too_many_copies_are_refused():
    """Nested counts are multiplied, and an expression with more than a thousand copies is refused as in Go."""
    with pytest.raises(PatternError, match="nested counts make more than 1000 copies") as caught:
        parse("x(?:a{100}){11}")
    assert (caught.value.offset, caught.value.end) == (1, 15)
