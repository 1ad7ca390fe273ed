"""Sign-in over HTTP: providers and policy servers answer the questions of a decision."""

from __future__ import annotations

import pytest
from serving import serve

from tornado_proxy.auth.authenticator import SignIn
from tornado_proxy.auth.fetching import Fetched
from tornado_proxy.config.providers import OpaServer, Resource
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.telemetry.events import SignInTried
from tornado_proxy.templates.template import User

ANN = User("ann")
GUARDED = Resource("/**", ("GET",), provider="id")
WITH_POLICY = Resource("/**", ("GET",), provider="id", opa=OpaServer("http://127.0.0.1:8181/v1/data/allow"))


class _Provider:
    def __init__(self, answer):
        self.answer = answer

    async def authenticate(self, request, guard):
        return self.answer


def _serve(answer, resource=GUARDED, **parts):
    return serve({"a": b"x"}, resources=[resource], authenticators={"id": _Provider(answer)}, **parts)


async def test_the_cookies_of_a_sign_in_are_sent():
    """Whatever the request is answered with carries them, and no shared cache keeps it."""
    async with _serve(SignIn(ANN, ("a=b",))) as site:
        answers = [await site.get("/a"), await site.get("/missing")]
    assert [each.headers["set-cookie"] for each in answers] == ["a=b", "a=b"]
    assert [each.headers["cache-control"] for each in answers] == ["private, no-cache", "no-store"]


@pytest.mark.parametrize(
    ("challenge", "status", "header", "sent"),
    [
        (Refuse(401, "nobody", challenge="Bearer"), 401, "www-authenticate", "Bearer"),
        (Refuse(307, "nobody", location="/auth/id"), 307, "location", "/auth/id"),
    ],
)
async def test_a_challenge_becomes_an_answer(challenge, status, header, sent):
    """With the header for programs, or the page for browsers."""
    async with _serve(challenge) as site:
        answer = await site.get("/a")
    assert (answer.status, answer.headers[header]) == (status, sent)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (SignIn(ANN), "ok"),
        (Refuse(307, "nobody", location="/auth/id"), "refused"),
        (Refuse(401, "wrong"), "refused"),
        (Refuse(503, "the provider cannot be reached"), "failed"),
    ],
)
async def test_each_sign_in_is_reported_with_its_outcome(answer, outcome):
    """Who is sent to the login is refused for now."""
    async with _serve(answer) as site:
        await site.get("/a")
    assert site.events[0] == SignInTried("id", "request", outcome)


@pytest.mark.parametrize(("body", "status"), [(b'{"result": true}', 200), (b"{}", 403), (b"<html>", 500), (None, 500)])
async def test_a_policy_server_that_does_not_permit_refuses(body, status):
    """A server that is down or answers nonsense is not the client's fault."""

    async def fetch(_wanted):
        if body is None:
            raise OSError("refused")
        return Fetched(200, body)

    async with _serve(SignIn(ANN), WITH_POLICY, fetch=fetch) as site:
        answer = await site.get("/a")
    assert answer.status == status
