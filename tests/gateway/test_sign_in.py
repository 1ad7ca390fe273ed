import asyncio

import pytest

from tornado_proxy.auth.authenticator import Challenge, SignIn
from tornado_proxy.auth.fetching import Fetched
from tornado_proxy.config.providers import OpaServer
from tornado_proxy.gateway.sign_in import Reception
from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.decide import Authenticate, Authorize, Decision
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.routing.request import Request
from tornado_proxy.telemetry.events import SignInTried
from tornado_proxy.templates.template import User

ANN = User("ann")
OPA = OpaServer("http://127.0.0.1:8181/v1/data/allow")


class _Provider:
    def __init__(self, answer):
        self.answer = answer

    async def authenticate(self, request, guard):
        return self.answer


def _reception(answer, body=b"{}", emit=lambda _event: None):
    async def fetch(_wanted):
        if body is None:
            raise OSError("refused")
        return Fetched(200, body)

    return Reception({"id": _Provider(answer)}, fetch, emit)


def test_cookies_of_a_sign_in_are_kept_for_the_answer():
    """Whatever the request is answered with carries them."""
    reception = _reception(SignIn(ANN, ("a=b", "c=d")))
    question = Authenticate(Decision(Request(), ()), SignedIn("id", None))
    assert asyncio.run(reception.authenticate(question)) == ANN
    assert reception.cookies == (("Set-Cookie", "a=b"), ("Set-Cookie", "c=d"))


@pytest.mark.parametrize(
    ("cookies", "given", "sent"),
    [
        ((), (), (("Cache-Control", "private, no-cache"),)),
        ((), (("Cache-Control", "public"), ("ETag", "x")), (("Cache-Control", "public"), ("ETag", "x"))),
        ((), (("Cache-Control", "no-cache"),), (("Cache-Control", "private, no-cache"),)),
        (("a=b",), (("Cache-Control", "public"),), (("Cache-Control", "private, no-cache"), ("Set-Cookie", "a=b"))),
        (("a=b",), (("Cache-Control", "no-store"),), (("Cache-Control", "no-store"), ("Set-Cookie", "a=b"))),
    ],
)
def test_what_one_user_is_sent_stays_out_of_shared_caches(cookies, given, sent):
    """Unless the object says otherwise; a session is never shared."""
    reception = _reception(SignIn(ANN, cookies))
    asyncio.run(reception.authenticate(Authenticate(Decision(Request(), ()), SignedIn("id", None))))
    assert reception.is_private
    assert reception.with_private_caching(given) == sent


@pytest.mark.parametrize("name", ["Cache-Control", "cache-control"])
def test_an_isolated_user_s_file_stays_out_of_shared_caches(name):
    """The same URL is another object for another user, whatever the object says."""
    given = ((name, "public, max-age=600"), ("ETag", "x"))
    sent = _reception(SignIn(ANN)).with_private_caching(given, is_isolated=True)
    assert sent == (("ETag", "x"), ("Cache-Control", "private, no-cache"))


def test_a_challenge_becomes_a_refusal():
    """With the header for programs, or the page for browsers."""
    question = Authenticate(Decision(Request(), ()), SignedIn("id", None))
    asked = asyncio.run(_reception(Challenge(401, "nobody", "Bearer")).authenticate(question))
    assert asked == Refuse(401, "nobody", challenge="Bearer")
    sent = asyncio.run(_reception(Challenge(307, "nobody", location="/auth/id")).authenticate(question))
    assert sent == Refuse(307, "nobody", location="/auth/id")


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (SignIn(ANN), "ok"),
        (Challenge(307, "nobody", location="/auth/id"), "refused"),
        (Challenge(401, "wrong"), "refused"),
        (Challenge(503, "the provider cannot be asked"), "failed"),
    ],
)
def test_each_sign_in_is_told_with_its_outcome(answer, outcome):
    """Who is sent to the login is refused for now."""
    events = []
    question = Authenticate(Decision(Request(), ()), SignedIn("id", None))
    asyncio.run(_reception(answer, emit=events.append).authenticate(question))
    assert events == [SignInTried("id", "request", outcome)]


@pytest.mark.parametrize(
    ("body", "permitted"),
    [
        (b'{"result": true}', True),
        (b"{}", False),
        (b"<html>", Refuse(500, "the policy server does not decide")),
        (None, Refuse(500, "the policy server does not decide")),
    ],
)
def test_a_policy_server_that_does_not_permit_refuses(body, permitted):
    """Nor does one that is down or answers nonsense, which is not the client's fault."""
    question = Authorize(Decision(Request(), ()), OPA, ANN)
    assert asyncio.run(_reception(SignIn(ANN), body).authorize(question)) == permitted
