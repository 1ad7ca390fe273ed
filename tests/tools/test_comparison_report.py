import json
from html import unescape
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from rule_sites import requests, site

from tornado_proxy.lang.excerpt import visible
from tornado_proxy.tools.asking import Answer, Asker, Given
from tornado_proxy.tools.comparison import Comparer
from tornado_proxy.tools.comparison_report import Report, code, outcome, to_json, to_markdown, to_text
from tornado_proxy.tools.traffic import Request

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "diff.json"

OLD = 'rewrite press `^/press/(.*)$` -> "/one/$1"'
NEW = 'rewrite press `^/press/(.*)$` -> "/two/$1"\nrewrite `^/dots$` -> "/../x"'


def _report(*addresses, old=OLD, new=NEW, examples=5, **lines):
    before, now, traffic = site(old), site(new), requests(*addresses)
    traffic.requests.update(lines.get("more", {}))
    traffic.strange, traffic.first_strange = lines.get("strange", 0), 1
    comparison = Comparer(Asker([before], Given()), Asker([now], Given()), examples).compare(traffic, lambda part: None)
    return Report({"site": before.rules}, {"site": now.rules}, traffic, comparison)


def test_groups_show_what_goes_and_what_comes():
    """The count, then each group with the rewrites before and now, and its examples."""
    report = _report("/press/a", "/press/a", "/press/b?x", "/dots", "/else", examples=2)
    assert "\n".join(to_text(report)) == dedent("""\
        another key for 4 of 5 requests, 3 of 4 different ones

        site: press (site.rules:2:1) → press (site.rules:2:1): 3 requests, 2 different
          /press/a (2 times)
          - /one/a
          + /two/a
          /press/b?x
          - /one/b
          + /two/b

        site: no rewrite → #2 (site.rules:3:1): 1 request
          /dots
          - /dots
          + (400: the result contains a `.` or `..` segment)""")


def test_what_is_not_shown_is_counted():
    """Examples are as many as are asked for."""
    assert list(to_text(_report("/press/a", "/press/b", "/press/c", examples=1)))[-1] == "  and 2 more"


def test_a_request_is_told_from_others_for_its_path():
    """By its method and its user, where they are not the usual ones."""
    report = _report(more={Request("/press/a", "HEAD", user="ann"): 1})
    assert "  HEAD /press/a as ann" in list(to_text(report))


def test_lines_without_a_request_are_told():
    """Nothing is dropped in silence."""
    assert "2 lines hold no request; the first is line 1" in list(to_text(_report("/else", strange=2)))


def test_no_change_is_said():
    """With how many requests were asked for."""
    assert list(to_text(_report("/else"))) == ["no key changes: 1 request, 1 of them different"]


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (Answer("/a", key="/b"), "/b"),
        (Answer("/a", status=403, reason="no"), "(403: no)"),
        (Answer("/a", reason="unnamed"), "(unnamed)"),
        (Answer("/a"), "(redirected)"),
    ],
)
def test_what_a_request_gets_is_a_key_or_a_reason(answer, shown):
    """Reasons stand in parentheses, since a key begins with a slash."""
    assert outcome(answer) == shown


def test_markdown_is_a_table_of_groups_and_one_for_each():
    """For a comment on a pull request."""
    assert "\n".join(to_markdown(_report("/press/a", "/press/b", examples=1))) == dedent("""\
        ### another key for 2 of 2 requests, 2 of 2 different ones

        | target | rewrite before | rewrite now | requests | different |
        | --- | --- | --- | --- | --- |
        | `site` | `press` (`site.rules:2:1`) | `press` (`site.rules:2:1`) | 2 | 2 |

        **`site`: `press` (`site.rules:2:1`) → `press` (`site.rules:2:1`)**

        | request | before | now | times |
        | --- | --- | --- | --- |
        | `/press/a` | `/one/a` | `/two/a` | 1 |

        and 1 more""")


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_no_text_becomes_markup(text):
    """A code span holds what cannot end it; all else is written in references, which are never markup."""
    shown = code(text)
    if shown.startswith("`"):
        assert shown == f"`{visible(text)}`"
        assert not set(shown[1:-1]) & set("`|\\\n")
    else:
        inside = shown.removeprefix("<code>").removesuffix("</code>")
        assert unescape(inside) == visible(text)
        assert not set(inside) & set("`|\\<>*_[]!@:\n ")


def test_the_json_form_obeys_its_schema():
    """docs/schemas/diff.json describes keys, refusals, and rewrites on one side only."""
    told = to_json(_report("/press/a", "/dots", "/else"))
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(told)
    assert [(each["old"] and each["old"]["name"], each["new"]["number"]) for each in told["groups"]] == [
        ("press", 1),
        (None, 2),
    ]
    assert told["groups"][1]["examples"][0]["new"] == {
        "key": None,
        "status": 400,
        "reason": "the result contains a `.` or `..` segment",
    }
