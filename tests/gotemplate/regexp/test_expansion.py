import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st
from recorded import vectors

from gotemplate.regexp.expansion import Expansion, group_number
from gotemplate.regexp.matching import Captures


@pytest.mark.parametrize(
    ("reference", "number"),
    [
        ("0", 0),
        ("1", 1),
        ("10", 10),
        ("999999999", 999_999_999),
        ("1000000000", None),
        ("01", None),
        ("00", None),
        ("1x", None),
        ("x", None),
        ("", None),
        ("٣", None),
        ("²", None),
    ],
)
def test_digits_refer_to_a_group_by_its_number(reference, number):
    """A reference with leading zeros, other digits or more than nine digits is a name, as in Go's regexp.extract."""
    assert group_number(reference) == number


def test_captures_may_have_no_names():
    """The names of captures are empty by default and cannot be changed, because captures share the mapping."""
    captures = Captures(("/a", None))
    assert dict(captures.names) == {}
    with pytest.raises(TypeError):
        captures.names["x"] = 1


VECTORS = vectors("expand")


def _rendered(template, groups, names=None):
    return Expansion.read(template).expand(Captures(groups, names or {}))


def _matches(pattern, text):
    """Yields the matches of a pattern as Go does: an empty match right after another one does not count."""
    position, last_end = 0, -1
    while position <= len(text):
        match = re2.compile(pattern).search(text, position)
        if match is None:
            return
        start, end = match.span()
        if end > start or end != last_end:
            yield match
        last_end, position = end, max(end, start + 1)


def _replaced(vector):
    """Returns the result of Go's ReplaceAll, with each match expanded by its template."""
    text, pieces, position = vector["text"], [], 0
    for match in _matches(vector["pattern"], text):
        groups = (match.group(), *match.groups())
        literal = vector["mode"] == "replace_all_literal"
        replacement = vector["template"] if literal else _rendered(vector["template"], groups, match.re.groupindex)
        pieces += text[position : match.start()], replacement
        position = match.end()
    return "".join((*pieces, text[position:]))


def _expanded(vector):
    match = next(_matches(vector["pattern"], vector["text"]))
    return _rendered(vector["template"], (match.group(), *match.groups()), match.re.groupindex)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_expansions_are_those_of_go(vector):
    """A text has every recorded result of Go's Expand and ReplaceAll."""
    assert (_expanded if vector["mode"] == "expand" else _replaced)(vector) == vector["expect"]


@pytest.mark.parametrize(
    ("template", "result"),
    [
        ("/x", "/x"),
        ("", ""),
        ("$0", "/a"),
        ("$1$2", "a"),
        ("[$2]", "[]"),
        ("$3$999999999$9999999999", ""),
        ("$name", "a"),
        ("${name}s", "as"),
        ("$names", ""),
        ("${1}0$10", "a0"),
        ("$1x", ""),
        ("$01", "zero"),
        ("$$1$$", "$1$"),
        ("$", "$"),
        ("a$ b$-", "a$ b$-"),
        ("${}${a-b}${name", "${}${a-b}${name"),
        ("$é${é}", ""),
        ("$\u0663", ""),
        ("$\u00b2", "$\u00b2"),
        ("$1\u00b2${1\u00b2}$$", "a\u00b2${1\u00b2}$"),
        (" $1\n", " a\n"),
    ],
)
def test_references_are_expanded_as_in_go(template, result):
    """A name is as long as possible or in braces, two dollars are one, and nothing is trimmed."""
    assert _rendered(template, ("/a", "a", None), {"name": 1, "01": 0, "zero": 0}) == result.replace("zero", "/a")


@pytest.mark.parametrize(
    ("template", "references"),
    [
        ("/a", ()),
        ("/$x/${y_1}/$1", (("x", 1, 3), ("y_1", 4, 10), ("1", 11, 13))),
        ("$$x${}$", ()),
        ("é$x", (("x", 1, 3),)),
    ],
)
def test_references_have_places(template, references):
    """A text has the place of each group reference."""
    assert Expansion.read(template).group_references == references


@given(st.text(st.sampled_from("$a1{}_é "), max_size=12))
def test_any_text_can_be_expanded(template):
    """Any text compiles , with sorted references that begin with a dollar."""
    compiled = Expansion.read(template)
    offsets = [offset for _, start, end in compiled.group_references for offset in (start, end)]
    assert offsets == sorted(offsets)
    assert all(template[start] == "$" and end <= len(template) for _, start, end in compiled.group_references)


@given(st.text(max_size=12))
def test_the_text_of_a_group_is_not_expanded(text):
    """The text of a group is inserted as it is, even if it has a dollar."""
    assert _rendered("/x/$1", ("", text)) == f"/x/{text}"
