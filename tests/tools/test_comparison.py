from hypothesis import given
from hypothesis import strategies as st
from rule_sites import requests, site, traffic_of

from tornado_proxy.templates.data import User
from tornado_proxy.tools.asking import Asker, Given
from tornado_proxy.tools.comparison import Cause, Comparer
from tornado_proxy.tools.traffic import Request

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
    someone = Given(User("ann"))
    return Comparer(Asker([site(old)], someone), Asker([site(new)], someone), examples)


def _compared(old, new, *addresses, examples=5):
    return _comparer(old, new, examples).compare(requests(*addresses), lambda part: None)


def test_what_changes_is_grouped_by_the_rewrites_that_are_responsible():
    """Rewrites are told by their numbers on each side; the group with the most requests comes first."""
    found = _compared(OLD, NEW, "/b/x", "/b/x", "/b/y", "/new/z", "/a/x", "/else")
    assert [(cause, group.times, group.different) for cause, group in found.groups] == [
        (Cause("site", 2, 3), 3, 2),
        (Cause("site", None, 1), 1, 1),
    ]
    assert (found.times, found.different) == (4, 3)


def test_a_rewrite_that_has_only_moved_changes_nothing():
    """Rewrites are the same by what they do, not by where they stand."""
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
    assert taking.compare(traffic_of(log), lambda part: None).times == 0


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
    assert group.different == 3


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
    """What is skipped because the same rewrite takes the key on both sides could not have changed."""
    comparer, request = _comparer(old, new), Request(key)
    before, now = (Asker([site(each)], Given(User("ann"))).ask(request) for each in (old, new))
    differs = before.key != now.key or (before.key is None and before.status != now.status)
    assert (comparer.change(request, 1) is not None) == differs
