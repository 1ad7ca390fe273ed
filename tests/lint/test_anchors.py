import pytest

from tornado_proxy.goregex.parser import parse
from tornado_proxy.goregex.syntax import Alternation, Text
from tornado_proxy.lint.anchors import (
    bare,
    edge_part,
    ends_anchored,
    open_end,
    open_start,
    starts_anchored,
    takes_anything,
)


@pytest.mark.parametrize(
    ("source", "start", "end"),
    [
        ("^/a$", True, True),
        ("/a", False, False),
        (r"\A/a\z", True, True),
        ("(?m)^/a$", True, True),
        ("(?i)^/a", True, False),
        (r"\b^/a$\b", True, True),
        ("^a|^b", True, False),
        ("^a|b$", False, False),
        ("(?:^/a$)", True, True),
        ("(?:^a)?b", False, False),
        ("(?:^a)+", True, False),
        (r"[a]\pL\d.", False, False),
        ("", False, False),
    ],
)
def test_both_ends_are_read_off_the_tree(source, start, end):
    """An end is anchored if every match must touch it."""
    tree = parse(source).tree
    assert (starts_anchored(tree), ends_anchored(tree)) == (start, end)


def test_the_part_at_the_edge():
    """Groups are opened; what reads nothing is passed over."""
    first = edge_part(parse("^(?:(a)b)").tree, last=False)
    assert isinstance(first, Text)
    assert first.characters == "a"
    assert isinstance(edge_part(parse("(?:a|b)$").tree, last=True), Alternation)


@pytest.mark.parametrize("source", ["", "^", "^$", "(?i)", "(?:^)"])
def test_nothing_at_the_edge(source):
    """A source that reads no character has no part at its edges."""
    assert edge_part(parse(source).tree, last=False) is None


@pytest.mark.parametrize(
    ("source", "anything"), [(".*", True), ("(?:.)+", True), (".?", False), ("[^/]*", False), (".", False)]
)
def test_what_takes_anything(source, anything):
    """Only a repeated dot does."""
    assert takes_anything(edge_part(parse(source).tree, last=False)) is anything


def test_parentheses_are_taken_off():
    """What a part holds is the same, however many groups are around it."""
    assert isinstance(bare(parse("((?:a|b))").tree), Alternation)


@pytest.mark.parametrize(
    ("source", "start", "end"),
    [("/a", True, True), ("^/a/", False, False), (r"\.x$", False, False), ("^a/|^b", False, True)],
)
def test_ends_that_are_not_spoken_of(source, start, end):
    """An end is open if it is not anchored and its part does not seem to mean that."""
    assert (open_start(parse(source).tree), open_end(parse(source).tree)) == (start, end)
