"""The groups of a source."""

from __future__ import annotations

import pytest
from rule_texts import statement

from tornado_proxy.tools.lsp.groups import group_names, group_of, tree_of


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
