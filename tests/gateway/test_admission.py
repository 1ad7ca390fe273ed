"""A guard decides who may."""

from __future__ import annotations

import asyncio

import pytest

from tornado_proxy.auth.authenticator import AuthBusy, Challenge
from tornado_proxy.gateway.admission import admit
from tornado_proxy.gateway.failures import Refusal
from tornado_proxy.routing.access import Anyone, Nobody, SignedIn
from tornado_proxy.routing.keys import RequestPath
from tornado_proxy.routing.request import Facts
from tornado_proxy.templates.data import User

FACTS = Facts("GET", RequestPath("/a"))
GUARD = SignedIn("staff", ())


class _Authenticator:
    """One that always gives the same answer."""

    def __init__(self, answer):
        self.answer = answer

    async def authenticate(self, facts, guard):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def _admit(guard, answer=None):
    return asyncio.run(admit(guard, FACTS, {"staff": _Authenticator(answer)}))


def test_where_anyone_may_nobody_is_asked():
    """An open path has no user."""
    assert _admit(Anyone(), Challenge("Basic", "never")) is None


def test_what_no_resource_covers_is_forbidden():
    """A path that nobody may use is a 403."""
    assert _admit(Nobody()).status == 403


def test_who_signs_in_is_the_user():
    """The provider's authenticator tells the user."""
    assert _admit(GUARD, User("ann")) == User("ann")


def test_who_does_not_is_challenged():
    """The authenticator's challenge becomes a 401."""
    refused = _admit(GUARD, Challenge('Basic realm="x"', "no credentials"))
    assert refused == Refusal(401, "no credentials", (("WWW-Authenticate", 'Basic realm="x"'),))


def test_too_many_at_once_are_an_error():
    """A provider that cannot check now says so."""
    with pytest.raises(AuthBusy):
        _admit(GUARD, AuthBusy("busy"))
