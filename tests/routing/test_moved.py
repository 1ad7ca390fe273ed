"""What becomes of a request whose address the rules redirect or call gone."""

from __future__ import annotations

import pytest
from msgspec import structs
from rule_sites import EVERYTHING, site

from tornado_proxy.config.actions import Actions, DeleteAction, GetAction, PutAction
from tornado_proxy.config.model import Mount
from tornado_proxy.config.providers import BasicUser, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.routing.decide import opens_all_below, simulate, trace
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.routing.plan import Browse, ReadForm, Receive, Redirect, Refuse, Serve
from tornado_proxy.routing.request import read_request
from tornado_proxy.semantics.request import User

RAW = Actions(put=PutAction(enabled=True, raw_uploads=True), delete=DeleteAction(enabled=True))


def _decided(statements, line, user=None, file_name=None, public_path="", **target):
    method, address = line.split(" ", 1)
    request = read_request(address, method)
    if public_path:
        request = structs.replace(request, public_path=public_path)
    return simulate(Mounts([site(statements, **target)]), request, user and User(user), file_name)


def _plan(*arguments, **options):
    return _decided(*arguments, **options).plan


@pytest.mark.parametrize(
    ("rule", "address", "location"),
    [
        ("redirect `^/a/(.*)$` -> `/b/$1`", "/m/a/x%20y%3F", "/m/b/x%20y%3F"),
        ("redirect `^/a$` -> `/b`", "/m/a?q=1&r", "/m/b?q=1&r"),
        ("redirect `^/a$` -> `/b?x`", "/m/a?q=1", "/m/b?x"),
        ("redirect `^/a$` -> `/b#top`", "/m/a?q=1", "/m/b?q=1#top"),
        ("redirect `^/a$` -> `/b` without query", "/m/a?q=1", "/m/b"),
        ("redirect `^/a$` -> `https://example.org/b`", "/m/a?q=1", "https://example.org/b?q=1"),
        ("redirect `^/a/(.*)$` -> `/$1`", "/m/a//evil.org/", "/m//evil.org/"),
    ],
)
def test_a_redirect_leads_below_the_mount_or_to_a_url(rule, address, location):
    """The query of the request is added unless the result has one."""
    assert _plan(rule, f"GET {address}", mount=Mount("", ("/m/",))) == (Redirect(location),)


def test_a_location_never_names_a_host():
    """At the root, a path that begins with two slashes is written otherwise."""
    assert _plan("redirect `^/a/(.*)$` -> `/$1`", "GET /a//evil.org/") == (Redirect("/%2Fevil.org/"),)


def test_a_location_begins_with_the_public_path():
    """What proxies have taken off comes first."""
    plan = _plan("redirect `^/a$` -> `/b`", "GET /m/a", public_path="/files", mount=Mount("", ("/m/",)))
    assert plan == (Redirect("/files/m/b"),)


def test_a_location_has_no_prefix_of_a_user():
    """A rule sees the user's name before the key, a client does not."""
    actions = Actions(get=GetAction(user_isolation=True))
    resources = (Resource("/**", ("GET",), provider="staff", users=(BasicUser("ann", Secret("test", "x")),)),)
    options = {"actions": actions, "resources": resources}
    assert _plan("redirect `^/([^/]+)/a$` -> `/$1/b`", "GET /a", "ann", **options) == (Redirect("/b"),)
    assert _plan("redirect `^/([^/]+)/a$` -> `/b`", "GET /a", "ann", **options) == (Redirect("/b"),)


def test_a_redirect_has_the_cache_control_of_the_target():
    """It is an option of GET."""
    actions = Actions(get=GetAction(redirect_cache_control="max-age=60"))
    plan = _plan("redirect 301 `^/a$` -> `/b`", "HEAD /a", actions=actions)
    assert plan == (Redirect("/b", status=301, cache_control="max-age=60"),)


@pytest.mark.parametrize(("status", "kept"), [(301, 308), (302, 307), (307, 307), (308, 308)])
def test_a_write_keeps_method_and_body(status, kept):
    """PUT and DELETE get the status that says so."""
    for method in ("PUT", "DELETE"):
        assert _plan(f"redirect {status} `^/a$` -> `/b`", f"{method} /a", actions=RAW) == (Redirect("/b", status=kept),)


def test_a_write_is_refused_where_its_body_would_be_lost():
    """A form has been read when its file has a name; a 303 leads to something to read."""
    form = _decided("redirect `^/d/a$` -> `/b`", "PUT /d/", file_name="a")
    see_other = _decided("redirect 303 `^/a$` -> `/b`", "PUT /a", actions=RAW)
    assert [(each.plan[0].status, each.is_refused) for each in (form, see_other)] == [(409, True), (409, True)]
    assert _plan("redirect `^/d/a$` -> `/b`", "PUT /d/") == (ReadForm(),)


@pytest.mark.parametrize("line", ["GET /a", "HEAD /a", "PUT /a", "DELETE /a", "GET /a/"])
def test_what_is_gone_is_gone_for_all_methods(line):
    """No upload brings back what nobody could read."""
    (refusal,) = _plan("gone `^/a`", line, actions=RAW)
    assert isinstance(refusal, Refuse)
    assert refusal.status == 410


@pytest.mark.parametrize(
    ("line", "options", "plan"),
    [
        ("GET /a", {}, (Serve("a"), Redirect("/b/a"))),
        ("GET /d/", {}, (Browse("d/"), Redirect("/b/d/"))),
        ("GET /", {}, (Browse("", root=True),)),
        ("GET /d/", {"actions": Actions(get=GetAction(disable_listing=True))}, (Redirect("/b/d/"),)),
        ("PUT /a", {"actions": RAW}, (Receive("a", "/a"),)),
        ("GET /a", {"actions": Actions(get=GetAction(try_files=("$path", "/i")))}, (Serve("a"), Serve("i", ("/i",)), Redirect("/b/a"))),
    ],
)  # fmt: skip
def test_a_redirect_may_be_for_what_is_missing(line, options, plan):
    """The key is served as if no rule took it; the redirect takes the place of the error. Writes are done."""
    assert _plan("redirect if missing `^/(.*)$` -> `/b/$1`", line, **options) == plan


def test_access_comes_first():
    """Nobody learns where a closed address leads."""
    resources = (Resource("/**", ("GET",), provider="staff", users=(BasicUser("ann", Secret("test", "x")),)),)
    rule = "redirect `^/a$` -> `/b`"
    assert _plan(rule, "GET /a", resources=resources)[0].status == 401
    assert _plan(rule, "GET /a", "ann", resources=resources) == (Redirect("/b"),)


def test_a_trace_shows_the_rule():
    """The key of a request that is answered stays as it is."""
    shown = trace(_decided("redirect `^/a$` -> `/b`", "GET /a", actions=EVERYTHING))
    assert (shown.matched.label, shown.result, shown.rewritten, shown.object_key) == ("#1", "/b", "/a", None)
    shown = trace(_decided("redirect if missing `^/a$` -> `/b`", "GET /a"))
    assert shown.object_key == "a"


def test_a_site_with_rules_that_answer_is_asked_about_each_entry():
    """A listing does not show what is gone."""
    assert opens_all_below(Mounts([site("")]), _decided("", "GET /"))
    closed = site("gone `^/a`")
    assert not opens_all_below(Mounts([closed]), simulate(Mounts([closed]), read_request("/", "GET"), None))
