from collections import Counter
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_schemas import check_report
from rule_sites import requests, site

from tornado_proxy.config.actions import Actions, GetAction, PutAction
from tornado_proxy.config.model import Bucket, Mount
from tornado_proxy.config.providers import BasicUser, OidcProvider, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.routing.compare import Reason
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.semantics.request import User
from tornado_proxy.tools.diff import Cause, Comparison, KeyAnswers, Need, NewKey, to_json, to_markdown, to_text
from tornado_proxy.tools.simulator import LoggedRequest, RequestDefaults, Simulator

OLD = r"""
    rewrite `^/a/(.*)$` -> "/one/$1"
    rewrite `^/b/(.*)$` -> "/two/$1"
"""
NEW = r"""
    rewrite `^/new/` -> "/three/"
    rewrite `^/a/(.*)$` -> "/one/$1"
    rewrite `^/b/(.*)$` -> "/2/$1"
"""


def _comparison(old, new, examples=5):
    defaults = RequestDefaults(User("ann"))
    return Comparison(Simulator(Mounts([site(old)]), defaults), Simulator(Mounts([site(new)]), defaults), examples)


def _compare(old, new, *addresses, examples=5):
    return _comparison(old, new, examples).compare(requests(*addresses))


def test_changes_are_grouped_by_the_responsible_rewrites():
    """A cause is the numbers of the rewrites on both sides, and the group with the most requests is first."""
    report = _compare(OLD, NEW, "/b/x", "/b/x", "/b/y", "/new/z", "/a/x", "/else")
    expected = [(Cause(Reason.RULES, "site", "site", 2, 3), 3, 2), (Cause(Reason.RULES, "site", "site", None, 1), 1, 1)]
    assert [(cause, group.times, group.distinct) for cause, group in report.groups] == expected
    assert (report.times, report.distinct) == (4, 3)


def test_the_same_refusal_for_another_reason_is_no_change():
    """A client sees no difference."""
    assert _compare('rewrite `^/a$` -> "/../x"', 'rewrite `^/a$` -> ""', "/a").changes == {}


def test_invalid_paths_change_nothing():
    """An invalid path is refused before any rule is tried."""
    assert _compare(OLD, NEW, "/b/../x", "nonsense").changes == {}


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
    comparison, request = _comparison(old, new), LoggedRequest(key)
    old_answer, new_answer = (
        Simulator(Mounts([site(rules)]), RequestDefaults(User("ann"))).ask(request) for rules in (old, new)
    )
    old_key, new_key = (each.rewritten.key if each.rewritten else None for each in (old_answer, new_answer))
    differs = old_key != new_key or (old_key is None and old_answer.plan[0].status != new_answer.plan[0].status)
    assert bool(comparison.compare(requests(key)).groups) == differs


OLD_RULES = 'rewrite press `^/press/(.*)$` -> "/one/$1"'
NEW_RULES = 'rewrite press `^/press/(.*)$` -> "/two/$1"\nrewrite `^/dots$` -> "/../x"'


def _report(*addresses, old=OLD_RULES, new=NEW_RULES, examples=5, **lines):
    old_site, new_site, log = site(old), site(new), requests(*addresses)
    log.requests.update(lines.get("more", {}))
    log.strange, log.first_strange = lines.get("strange", 0), 1
    simulators = (Simulator(Mounts([old_site]), RequestDefaults()), Simulator(Mounts([new_site]), RequestDefaults()))
    return Comparison(*simulators, examples).compare(log)


def test_an_example_names_its_method_and_user():
    """Method and user are shown if they differ from GET and no user."""
    report = _report(more={LoggedRequest("/press/a", "HEAD", user="ann"): 1})
    assert "  HEAD /press/a as ann" in list(to_text(report))


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
    check_report(report, "diff")
    expected = [("press", 1), (None, 2)]
    assert [(group["old"] and group["old"]["name"], group["new"]["number"]) for group in report["groups"]] == expected
    assert report["groups"][1]["examples"][0]["new"] == {
        "text": "(400: the result contains a `.` or `..` segment)",
        "key": None,
        "status": 400,
        "reason": "the result contains a `.` or `..` segment",
    }


STAFF = Resource("/**", ("GET", "PUT"), provider="staff", users=(BasicUser("ann", Secret("value", "x")),))


@pytest.mark.parametrize(
    ("old", "new", "reason", "texts"),
    [
        ({"bucket": Bucket("a")}, {"bucket": Bucket("b", "v2/")}, Reason.BUCKET, ("s3://a/x", "s3://b/v2/x")),
        (
            {"bucket": Bucket("a")},
            {"bucket": Bucket("a", s3_endpoint="http://s3.example")},
            Reason.BUCKET,
            ("s3://a/x at AWS", "s3://a/x at http://s3.example"),
        ),
        ({}, {"mount": Mount(paths=("/m/",))}, Reason.MOUNT, ("site: /x", "(404: no target is mounted at this host and path)")),
        ({}, {"resources": (STAFF,)}, Reason.ACCESS, ("/x", "(401: nobody is signed in with `staff`)")),
        ({}, {"actions": Actions(get=GetAction(redirect_to_signed_url=True))}, Reason.ACTIONS, ("(serve x)", "(sign x, for 900 seconds)")),
    ],
)  # fmt: skip
def test_a_change_is_told_by_its_reason(old, new, reason, texts):
    """Each part of a configuration has what it changes."""
    report = _compared(site("", **old), site("", **new), "/x")
    (((group, _), changes),) = [((cause.reason, cause), group.examples) for cause, group in report.groups]
    assert (group, [(each.old.text, each.new.text) for each in changes]) == (reason, [texts])


