import json
from pathlib import Path
from textwrap import dedent
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from rule_sites import read_request_log, requests, site

from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.semantics.request import User
from tornado_proxy.tools.diff import Cause, Comparer, outcome, to_json, to_markdown, to_text
from tornado_proxy.tools.simulator import LoggedRequest, RequestDefaults, SimulatedAnswer, Simulator

OLD = r"""
    rewrite `^/a/(.*)$` -> "/one/$1"
    rewrite `^/b/(.*)$` -> "/two/$1"
"""
NEW = r"""
    rewrite `^/new/` -> "/three/"
    rewrite `^/a/(.*)$` -> "/one/$1"
    rewrite `^/b/(.*)$` -> "/2/$1"
"""


def _comparer(old, new, examples=5):
    defaults = RequestDefaults(User("ann"))
    return Comparer(Simulator(Mounts([site(old)]), defaults), Simulator(Mounts([site(new)]), defaults), examples)


def _compare(old, new, *addresses, examples=5):
    return _comparer(old, new, examples).compare(requests(*addresses), lambda part: None)


def test_changes_are_grouped_by_the_responsible_rewrites():
    """A cause is the numbers of the rewrites on both sides, and the group with the most requests is first."""
    report = _compare(OLD, NEW, "/b/x", "/b/x", "/b/y", "/new/z", "/a/x", "/else")
    assert [(cause, group.times, group.distinct) for cause, group in report.groups] == [
        (Cause("site", 2, 3), 3, 2),
        (Cause("site", None, 1), 1, 1),
    ]
    assert (report.times, report.distinct) == (4, 3)


def test_a_rewrite_that_has_only_moved_changes_nothing():
    """Rewrites are compared by their texts, not by their order."""
    assert _compare(OLD, NEW, "/a/x").groups == ()


def test_another_rewrite_with_the_same_result_changes_nothing():
    """Only the resulting keys are compared."""
    assert _compare('rewrite `^/a$` -> "/b"', 'rewrite `^/[a]$` -> "/b"', "/a").groups == ()


def test_a_refusal_instead_of_a_key_is_a_change():
    """A refusal with another status is a change, too."""
    old, fails, forbids = "", 'rewrite `^/a$` -> "/../x"', 'rewrite `^/a$` -> jinja "{{ user.username }}"'
    assert _compare(old, fails, "/a").times == 1
    assert _compare(fails, forbids, "/a").times == 1


def test_a_path_that_the_service_could_not_decode_changes_nothing(tmp_path):
    """Such a path is refused before any rule is tried."""
    log = tmp_path / "access.log"
    log.write_text("method=GET path=/%zz status=400\n")
    taking = _comparer("", 'rewrite `^/%zz$` -> "/b"')
    assert taking.compare(read_request_log(log), lambda part: None).times == 0


def test_the_same_refusal_for_another_reason_is_no_change():
    """A client sees no difference."""
    assert _compare('rewrite `^/a$` -> "/../x"', 'rewrite `^/a$` -> ""', "/a").groups == ()


def test_invalid_paths_change_nothing():
    """An invalid path is refused before any rule is tried."""
    assert _compare(OLD, NEW, "/b/../x", "nonsense").groups == ()


def test_the_most_frequent_requests_are_the_examples():
    """The number of examples is limited, but all distinct requests are counted."""
    ((_, group),) = _compare(OLD, NEW, "/b/x", "/b/y", "/b/y", "/b/z", examples=1).groups
    assert [example.request.address for example in group.examples] == ["/b/y"]
    assert group.distinct == 3


KEYS = st.sampled_from(["/a/x", "/b/x", "/b/", "/new/", "/c", "/b/a/"])
STATEMENTS = st.lists(
    st.sampled_from(
        [
            'rewrite `^/a/(.*)$` -> "/one/$1"',
            'rewrite `^/b/` -> "/two/"',
            'rewrite `a` -> "/three"',
            'rewrite `^/b/` -> "/../x"',
            'rewrite `/$` -> jinja "{{ user.username }}"',
        ]
    ),
    max_size=4,
).map("\n".join)


