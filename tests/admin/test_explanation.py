"""The way of a request from its address to its object, as steps for the status page."""

from __future__ import annotations

import pytest
from rule_sites import site

from tornado_proxy.admin.explanation import explained
from tornado_proxy.config.actions import Actions, GetAction
from tornado_proxy.config.model import Bucket
from tornado_proxy.config.providers import BasicUser, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.routing.plan import Browse, Refuse, Serve

PRESS = r'rewrite press `^/press/(?P<page>[^/]+)\.(html)$` -> "/archive/${page}.$2"'
WITHOUT_INDEX = Resource("/d/", white_list=True)
STAFF = Resource("/**", provider="staff", users=(BasicUser("ann", Secret("test", "x")),))


def _steps(statements, path, *, fields=None, **target):
    mounts = Mounts([site(statements, bucket=Bucket("files", prefix="www/"), **target)])
    explanation = explained(mounts, {"path": path, **(fields or {})})
    return {
        step.title: ("".join(text for line in step.lines for text, _ in (*line, ("\n", None))), step.outcome)
        for step in explanation.path
    }


def test_a_request_is_followed_to_its_key():
    """The steps name the address, the target, the access, the rewrite with its texts, and the key."""
    assert _steps(PRESS, "/press/spring.html") == {
        "URL": ("GET /press/spring.html\n", ""),
        "target": ("site\nmounted at /\n", ""),
        "access": ("anyone\nnot signed in\n", "good"),
        "rewrite": (
            "press\n^/press/(?P<page>[^/]+)\\.(html)$\n→ /archive/${page}.$2\npage = spring  2 = html  \n",
            "good",
        ),
        "key": ("www/archive/spring.html\n", ""),
    }


def test_groups_have_numbers_wherever_they_stand():
    """A group has its number in the source, in the template, and at its value; the innermost group counts."""
    mounts = Mounts([site('rewrite `^/((a)b)$` -> "/$1/$2"')])
    (step,) = [each for each in explained(mounts, {"path": "/ab"}).path if each.title == "rewrite"]
    _, source, template, groups = step.lines
    assert source == (("^/", None), ("(", 1), ("(a)", 2), ("b)", 1), ("$", None))
    assert template == (("→ ", None), ("/", None), ("$1", 1), ("/", None), ("$2", 2))
    assert [piece for piece in groups if piece[1]] == [("ab", 1), ("a", 2)]


@pytest.mark.parametrize(("statements", "text"), [(PRESS, "none matches\n/other\n"), ("", "none\n/other\n")])
def test_a_key_that_no_rewrite_takes_stays(statements, text):
    """Without a match, the step has the key as it is."""
    assert _steps(statements, "/other")["rewrite"] == (text, "")


def test_a_rewrite_that_fails_is_bad():
    """A result that is refused ends the way."""
    steps = _steps('rewrite `^/(.*)$` -> "/../$1"', "/a")
    assert steps["rewrite"][1] == "bad"
    assert "key" not in steps


def test_access_is_a_step():
    """Who may pass is named, and a request that may not ends there."""
    refused = _steps(PRESS, "/a", resources=(STAFF,))
    assert refused["access"] == ("users of staff\nnot signed in\n", "bad")
    assert "rewrite" not in refused
    permitted = _steps(PRESS, "/a", fields={"user": "ann"}, resources=(STAFF,))
    assert permitted["access"] == ("users of staff\nas ann\n", "good")
    covered = Resource("/b/**", white_list=True)
    assert _steps(PRESS, "/a", resources=(covered,))["access"] == ("nobody\nnot signed in\n", "bad")


def test_an_address_without_a_target_ends_at_once():
    """A request for which nothing is mounted has an address only, and its refusal."""
    explanation = explained(Mounts([]), {"path": "/a"})
    assert [step.title for step in explanation.path] == ["URL"]
    assert explanation.target is None
    assert explanation.attempts[0].status == 404


@pytest.mark.parametrize(("resources", "kinds"), [((), [Serve, Browse, Refuse]), ((WITHOUT_INDEX,), [Browse, Refuse])])
def test_an_index_document_is_tried_only_if_it_may_be_requested(resources, kinds):
    """The attempts are the ones that the service makes: a directory whose index document is refused is listed."""
    get = GetAction(index_document="index.html")
    mounts = Mounts([site("", resources=resources, actions=Actions(get=get))])
    assert [type(each) for each in explained(mounts, {"path": "/d/"}).attempts] == kinds
