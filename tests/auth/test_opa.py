import asyncio
import json

import pytest

from tornado_proxy.auth.authenticator import PolicyUnavailable, is_permitted, policy_input
from tornado_proxy.config.providers import OpaServer
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.semantics.request import Request, RequestPath, User
from tornado_proxy.wire.dialing import Fetched

SERVER = OpaServer(GuardedUrl("http://127.0.0.1:8181/v1/data/files/allow"), (("team", "a"),))
ANN = User("ann", "OIDC", "ann@example.org", ("editors",), "Ann Lee", "Ann", "Lee", email_verified=True)


def _ask_policy(status, body):
    requests = []

    async def fetch(request):
        requests.append(request)
        return Fetched(status, body)

    return asyncio.run(is_permitted(SERVER, ANN, Request(), fetch)), requests


def test_the_policy_gets_the_user_the_request_and_the_tags():
    """The policy's input has the names that policies of s3-proxy read."""
    headers = (("Accept", "text/html"), ("X-A", "1"), ("x-a", "2"))
    request = Request(
        "GET",
        "files.example",
        RequestPath("/v2/a b"),
        headers=headers,
        raw_query="x=1",
        remote_address="192.0.2.1",
        protocol="HTTP/2.0",
    )
    assert policy_input(ANN, request, {"team": "a"}) == {
        "user": {
            "preferred_username": "ann",
            "name": "Ann Lee",
            "groups": ["editors"],
            "given_name": "Ann",
            "family_name": "Lee",
            "email": "ann@example.org",
            "email_verified": True,
        },
        "request": {
            "method": "GET",
            "protocol": "HTTP/2.0",
            "headers": {"accept": "text/html", "x-a": "1"},
            "remoteAddr": "192.0.2.1",
            "scheme": "http",
            "host": "files.example",
            "path": "/v2/a b?x=1",
            "parsed_path": ["v2", "a b"],
        },
        "tags": {"team": "a"},
    }
    user = policy_input(User("ben", "HEADER", "b@c", ("x",)), Request(), {})["user"]
    assert user == {"username": "ben", "email": "b@c", "groups": ["x"]}


@pytest.mark.parametrize(
    ("document", "permitted"),
    [({"result": True}, True), ({"result": False}, False), ({}, False), ({"result": "true"}, False)],
)
def test_only_true_is_a_permission(document, permitted):
    """Only the result `true` permits; OPA omits the result if the policy is undefined."""
    answer, (request,) = _ask_policy(200, json.dumps(document).encode())
    assert answer is permitted
    assert json.loads(request.body)["input"]["tags"] == {"team": "a"}


@pytest.mark.parametrize(("status", "body"), [(500, b"{}"), (200, b"<html>"), (200, b"[]")])
def test_an_answer_without_a_decision_is_an_error(status, body):
    """A policy server that answers without a decision raises PolicyUnavailable."""
    with pytest.raises(PolicyUnavailable):
        _ask_policy(status, body)


def test_a_server_that_is_down_is_an_error():
    """A policy server that gives no answer raises PolicyUnavailable."""

    async def fetch(_request):
        raise OSError("refused")

    with pytest.raises(PolicyUnavailable, match="gives no answer: refused"):
        asyncio.run(is_permitted(SERVER, ANN, Request(), fetch))
