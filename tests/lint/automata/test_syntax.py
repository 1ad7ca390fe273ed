from tornado_proxy.lint.automata.parser import parse
from tornado_proxy.lint.automata.syntax import Character, Extent, Text, walk


def test_walking_visits_every_node_in_the_order_of_the_text():
    """A tree is walked from the outside in and from left to right, members of classes included."""
    visited = [type(node).__name__ for node in walk(parse(r"(a|[b\d])+$"))]
    assert visited == [
        "Sequence",
        *("Repeat", "Group", "Alternation", "Text", "BracketClass", "Character", "PerlClass"),
        "Assertion",
    ]


def test_trees_that_say_the_same_are_equal():
    """Where a node stands takes no part in comparing it."""
    assert parse("a") == parse(r"\x61")
    assert Character("a", False, Extent(0, 1)) == Character("a", False, Extent(5, 6))


def test_a_tree_can_be_quoted():
    """The representation of a node leaves out where it stands."""
    assert repr(parse("ab")) == "Text(characters='ab', folded=False)"


def test_a_text_can_be_taken_apart():
    """Its characters keep their places; one alone is not changed, whatever it is written as."""
    assert [tuple(each.extent) for each in parse("ab").apart()] == [(0, 1), (1, 2)]
    assert parse(r"a").apart() == (Text("a", False, Extent(0, 4)),)
