"""Requests to other services, an OpenID provider, a policy server or a webhook, and the question to a policy server.

A policy gets the input of s3-proxy (OPA's REST API, `POST /v1/data/...`).
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.iostream import UnsatisfiableReadError
from tornado.simple_httpclient import SimpleAsyncHTTPClient

from tornado_proxy.auth.limits import FETCH_WITHIN, LARGEST_ANSWER
from tornado_proxy.config.providers import OpaServer
from tornado_proxy.config.secrets import Unshown
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.semantics.request import Request, User
from tornado_proxy.wire.dialing import Names

if TYPE_CHECKING:
    from tornado.httpclient import AsyncHTTPClient


class Fetch(Unshown, frozen=True):
    """A request; without a method it is a POST if it has a body, else a GET. `timeout` is in seconds."""

    url: GuardedUrl
    headers: Mapping[str, str] = {}
    body: str | None = None
    method: str | None = None
    timeout: float | None = None


class Fetched(Unshown, frozen=True):
    """An answer."""

    status: int
    body: bytes

    def document(self) -> dict[str, Any]:
        """Returns the JSON object of a successful answer; raises `ValueError` with the reason why there is none."""
        if self.status != 200:
            raise ValueError(f"came with status {self.status}")
        try:
            document = json.loads(self.body)
            check_unicode(document)
        except (ValueError, RecursionError):
            raise ValueError("is not JSON") from None
        if not isinstance(document, dict):
            raise ValueError("is not an object")  # noqa: TRY004 - the value is the answer's, not the caller's
        return document


def check_unicode(document: object) -> None:
    """Raises `ValueError` if JSON has half a surrogate pair: it can be escaped (RFC 8259 8.2), but not be sent on."""
    json.dumps(document, ensure_ascii=False).encode()


Fetcher = Callable[[Fetch], Awaitable[Fetched]]  # sends a request; raises `OSError` if no complete answer comes in time


class HttpFetcher:
    """Fetches by HTTP; redirects are not followed, certificates are verified.

    Each server has a client of its own, since a client makes only so many requests at a time: a server that hangs
    would delay the requests to all others, and whoever begins logins can cause them.
    """

    def __init__(self, timeout: float = FETCH_WITHIN) -> None:
        self._timeout = timeout
        self._names = Names()
        self._clients: dict[tuple[str, str], AsyncHTTPClient] = {}  # by scheme and authority

    async def __call__(self, fetch: Fetch) -> Fetched:
        """Returns the answer; raises `OSError`."""
        url = fetch.url.reveal()
        server = urlsplit(url)[:2]
        if server not in self._clients:
            # It belongs to the loop that uses it; without `force_instance`, Tornado would share it in the process.
            self._clients[server] = SimpleAsyncHTTPClient(
                force_instance=True,
                max_clients=100,
                max_buffer_size=LARGEST_ANSWER,
                max_body_size=LARGEST_ANSWER,
                resolver=self._names,
            )
        request = HTTPRequest(
            url,
            method=fetch.method or ("GET" if fetch.body is None else "POST"),
            headers=dict(fetch.headers),
            body=fetch.body,
            connect_timeout=fetch.timeout or self._timeout,
            request_timeout=fetch.timeout or self._timeout,
            follow_redirects=False,
            allow_nonstandard_methods=True,  # a DELETE with a body
        )
        try:
            answer = await self._clients[server].fetch(request, raise_error=False)
        except (HTTPClientError, UnsatisfiableReadError, ValueError) as error:
            raise OSError(str(error)) from error
        if answer.code == 599:
            raise OSError(str(answer.error))
        return Fetched(answer.code, answer.body or b"")


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
    groups = list(user.groups)
    if user.kind == "OIDC":
        claims = {name: getattr(user, name) for name in _CLAIMS}
        who = {"preferred_username": user.username, "groups": groups, **claims}
    else:
        who = {"username": user.username, "email": user.email, "groups": groups}
    return {
        "user": who,
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
