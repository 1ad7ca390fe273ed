"""Sign-in over HTTP with providers and policy servers."""

import json

import pytest
from fakes import Answering
from serving import serve

from tornado_proxy.auth.authenticator import ProviderAnswer, SignIn
from tornado_proxy.config.providers import OidcProvider, OpaServer, Resource
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.semantics.request import User
from tornado_proxy.telemetry.events import AccessDecided, SignInTried
from tornado_proxy.wire.dialing import Fetched

ANN = User("ann")
OPA = OpaServer(GuardedUrl("http://127.0.0.1:8181/v1/data/allow"), (("team", "a"),))
GUARDED = Resource("/**", ("GET",), provider="id")
WITH_POLICY = Resource("/**", ("GET",), provider="id", opa=OPA)


def _serve(answer, resource=GUARDED, **parts):
    return serve({"a": b"x"}, resources=[resource], authenticators={"id": Answering(answer)}, **parts)


async def test_the_cookies_of_a_sign_in_are_sent():
    async with _serve(SignIn(ANN, ("a=b",))) as site:
        answers = [await site.get("/a"), await site.get("/missing")]
    assert [answer.headers["set-cookie"] for answer in answers] == ["a=b", "a=b"]
    assert [answer.headers["cache-control"] for answer in answers] == ["private, no-cache", "no-store"]


@pytest.mark.parametrize(
    ("challenge", "status", "header", "expected"),
    [
        (Refuse(401, "nobody", challenge="Bearer"), 401, "www-authenticate", "Bearer"),
        (Refuse(307, "nobody", location="/auth/id"), 307, "location", "/auth/id"),
    ],
)
async def test_a_challenge_becomes_an_answer(challenge, status, header, expected):
    """A challenge is a 401 with WWW-Authenticate, or a redirect to the login page; neither is cached."""
    async with _serve(challenge) as site:
        answer = await site.get("/a")
    assert (answer.status, answer.headers[header], answer.headers["cache-control"]) == (status, expected, "no-store")


async def test_an_upload_after_a_session_is_told_so():
    """A page whose session has ended shows these words for an upload or a deletion: `see` would not fit."""
    uploads = Resource("/**", ("PUT",), provider="id")
    async with _serve(Refuse(401, "nobody", challenge="Bearer"), uploads) as site:
        answer = await site.request("PUT", "/a", {"Accept": "application/json"}, b"x")
    assert json.loads(answer.body)["message"] == "You are not signed in, or your session has ended"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "This sign-in is not valid or took too long; open the page again"),
        (401, "You were not signed in; open the page again"),
        (403, "You do not have access to this"),
        (502, "The place where you sign in could not be reached or gave an invalid answer"),
    ],
)
async def test_a_failed_sign_in_is_not_blamed_on_something_else(status, words):
    """The page of a failed step speaks of the sign-in, not of the storage or of the address."""

    class _Failing(Answering):
        @property
        def pages(self):
            return {"callback": self._failed}

        async def _failed(self, request):
            return ProviderAnswer(status, "/auth/id?rd=%2Fa", reason="for the log")

    issuer = GuardedUrl("http://127.0.0.1:1")
    settings = {"providers": [OidcProvider("id", issuer, "files")], "authenticators": {"id": _Failing(None)}}
    async with serve({}, **settings) as site:
        answer = await site.get("/auth/id/callback", Accept="application/json")
        page = await site.get("/auth/id/callback", Accept="text/html")
    assert (answer.status, json.loads(answer.body)["message"]) == (status, words)
    assert '<a class="button" href="/auth/id?rd=%2Fa">Sign in</a>' in page.text


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
    """A redirect to the login page is reported as an error."""
    async with _serve(answer) as site:
        await site.get("/a")
    assert site.events[0] == SignInTried("id", "request", outcome)


@pytest.mark.parametrize(
    ("answer", "status", "outcome"),
    [
        (Fetched(200, b'{"result": true}'), 200, "ok"),
        *((Fetched(200, body), 403, "refused") for body in (b'{"result": false}', b"{}", b'{"result": "true"}')),
        *((Fetched(200, body), 500, "failed") for body in (b"<html>", b"[]")),
        *((each, 500, "failed") for each in (Fetched(500, b"{}"), OSError("refused"))),
    ],
)
async def test_a_policy_server_decides_the_status(answer, status, outcome, caplog):
    """Only `true` permits, and no result is a denial, a 403; a policy server that fails is a 500; each is reported."""
    asked = []

    async def fetch(wanted):
        asked.append(json.loads(wanted.body)["input"]["tags"])
        if isinstance(answer, OSError):
            raise answer
        return answer

    async with _serve(SignIn(ANN), WITH_POLICY, fetch=fetch) as site:
        assert (await site.get("/a")).status == status
    assert AccessDecided("id", outcome) in site.events
    assert asked == [{"team": "a"}]
    assert ("gives no answer: refused" in caplog.text) is isinstance(answer, OSError)
