from tornado_proxy.goregex.parser import parse
from tornado_proxy.goregex.syntax import Character, Extent, PatternError, Text, fold, walk


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
    assert [tuple(each.extent) for each in _tree("ab").apart()] == [(0, 1), (1, 2)]
    assert _tree(r"a").apart() == (Text("a", False, Extent(0, 4)),)


def test_folding_gives_each_node_the_results_of_those_below_it():
    """Results come from the leaves upwards and from left to right, at any depth."""
    assert fold(_tree("a(b|c)*"), lambda node, below: f"{type(node).__name__}({', '.join(below)})") == (
        "Sequence(Text(), Repeat(Group(Alternation(Text(), Text()))))"
    )
    assert fold(_tree("(?:" * 5000 + ")" * 5000), lambda _, below: 1 + sum(below)) == 5001


def test_a_mistake_has_a_message_a_place_and_a_cure():
    """What is wrong, where, and what to write instead, are apart."""
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
