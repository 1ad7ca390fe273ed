from rule_sites import rule_sets

from tornado_proxy.goregex.matching import Captures
from tornado_proxy.tools.report_parts import group_rows, groups_json, rewrite_json, section


def test_rows_stand_in_columns_under_their_title():
    """Each column is as wide as its widest cell; the last one widens nothing."""
    rows = [("a", "bb", "the end"), ("ccc", "d", "")]
    assert list(section("title", rows)) == ["title       a    bb  the end", "            ccc  d"]


def test_one_long_expression_is_out_of_step_alone():
    """A cell of more than sixty characters does not push the others away."""
    lines = list(section("", [("a", "x" * 61, "end"), ("a", "b", "end")]))
    assert lines[1] == "            a  b  end"


def test_nothing_that_a_terminal_obeys_is_shown():
    """Control characters have stand-ins."""
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
