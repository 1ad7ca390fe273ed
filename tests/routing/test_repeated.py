"""Decisions that are the same for every request of their address are kept, and no others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.config.providers import BasicUser, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.routing.decide import Deciding, simulate
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.routing.repeated import RepeatedDecisions
from tornado_proxy.routing.request import read_request
from tornado_proxy.semantics.request import METHODS, User

SECRET = (("Authorization", "Basic c2VjcmV0"),)


def _kept(site, method, target, user=None):
    """What is kept of the decision about a request."""
    decision = simulate(Mounts([site]), read_request(target, method, "h", SECRET), user)
    decisions, address = RepeatedDecisions(), (method, "h", target)
    decisions.keep(address, decision)
    return decisions.find(address)


@given(
    method=st.sampled_from(METHODS),
    target=st.sampled_from(["/", "/d/", "/d", "/a.txt", "/a.txt?x=1", "/b/c", "/open", "http://other/a.txt"]),
    headers=st.lists(st.tuples(st.sampled_from(["A", "B"]), st.text("xy")), max_size=2).map(tuple),
)
def test_a_kept_decision_is_the_one_that_would_be_made(make_site, method, target, headers):
    """For another request of an address, a kept decision is equal to the one that is made for this request."""
    site = make_site(("^/a(.*)$", "/n$1"), ("^/b/(.*)$", "$1/"), mount="/")
    kept = _kept(site, method, target)
    request = read_request(target, method, "h", headers)
    assert kept is None or kept.again(request) == simulate(Mounts([site]), request, None)


def test_a_kept_decision_asks_nothing(make_site):
    """A complete decision has no question."""
    kept = _kept(make_site(), "GET", "/a")
    deciding = Deciding(kept)
    assert (deciding.question, deciding.decision) == (None, kept)


@pytest.mark.parametrize(("method", "target"), [("GET", "/a"), ("HEAD", "/b/x"), ("GET", "/d/")])
def test_decisions_about_reads_are_kept_without_headers(make_site, method, target):
    """Decisions about files and directories are kept, and with them no header, which could be a password."""
    kept = _kept(make_site(("^/b/(.*)$", "/n/$1")), method, target)
    assert (kept.request.method, kept.request.headers, kept.data.request.headers) == (method, (), ())


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("PUT", "/d/"),
        ("DELETE", "/a"),
        ("GET", "http://other/a"),
        ("GET", "/a?signature=secret"),
        ("POST", "/a"),
        ("GET", "/x"),
    ],
)
def test_other_decisions_are_made_each_time(make_site, method, target):
    """Changes, refused requests, absolute addresses and those with a query, which may hold secrets, are decided anew."""
    assert _kept(make_site(("^/x$", "")), method, target) is None


@pytest.mark.parametrize(("host", "target"), [("h" * 511, "/a"), ("h" * 10, f"/{'a' * 502}")])
def test_a_long_address_is_not_kept(make_site, host, target):
    """A client cannot fill the memory with long hosts: an address counts with its authority."""
    decisions = RepeatedDecisions()
    decisions.keep(("GET", host, target), simulate(Mounts([make_site()]), read_request(target, "GET", host), None))
    assert decisions.find(("GET", host, target)) is None


def test_a_template_that_sees_the_request_is_rendered_each_time(make_site, scripted_template):
    """A key that a template of Jinja or Go rewrites is not kept: the next request may have other headers."""
    assert _kept(make_site(("^/a", scripted_template("/n"))), "GET", "/a") is None


def test_a_user_is_asked_each_time(make_site):
    """A decision about a user who signed in is not kept."""
    staff = Resource("/**", ("GET",), provider="staff", users=(BasicUser("ann", Secret("value", "x")),))
    assert _kept(make_site(resources=[staff]), "GET", "/a", User("ann")) is None


def test_the_address_that_was_not_asked_for_longest_makes_room(make_site):
    """The decisions about 512 addresses are kept: those that were asked for last."""
    decision = simulate(Mounts([make_site()]), read_request("/a"), None)
    decisions = RepeatedDecisions()
    for number in range(512):
        decisions.keep(("GET", "h", f"/{number}"), decision)
    decisions.find(("GET", "h", "/0"))
    decisions.keep(("GET", "h", "/512"), decision)
    assert [decisions.find(("GET", "h", f"/{number}")) is None for number in (0, 1, 2, 512)] == [
        False,
        True,
        False,
        False,
    ]
