"""A kept request is decided again by the rules in force and by a draft."""

from __future__ import annotations

import pytest
from rule_sites import rule_sets, site

from tornado_proxy.config.actions import Actions, GetAction
from tornado_proxy.config.model import Bucket
from tornado_proxy.routing.compare import KeptRequest, Kind, replay
from tornado_proxy.semantics.request import User
from tornado_proxy.templates.template import MissingUserError


def _kept(key="/a", *, signed_in=False):
    return KeptRequest(0.0, "site", "GET", "files.test", f"/m{key}", key, signed_in)


@pytest.fixture
def replayed(make_site, make_rule_set):
    """A function that replays a request by one rewrite in force and one of a draft; None is no rewrite."""

    def run(old, new, request=None, **target):
        site = make_site(*([old] if old else []), **target)
        return replay(request or _kept(), site, make_rule_set(*([new] if new else [])))

    return run


def test_another_template_gives_another_key(replayed):
    """Both keys are told, and the rewrites that made them."""
    result = replayed(("^/a$", "/b"), ("^/a$", "/c"))
    assert (result.kind, result.pair) == (Kind.KEY, ("site", "#1", "#1"))
    assert (result.old.rewritten, result.new.rewritten, result.new.object_key) == ("/b", "/c", "c")


def test_an_unedited_rewrite_is_not_applied(replayed, scripted_template):
    """What it reads does not matter then."""
    template = scripted_template(lambda data: data.request.raw_query)
    result = replayed(("^/a$", template), ("^/a$", template))
    assert (result.kind, result.old, result.new) == (Kind.SAME, None, None)


def test_no_rewrite_is_a_decision_too(replayed):
    """The key is unchanged then."""
    result = replayed(None, ("^/a$", "/c"))
    assert (result.kind, result.pair.old, result.old.rewritten) == (Kind.KEY, None, "/a")
    assert replayed(None, None).kind is Kind.SAME


def test_another_rewrite_may_give_the_same_key(replayed):
    """Only the key counts."""
    assert replayed(("^/a$", "/b"), ("^/(a)$", "/b")).kind is Kind.SAME


def test_a_draft_that_fails_is_an_error(replayed):
    """A key that fails today too is not one, unless the status is another."""
    failing, missing = ("^/a$", "/../b"), ("^/(a)$", "")
    assert replayed(("^/a$", "/b"), failing).kind is Kind.ERROR
    assert replayed(failing, missing).kind is Kind.SAME
    assert replayed(failing, ("^/a$", "/b")).kind is Kind.ANSWER


def test_another_status_is_another_answer(replayed, scripted_template):
    """A key that cannot be is a 400, and a template without its user a 403."""
    nobody = scripted_template(MissingUserError("who?"))
    assert replayed(("^/a$", "/../b"), ("^/a$", nobody)).kind is Kind.ANSWER


def test_a_key_that_is_too_long_is_an_error(replayed):
    """The bucket's prefix counts."""
    bucket = Bucket("files", prefix="p" * 1020)
    assert replayed(None, ("^/a$", "/abcdef"), bucket=bucket).kind is Kind.ERROR


@pytest.mark.parametrize("field", ["headers", "query", "raw_query", "remote_address", "scheme", "protocol"])
def test_what_was_not_kept_makes_the_difference_unknown(replayed, scripted_template, field):
    """Whatever the template makes of it, also without an effect."""
    template = scripted_template(lambda data: f"/b{getattr(data.request, field) and ''}")
    result = replayed(("^/a$", "/b"), ("^/a$", template))
    assert (result.kind, result.new) == (Kind.UNKNOWN, None)
    assert replayed(("^/a$", template), ("^/a$", "/b")).kind is Kind.UNKNOWN


def test_what_was_kept_can_be_read(replayed, scripted_template):
    """Method, host, path, target and whether anybody is signed in are known."""

    def write(data):
        return f"/{data.request.method}{data.request.path}/{data.request.host}/{data.target.name}/{data.user is None}"

    result = replayed(None, ("^/a$", scripted_template(write)))
    assert result.new.rewritten == "/GET/m/a/files.test/site/True"


def test_that_somebody_is_signed_in_is_known_but_not_who(replayed, scripted_template):
    """A template may ask whether there is a user; one that reads the name cannot be decided."""
    asks = scripted_template(lambda data: "/staff" if data.user else "/public")
    reads = scripted_template(lambda data: f"/{data.user.username}")
    request = _kept(signed_in=True)
    assert replayed(None, ("^/a$", asks), request).new.rewritten == "/staff"
    assert replayed(None, ("^/a$", reads), request).kind is Kind.UNKNOWN


def test_a_failure_after_what_was_not_kept_is_unknown(replayed, scripted_template):
    """Another value might not have failed."""

    def fail(data):
        assert data.user.username == ""
        raise MissingUserError("who?")

    assert replayed(None, ("^/a$", scripted_template(fail)), _kept(signed_in=True)).kind is Kind.UNKNOWN


def test_a_key_outside_of_an_isolated_directory_is_unknown(replayed):
    """It is refused for all users but those who may see everything; inside of the directory it is known."""
    isolated = Actions(get=GetAction(user_isolation=True))
    request = _kept("/ann/a", signed_in=True)
    assert replayed(None, ("a$", "/ben/a"), request, actions=isolated).kind is Kind.UNKNOWN
    assert replayed(None, ("a$", "/ann/b"), request, actions=isolated).kind is Kind.KEY


@pytest.mark.parametrize("user", [None, User("ann")])
def test_the_real_dialects_are_told_apart(user):
    """A template of Jinja and one of Go that read from the request are unknown; one that asks for a user is not."""
    texts = {
        "rewrite `a` -> jinja \"/{{ request.headers['x'] }}\"": Kind.UNKNOWN,
        'rewrite `a` -> jinja "/{{ request.method }}/{{ key }}"': Kind.KEY,
        'rewrite `a` -> jinja "{% if user %}/staff{% else %}/public{% endif %}"': Kind.KEY,
        'rewrite `a` -> go "/{{ .Request.URL.RawQuery }}"': Kind.UNKNOWN,
        'rewrite `a` -> go "/x{{ .Key }}"': Kind.KEY,
    }
    for text, kind in texts.items():
        draft = rule_sets(f"target site {{ {text} }}")["site"]
        assert replay(_kept(signed_in=user is not None), site(""), draft).kind is kind, text
