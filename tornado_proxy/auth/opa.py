"""Authorization by an Open Policy Agent, which gets the input of s3-proxy (OPA's REST API, `POST /v1/data/...`)."""

from __future__ import annotations

import json
from typing import Any

from tornado_proxy.auth.fetching import Fetch, Fetcher
from tornado_proxy.config.providers import OpaServer
from tornado_proxy.semantics.request import Request, User

_CLAIMS = ("name", "given_name", "family_name", "email", "email_verified")


class PolicyUnavailable(Exception):
    """A policy server that gave no usable answer; the text is for the log."""


async def is_permitted(server: OpaServer, user: User, request: Request, fetch: Fetcher) -> bool:
    """Returns whether the policy permits a request; raises `PolicyUnavailable` if there is no usable answer."""
    body = json.dumps({"input": policy_input(user, request, dict(server.tags))})
    try:
        document = (await fetch(Fetch(server.url, {"Content-Type": "application/json"}, body))).document()
    except OSError as error:
        raise PolicyUnavailable(f"`{server.url}` gives no answer: {error}") from None
    except ValueError as error:
        raise PolicyUnavailable(f"the answer of `{server.url}` {error}") from None
    # OPA leaves `result` out where the policy is undefined: that is not a permission.
    return document.get("result") is True


def policy_input(user: User, request: Request, tags: dict[str, str]) -> dict[str, Any]:
    """Returns the input document of a policy."""
    path = f"{request.path}?{request.raw_query}" if request.raw_query else request.path
    # The first of two headers of one name counts, as in s3-proxy.
    headers = {name.lower(): value for name, value in reversed(request.headers)}
    return {
        "user": _user(user),
        "request": {
            "method": request.method,
            "protocol": request.protocol,
            "headers": headers,
            "remoteAddr": request.remote_address,
            "scheme": request.scheme,
            "host": request.host,
            "path": path,
            "parsed_path": [part for part in request.path.split("/") if part],
        },
        "tags": tags,
    }


def _user(user: User) -> dict[str, Any]:
    if user.kind == "OIDC":
        claims = {name: getattr(user, name) for name in _CLAIMS}
        return {"preferred_username": user.username, "groups": list(user.groups), **claims}
    return {"username": user.username, "email": user.email, "groups": list(user.groups)}
