import json
from pathlib import Path
from textwrap import dedent
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from rule_sites import log_of, requests, site

from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.templates.template import User
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
    someone = RequestDefaults(User("ann"))
    return Comparer(Simulator(Mounts([site(old)]), someone), Simulator(Mounts([site(new)]), someone), examples)


def _compared(old, new, *addresses, examples=5):
    return _comparer(old, new, examples).compare(requests(*addresses), lambda part: None)


def test_what_changes_is_grouped_by_the_rewrites_that_are_responsible():
    """A cause is the numbers of the rewrites on both sides; the group with the most requests comes first."""
    found = _compared(OLD, NEW, "/b/x", "/b/x", "/b/y", "/new/z", "/a/x", "/else")
    assert [(cause, group.times, group.distinct) for cause, group in found.groups] == [
        (Cause("site", 2, 3), 3, 2),
        (Cause("site", None, 1), 1, 1),
    ]
    assert (found.times, found.distinct) == (4, 3)


def test_a_rewrite_that_has_only_moved_changes_nothing():
    """Rewrites are compared by their texts, not by their order."""
    assert _compared(OLD, NEW, "/a/x").groups == ()


def test_another_rewrite_with_the_same_result_changes_nothing():
    """Keys count."""
    assert _compared('rewrite `^/a$` -> "/b"', 'rewrite `^/[a]$` -> "/b"', "/a").groups == ()


def test_a_refusal_instead_of_a_key_is_a_change():
    """So is another status."""
    old, fails, forbids = "", 'rewrite `^/a$` -> "/../x"', 'rewrite `^/a$` -> jinja "{{ user.username }}"'
    assert _compared(old, fails, "/a").times == 1
    assert _compared(fails, forbids, "/a").times == 1


def test_a_path_that_our_own_log_could_not_decode_changes_nothing(tmp_path):
    """It is refused before any rules are asked, whatever they are."""
    log = tmp_path / "access.log"
    log.write_text("method=GET path=/%zz status=400\n")
    taking = _comparer("", 'rewrite `^/%zz$` -> "/b"')
    assert taking.compare(log_of(log), lambda part: None).times == 0


def test_the_same_refusal_for_another_reason_is_none():
    """A client sees no difference."""
    assert _compared('rewrite `^/a$` -> "/../x"', 'rewrite `^/a$` -> ""', "/a").groups == ()


def test_requests_that_lead_nowhere_change_nothing():
    """They are refused before any rule is asked."""
    assert _compared(OLD, NEW, "/b/../x", "nonsense").groups == ()


def test_examples_are_the_most_frequent_and_as_many_as_asked_for():
    """All are counted."""
    ((_, group),) = _compared(OLD, NEW, "/b/x", "/b/y", "/b/y", "/b/z", examples=1).groups
    assert [each.request.address for each in group.examples] == ["/b/y"]
    assert group.distinct == 3


_keys = st.sampled_from(["/a/x", "/b/x", "/b/", "/new/", "/c", "/b/a/"])
_statements = st.lists(
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


@given(_statements, _statements, _keys)
def test_a_change_is_exactly_what_asking_both_would_show(old, new, key):
    """A request that is skipped, because the same rewrite takes its key on both sides, has the same key."""
    comparer, request = _comparer(old, new), LoggedRequest(key)
    before, now = (Simulator(Mounts([site(each)]), RequestDefaults(User("ann"))).ask(request) for each in (old, new))
    differs = before.key != now.key or (before.key is None and before.status != now.status)
    assert (comparer.change(request, 1) is not None) == differs


SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "diff.json"

SHOWN_OLD = 'rewrite press `^/press/(.*)$` -> "/one/$1"'
SHOWN_NEW = 'rewrite press `^/press/(.*)$` -> "/two/$1"\nrewrite `^/dots$` -> "/../x"'


def _report(*addresses, old=SHOWN_OLD, new=SHOWN_NEW, examples=5, **lines):
    before, now, log = site(old), site(new), requests(*addresses)
    log.requests.update(lines.get("more", {}))
    log.strange, log.first_strange = lines.get("strange", 0), 1
    simulators = (Simulator(Mounts([before]), RequestDefaults()), Simulator(Mounts([now]), RequestDefaults()))
    return Comparer(*simulators, examples).compare(log, lambda part: None)


def test_groups_show_what_goes_and_what_comes():
    """The count, then each group with the rewrites before and now, and its examples."""
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


def test_what_is_not_shown_is_counted():
    """Examples are as many as are asked for."""
    assert list(to_text(_report("/press/a", "/press/b", "/press/c", examples=1)))[-1] == "  and 2 more"


def test_a_request_is_distinguished_from_others_for_its_path():
    """By its method and its user, where they are not the usual ones."""
    report = _report(more={LoggedRequest("/press/a", "HEAD", user="ann"): 1})
    assert "  HEAD /press/a as ann" in list(to_text(report))


def test_lines_without_a_request_are_reported():
    """Nothing is dropped in silence."""
    assert "2 lines without a request; the first is line 1" in list(to_text(_report("/else", strange=2)))


def test_no_change_is_reported():
    """With how many requests were asked for."""
    assert list(to_text(_report("/else"))) == ["no key changed: 1 request, 1 distinct"]


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (SimulatedAnswer("/a", key="/b"), "/b"),
        (SimulatedAnswer("/a", status=403, reason="no"), "(403: no)"),
        (SimulatedAnswer("/a", reason="unnamed"), "(unnamed)"),
        (SimulatedAnswer("/a"), "(redirected)"),
    ],
)
def test_what_a_request_gets_is_a_key_or_a_reason(answer, shown):
    """Reasons are in parentheses, since a key begins with a slash."""
    assert outcome(answer) == shown


def test_markdown_is_a_coloured_difference():
    """For a comment on a pull request; a line that begins with `-` or `+` has a colour."""
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
def test_no_text_ends_the_block_of_markdown(text):
    """The fence is longer than any in the text."""
    address = quote(f"/press/{text.replace(chr(10), '')}")
    *_, shown, fence = to_markdown(_report(address))
    assert set(fence) == {"`"}
    assert fence not in shown


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
