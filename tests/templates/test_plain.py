import json
from pathlib import Path

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.goregex.matching import Captures
from tornado_proxy.templates.plain import compile_template
from tornado_proxy.templates.template import TargetKeyRewriteData

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/expand.json").read_text(encoding="utf-8"))["vectors"]
DATA = TargetKeyRewriteData("/")


def _rendered(template, groups, names=None):
    names = names or {}
    captures = Captures(groups, names)
    return compile_template(template, names, len(groups) - 1).render(captures, DATA)


def _matches(pattern, text):
    """Go's matches: an empty one right behind another does not count (Regexp.allMatches)."""
    position, last = 0, -1
    while position <= len(text):
        found = re2.compile(pattern).search(text, position)
        if found is None:
            return
        start, end = found.span()
        if end > start or end != last:
            yield found
        last, position = end, max(end, start + 1)


def _replaced(vector):
    """Go's ReplaceAll around our expansion of each match."""
    text, pieces, position = vector["text"], [], 0
    for found in _matches(vector["pattern"], text):
        groups = (found.group(), *found.groups())
        literal = vector["mode"] == "replace_all_literal"
        made = vector["template"] if literal else _rendered(vector["template"], groups, found.re.groupindex)
        pieces += text[position : found.start()], made
        position = found.end()
    return "".join((*pieces, text[position:]))


def _expanded(vector):
    found = next(_matches(vector["pattern"], vector["text"]))
    return _rendered(vector["template"], (found.group(), *found.groups()), found.re.groupindex)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_recorded_expansions_of_go_come_out_the_same(vector):
    """Every recorded answer of Go's Expand and ReplaceAll is ours."""
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
        (" $1\n", " a\n"),
    ],
)
def test_dollars_are_read_as_go_reads_them(template, result):
    """The longest name counts, braces end it, two dollars are one, and nothing is trimmed."""
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
def test_references_are_told_with_their_places(template, references):
    """A check can point at each group that a template names."""
    assert compile_template(template, {}, 0).group_references == references


def test_a_plain_template_reads_no_user():
    """It sees what the source captured, and nothing else."""
    assert compile_template("/$user", {}, 0).reads_user is False


def test_templates_of_one_text_are_equal():
    """What was made of the text does not count, and is not shown."""
    assert compile_template("/$1", {}, 1) == compile_template("/$1", {"x": 1}, 1)
    assert repr(compile_template("/$1", {}, 1)) == "PlainTemplate(text='/$1')"


@given(st.text(st.sampled_from("$a1{}_é "), max_size=12))
def test_no_text_is_refused(template):
    """Whatever it holds, a text is a template, and its references lie within it, one after another."""
    compiled = compile_template(template, {}, 0)
    places = [place for _, start, end in compiled.group_references for place in (start, end)]
    assert places == sorted(places)
    assert all(template[start] == "$" and end <= len(template) for _, start, end in compiled.group_references)


@given(st.text(max_size=12))
def test_a_group_is_inserted_as_it_is(text):
    """What a group took is never read as a template itself."""
    assert _rendered("/x/$1", ("", text)) == f"/x/{text}"
