from rule_sites import rule_sets

from gotemplate.regexp.matching import Captures
from tornado_proxy.tools.reporting import group_rows, groups_json, rewrite_json, section


def test_rows_are_aligned_in_columns_after_their_title():
    """Each column is as wide as its widest cell, and the last column is not padded."""
    rows = [("a", "bb", "the end"), ("ccc", "d", "")]
    assert list(section("title", rows)) == ["title       a    bb  the end", "            ccc  d"]


def test_a_very_wide_cell_does_not_widen_its_column():
    """A cell of more than sixty characters shifts only its own row."""
    lines = list(section("", [("a", "x" * 61, "end"), ("a", "b", "end")]))
    assert lines[1] == "            a  b  end"


def test_control_characters_in_a_report_are_replaced():
    """A printable symbol replaces each control character."""
    assert list(section("", [("\x1b[2J",)])) == ["            ␛[2J"]


def test_groups_are_shown_by_name_or_number():
    """A group that did not match differs from a group that matched an empty text."""
    captures = Captures(("/a", "", None), {"page": 1})
    assert group_rows(captures) == [("$0", "/a"), ("$page", "(empty)"), ("$2", "(not matched)")]
    assert groups_json(captures)[2] == {"name": "2", "text": None}


def test_a_rewrite_is_reported_with_its_place():
    """Lines and columns count from 1."""
    rewrite = rule_sets('target site {\n    rewrite x `^/a` -> jinja "/b"\n}')["site"].rewrites[0]
    assert rewrite_json(rewrite) == {
        "number": 1,
        "name": "x",
        "source": "^/a",
        "dialect": "jinja",
        "template": "/b",
        "place": {"file": "site.rules", "line": 2, "column": 5},
    }