def _compared(old, new, *addresses, method="GET"):
    log = requests()
    log.requests.update(LoggedRequest(address, method) for address in addresses)
    sides = [Simulator(Mounts([each]), RequestDefaults()) for each in (old, new)]
    return Comparison(*sides, 5).compare(log)


def _texts(report):
    return [(each.old.text, each.new.text) for _, group in report.groups for each in group.examples]


def test_directories_and_uploads_are_told_by_their_place():
    """A directory has a prefix; the file of a form has no name in a log."""
    old, new = site("", bucket=Bucket("a", "v1/")), site("", bucket=Bucket("b", "v1/"))
    assert _texts(_compared(old, new, "/d/")) == [("s3://a/v1/d/", "s3://b/v1/d/")]
    assert _texts(_compared(old, new, "/d/", method="PUT")) == [("s3://a/", "s3://b/")]


def test_what_texts_leave_out_is_told():
    """Two uploads to one key differ by their limits."""
    old, new = (Actions(put=PutAction(enabled=True, raw_uploads=True, max_size=size)) for size in (None, 5))
    told = "(receive x, available at /x)"
    assert _texts(_compared(site("", actions=old), site("", actions=new), "/x", method="PUT")) == [
        (f"{told} max_size None", f"{told} max_size 5")
    ]


@pytest.mark.parametrize(
    ("before", "after", "texts"),
    [
        ("rewrite `^/a$` -> `/b`", "redirect 308 `^/a$` -> `/b`", ("/b", "(redirect 308 /b)")),
        ("redirect 308 `^/a$` -> `/b`", "redirect 301 `^/a$` -> `/b`", ("(redirect 308 /b)", "(redirect 301 /b)")),
        ("redirect `^/a$` -> `/b`", "gone `^/a$`", ("(redirect 302 /b)", "(410: the rules call the address gone)")),
        ("redirect if missing `^/a$` -> `/b`", "", ("/a then redirect 302 /b", "/a then refuse 404 Not Found: no object at this key")),
    ],
)  # fmt: skip
def test_a_rule_of_another_kind_is_a_change(before, after, texts):
    """A rewrite that becomes a redirect is told by the two rules."""
    report = _compared(site(before), site(after), "/a")
    assert (report.times, _texts(report)) == (1, [texts])


def test_a_redirect_has_no_key():
    """The bare path of a mount leads to the path with its slash."""
    old, new = site("", mount=Mount(paths=("/m/",))), site("", mount=Mount(paths=("/m/a/",)))
    assert _texts(_compared(old, new, "/m")) == [
        ("site: (redirect 302 /m/)", "(404: no target is mounted at this host and path)")
    ]


def test_rules_of_isolated_users_are_compared():
    """They see keys below the directory of the user."""
    isolated = {"actions": Actions(get=GetAction(user_isolation=True)), "resources": (STAFF,)}
    old, new = site("", **isolated), site('rewrite `^/ann/x$` -> "/ann/y"', **isolated)
    sides = [Simulator(Mounts([each]), RequestDefaults(User("ann"))) for each in (old, new)]
    assert _texts(Comparison(*sides, 5).compare(requests("/x"))) == [("/ann/x", "/ann/y")]


def test_new_keys_are_counted():
    """Several requests may need one; what is only closed or signed is not new."""
    report = _compared(site(""), site('rewrite `^/[ab]$` -> "/c"'), "/a", "/b", "/d")
    assert report.keys == {NewKey("site", "c"): Need(2, "/a")}
    signed = site("", actions=Actions(get=GetAction(redirect_to_signed_url=True)))
    assert _compared(site(""), signed, "/a").keys == {}


def test_the_answers_of_s3_are_reported():
    """Missing keys are shown as far as examples are, and each problem with its number of keys."""
    missing = tuple((NewKey("site", key), Need(times, f"/{key}")) for key, times in (("a", 3), ("b", 1), ("c", 1)))
    answers = KeyAnswers(212, 100, missing, Counter({("site", "it is closed"): 2}), 2)
    report = _report("/else")
    report.answers = answers
    assert list(to_text(report))[2:] == [
        "of 212 new keys, the 100 most requested were asked for: 3 do not exist, 2 are unknown",
        "  site: a (/a, 3 times)",
        "  site: b (/b)",
        "  and 1 more",
        "site: 2 unknown keys: it is closed",
    ]


def test_a_page_before_all_targets_is_a_change():
    """A target that is as it was does not answer its path any more."""
    provider = OidcProvider("id", GuardedUrl("https://id.example"), "me")
    old, new = Mounts([site("")]), Mounts([site("")], [provider])
    path = next(iter(new.provider_pages))
    sides = [Simulator(mounts, RequestDefaults()) for mounts in (old, new)]
    ((cause, _),) = Comparison(*sides, 5).compare(requests(path)).groups
    assert cause.reason is Reason.MOUNT
