from __future__ import annotations

import pytest
from editing import CURSOR, pointed
from hypothesis import given
from hypothesis import strategies as st
from rule_texts import statement

from tornado_proxy.lang.parser import parse
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.tools.lsp.nodes import (
    GroupReference,
    RewriteNode,
    SourceNode,
    TargetNode,
    TemplateNode,
    TestNode,
    VariableReference,
    group_names,
    group_of,
    node_at,
    reference_at,
    tree_of,
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("tar‸get site {}", TargetNode),
        ("target si‸te {}", TargetNode),
        ('target site { rewr‸ite a `^/a` -> "/b" }', RewriteNode),
        ('target site { rewrite a `^/‸a` -> "/b" }', SourceNode),
        ('target site { rewrite a `^/a` -> "/‸b" }', TemplateNode),
        ('target site { test "/a" ‸-> "/b" }', TestNode),
        ("target site { ‸ }", None),
        ("target site {}\n‸\n", None),
    ],
)
def test_each_place_has_its_kind(text, kind):
    """A place is on a target, a rewrite, one of its strings, a test, or on nothing."""
    source, offset = pointed(text)
    found = node_at(parse(source).document, offset)
    assert (type(found) if found else None) is kind


@pytest.mark.parametrize(
    ("written", "at"), [("`^‸/a`", 1), ('"\\u005e‸/a"', 1), ('"^/‸a"', 2), ("‸`^/a`", 0), ("`^/a`‸", 3), ("`‸`", 0)]
)
def test_a_place_in_a_string_is_one_in_its_value(written, at):
    """Escapes and quotes are taken into account."""
    source, offset = pointed(f'target site {{ rewrite {written} -> "/b" }}')
    assert node_at(parse(source).document, offset).at == at


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("^/(?P<a>x)/(y)/(?<b>z)", ["a", "2", "b"]),
        ("^/(?:x)", []),
        ("^/(?P<a>x)|(?P<a>y)", ["a"]),
        ("^/(?P<a>x)/(?P<b>[^/", ["a", "b"]),
    ],
)
def test_groups_are_called_by_name_or_else_by_number(source, names):
    """Of an expression that is not finished, those with names are known."""
    assert group_names(source) == names


@pytest.mark.parametrize(
    ("name", "extent"), [("page", (6, 21)), ("2", (6, 21)), ("1", (2, 5)), ("3", None), ("x", None)]
)
def test_a_group_is_found_by_name_and_by_number(name, extent):
    """Its place in the source is where it is defined."""
    found = group_of(statement('rewrite `^/(a)/(?P<page>[^/]+)` -> "/$1"'), name)
    assert (found.extent if found else None) == extent


def test_a_source_with_a_mistake_has_no_tree():
    """What RE2 would refuse is not told in words."""
    assert tree_of(statement('rewrite `^/(` -> "/a"')) is None
    assert group_of(statement('rewrite `^/(` -> "/a"'), "1") is None


@pytest.mark.parametrize(
    ("dialect", "text", "named"),
    [
        (Dialect.PLAIN, "/a/$pa‸ge/b", GroupReference("page", 3, 8)),
        (Dialect.PLAIN, "/a/${1‸}b", GroupReference("1", 3, 7)),
        (Dialect.PLAIN, "/a/$$pa‸ge", None),
        (Dialect.JINJA, "/{{ groups.pa‸ge }}", GroupReference("page", 4, 15)),
        (Dialect.JINJA, "/{{ groups['pa‸ge'] }}", GroupReference("page", 4, 18)),
        (Dialect.JINJA, "/{{ us‸er.username }}", VariableReference("user", 4, 8)),
        (Dialect.JINJA, "/{{ user.user‸name }}", VariableReference("user.username", 9, 17)),
        (Dialect.JINJA, "/{{ 'us‸er' }}", None),
        (Dialect.JINJA, "/us‸er/{{ key }}", None),
        (Dialect.JINJA, "{% if us‸er", VariableReference("user", 6, 10)),
        (Dialect.GO, "/{{ .Groups.pa‸ge }}", GroupReference("page", 4, 16)),
        (Dialect.GO, '/{{ index .Groups "pa‸ge" }}', GroupReference("page", 10, 24)),
        (Dialect.GO, "/{{ $.User.GetUser‸name }}", VariableReference("User.GetUsername", 11, 22)),
        (Dialect.GO, "/{{ up‸per .Key }}", None),
    ],
)
def test_what_stands_at_a_place_is_named(dialect, text, named):
    """A group or a variable with its path, and nothing in plain text or in strings."""
    assert reference_at(dialect, text.replace(CURSOR, ""), text.index(CURSOR)) == named


@given(st.sampled_from(Dialect), st.text(alphabet="{}%$. groupsGuser1[]'\"|\\", max_size=60), st.data())
def test_no_text_makes_it_fail(dialect, text, data):
    """Templates that do not compile are looked at too."""
    found = reference_at(dialect, text, data.draw(st.integers(0, len(text))))
    assert found is None or 0 <= found.start <= found.end <= len(text)