@given(STATEMENTS, STATEMENTS, KEYS)
def test_the_comparison_agrees_with_two_simulations(old, new, key):
    """A request is a change exactly if the simulations of both sides differ in key or status."""
    comparer, request = _comparer(old, new), LoggedRequest(key)
    old_answer, new_answer = (
        Simulator(Mounts([site(rules)]), RequestDefaults(User("ann"))).ask(request) for rules in (old, new)
    )
    differs = old_answer.key != new_answer.key or (old_answer.key is None and old_answer.status != new_answer.status)
    assert (comparer.change(request, 1) is not None) == differs


SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "diff.json"

OLD_RULES = 'rewrite press `^/press/(.*)$` -> "/one/$1"'
NEW_RULES = 'rewrite press `^/press/(.*)$` -> "/two/$1"\nrewrite `^/dots$` -> "/../x"'


def _report(*addresses, old=OLD_RULES, new=NEW_RULES, examples=5, **lines):
    old_site, new_site, log = site(old), site(new), requests(*addresses)
    log.requests.update(lines.get("more", {}))
    log.strange, log.first_strange = lines.get("strange", 0), 1
    simulators = (Simulator(Mounts([old_site]), RequestDefaults()), Simulator(Mounts([new_site]), RequestDefaults()))
    return Comparer(*simulators, examples).compare(log, lambda part: None)


def test_groups_show_old_and_new_keys():
    """The counts are followed by the groups, each with its rewrites on both sides and its examples."""
    report = _report("/press/a", "/press/a", "/press/b?x", "/dots", "/else", examples=2)
    assert "\n".join(to_text(report)) == dedent("""\
        key changed: 4 of 5 requests, 3 of 4 distinct

        site: press (site.rules:2:1) → press (site.rules:2:1): 3 requests, 2 distinct
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


def test_changes_beyond_the_examples_are_counted():
    """The last line of a group has the number of requests that are not shown."""
    assert list(to_text(_report("/press/a", "/press/b", "/press/c", examples=1)))[-1] == "  and 2 more"


def test_an_example_names_its_method_and_user():
    """Method and user are shown if they differ from GET and no user."""
    report = _report(more={LoggedRequest("/press/a", "HEAD", user="ann"): 1})
    assert "  HEAD /press/a as ann" in list(to_text(report))


def test_lines_without_a_request_are_reported():
    """The report has their number and the first line number."""
    assert "2 lines without a request; the first is line 1" in list(to_text(_report("/else", strange=2)))


def test_no_change_is_reported():
    """The report has the number of requests that were compared."""
    assert list(to_text(_report("/else"))) == ["no key changed: 1 request, 1 distinct"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (SimulatedAnswer("/a", key="/b"), "/b"),
        (SimulatedAnswer("/a", status=403, reason="no"), "(403: no)"),
        (SimulatedAnswer("/a", reason="unnamed"), "(unnamed)"),
        (SimulatedAnswer("/a"), "(redirected)"),
    ],
)
def test_an_outcome_is_a_key_or_a_reason(answer, expected):
    """Reasons are in parentheses, since a key begins with a slash."""
    assert outcome(answer) == expected


def test_markdown_has_a_diff_block():
    """A comment on a pull request colours the lines of a diff block that begin with `-` or `+`."""
    assert "\n".join(to_markdown(_report("/press/a", "/press/b", examples=1))) == dedent("""\
        ### key changed: 2 of 2 requests, 2 of 2 distinct

        ```diff
        site: press (site.rules:2:1) → press (site.rules:2:1): 2 requests
        /press/a
        - /one/a
        + /two/a
        and 1 more
        ```""")


@given(st.text(st.sampled_from("`\n/a"), min_size=1, max_size=20))
def test_no_key_ends_the_markdown_block(text):
    """The fence is longer than any run of backticks in the text."""
    address = quote(f"/press/{text.replace(chr(10), '')}")
    *_, last_line, fence = to_markdown(_report(address))
    assert set(fence) == {"`"}
    assert fence not in last_line


def test_the_json_report_obeys_its_schema():
    """`docs/schemas/diff.json` describes keys, refusals, and rewrites on one side only."""
    report = to_json(_report("/press/a", "/dots", "/else"))
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(report)
    assert [(group["old"] and group["old"]["name"], group["new"]["number"]) for group in report["groups"]] == [
        ("press", 1),
        (None, 2),
    ]
    assert report["groups"][1]["examples"][0]["new"] == {
        "key": None,
        "status": 400,
        "reason": "the result contains a `.` or `..` segment",
    }
