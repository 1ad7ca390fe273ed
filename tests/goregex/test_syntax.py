import pytest

from tornado_proxy.goregex.parser import parse
from tornado_proxy.goregex.syntax import Character, Extent, Measure, PatternError, Text, fold, measure, walk


def _tree(text):
    return parse(text).tree


def test_walking_visits_every_node_in_the_order_of_the_text():
    """A tree is walked from the outside in and from left to right, members of classes included."""
    visited = [type(node).__name__ for node in walk(_tree(r"(a|[b\d])+$"))]
    assert visited == [
        "Sequence",
        *("Repeat", "Group", "Alternation", "Text", "BracketClass", "Character", "PerlClass"),
        "Assertion",
    ]


def test_trees_that_say_the_same_are_equal():
    """Where a node stands takes no part in comparing it."""
    assert _tree("a") == _tree(r"\x61")
    assert Character("a", False, Extent(0, 1)) == Character("a", False, Extent(5, 6))


def test_a_tree_can_be_quoted():
    """The representation of a node leaves out where it stands."""
    assert repr(_tree("ab")) == "Text(characters='ab', folded=False)"


def test_a_text_can_be_taken_apart():
    """Its characters keep their places; one alone is not changed, whatever it is written as."""
    assert [tuple(each.extent) for each in _tree("ab").split()] == [(0, 1), (1, 2)]
    assert _tree(r"a").split() == (Text("a", False, Extent(0, 4)),)


def test_folding_gives_each_node_the_results_of_those_below_it():
    """Results come from the leaves upwards and from left to right, at any depth."""
    assert fold(_tree("a(b|c)*"), lambda node, below: f"{type(node).__name__}({', '.join(below)})") == (
        "Sequence(Text(), Repeat(Group(Alternation(Text(), Text()))))"
    )
    assert fold(_tree("(?:" * 5000 + ")" * 5000), lambda _, below: 1 + sum(below)) == 5001


def test_a_mistake_has_a_message_a_place_and_a_cure():
    """What is wrong, where, and what to write instead, are split."""
    mistake = PatternError("nothing to repeat before `*`", 0, 1, "write `.*` for any text")
    assert (str(mistake), mistake.offset, mistake.end, mistake.help) == (
        "nothing to repeat before `*`",
        0,
        1,
        "write `.*` for any text",
    )


def test_a_mistake_of_the_whole_begins_at_the_beginning():
    """Without a place, a mistake is one of the whole expression."""
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
    """Neighbouring characters are one literal, each branch but one costs an instruction, a group costs two."""
    found = _measured(text)
    assert (found.size, found.depth) == (size, depth)


@pytest.mark.parametrize(
    ("text", "copies"),
    [("a", 1), ("a{2,5}", 5), ("(a{10}.){0,10}", 100), ("(?:a{10}){0}", 1), ("a{3,}", 3), ("a*", 1)],
)
def test_nested_counts_multiply(text, copies):
    """Ten times ten copies are a hundred, through groups; what is repeated no times has no copies."""
    assert _measured(text).copies == copies


def test_a_measure_is_a_value():
    """Measures are compared by what they count."""
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
def test_what_is_too_deep_or_too_large_is_refused(accepted, refused):
    """Go's limits hold: a thousand levels, and what its program would take of memory."""
    parse(accepted)
    with pytest.raises(PatternError, match=r"expression (too large|nested deeper than 1000 levels)"):
        parse(refused)


def test_too_many_copies_are_refused():
    """Counts within counts multiply, and Go makes a thousand copies at most."""
    with pytest.raises(PatternError, match="nested counts make more than 1000 copies") as caught:
        parse("x(?:a{100}){11}")
    assert (caught.value.offset, caught.value.end) == (1, 15)
