"""The protocol of authenticators, and two simple ones: by headers of a proxy, and by certificates of clients.

A proxy that has signed a user in names the user in headers. Every client can send such headers, so only connections
from `server.trustedProxies` are trusted. Behind a proxy that ends TLS, there is no certificate of the user.
A policy server may be asked besides; it gets the input of s3-proxy (OPA's REST API, `POST /v1/data/...`).
This module also recognizes requests that pages of other origins make (CSRF), and open redirects.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from tornado_proxy.auth.limits import LONGEST_RETURN
from tornado_proxy.config.providers import CertificateProvider, HeaderProvider, OpaServer, Step
from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.rules.model import segment_objection
from tornado_proxy.semantics.request import READING, Request, StatusError, User, groups_of
from tornado_proxy.wire.dialing import Fetch, Fetcher


class AuthBusy(StatusError):
    """Too many passwords wait to be checked; answered with 503, so that the client tries again."""

    status = 503


class SignIn(msgspec.Struct, frozen=True):
    """A signed-in user; `cookies` are values of Set-Cookie for the answer of the request."""

    user: User
    cookies: tuple[str, ...] = ()


class ProviderAnswer(msgspec.Struct, frozen=True):
    """The answer of a provider's page: a redirect, or an error that offers `location`; `reason` is for the log."""

    status: int
    location: str = ""
    cookies: tuple[str, ...] = ()
    reason: str = ""


SignInPage = Callable[[Request], Awaitable[ProviderAnswer]]


class Authenticator(Protocol):
    """One way to sign in; an instance for each configured provider."""

    @property
    def pages(self) -> Mapping[Step, SignInPage]:
        """The provider's own pages; most providers have none."""
        return {}

    async def authenticate(self, request: Request, guard: SignedIn) -> SignIn | Refuse:
        """Returns the user or `Refuse`; raises `AuthBusy`."""


class HeaderAuthenticator(Authenticator):
    """Signs in the users that a trusted proxy names."""

    def __init__(self, provider: HeaderProvider) -> None:
        self._provider = provider

    async def authenticate(self, request: Request, guard: SignedIn) -> SignIn | Refuse:  # noqa: ARG002 - the protocol
        """Returns the user that the headers name, or a 401 if the connection is not trusted."""
        if not request.from_trusted_proxy:
            return Refuse(401, f"`{request.remote_address}` is not one of `server.trustedProxies`")
        provider = self._provider
        username = _only(request, provider.username_header)
        email = _only(request, provider.email_header)
        if not username or not email:
            missing = provider.email_header if username else provider.username_header
            return Refuse(401, f"the header `{missing}` is missing, empty or given twice")
        if objection := segment_objection(username):
            return Refuse(401, f"the user's name {objection}")
        listed = _only(request, provider.groups_header) if provider.groups_header else ""
        return SignIn(User(username, "HEADER", email, groups_of(listed)))


def _only(request: Request, name: str) -> str:
    """Returns the value of a header, decoded as UTF-8; empty if it is missing or given twice, which is a forgery."""
    values = header_values(request, name)
    if len(values) != 1:
        return ""
    try:
        return values[0].encode("latin-1").decode()
    except ValueError:
        return values[0]


class CertificateAuthenticator(Authenticator):
    """Signs in the users whom certificates name; `clock` gives the seconds since 1970."""

    def __init__(self, provider: CertificateProvider, clock: Callable[[], float]) -> None:
        self._provider = provider
        self._clock = clock

    async def authenticate(self, request: Request, guard: SignedIn) -> SignIn | Refuse:  # noqa: ARG002 - the protocol
        """Returns the user whom the connection's certificate names, or `Refuse`."""
        certificate = request.certificate
        if certificate is None:
            reason = "a proxy's certificate names no user" if request.from_trusted_proxy else "there is no certificate"
            return Refuse(401, reason)
        if certificate.expires <= self._clock():
            return Refuse(401, "the certificate has expired since the connection began")
        by_email = self._provider.username == "email"
        names = certificate.emails if by_email else certificate.common_names
        if len(names) != 1:
            return Refuse(401, f"the certificate has {len(names)} {'email addresses' if by_email else 'common names'}")
        if objection := segment_objection(names[0]):
            return Refuse(401, f"the user's name {objection}")
        # Browsers send certificates with every request, like cookies.
        if request.method not in READING and is_cross_origin(request):
            return Refuse(403, "a page of another origin made the request")
        email = certificate.emails[0] if certificate.emails else ""
        return SignIn(User(names[0], "CERTIFICATE", email, certificate.units))


def header_values(request: Request, name: str) -> list[str]:
    """Returns the values of all headers of a name."""
    return [value for each, value in request.headers if each.lower() == name.lower()]


def header(request: Request, name: str) -> str:
    """Returns the first value of a header; empty if it is missing."""
    return next(iter(header_values(request, name)), "")


def origin(request: Request) -> str:
    """Returns the origin of this site as the client sees it."""
    return f"{request.scheme}://{request.authority}"


def is_cross_origin(request: Request) -> bool:
    """Whether a browser made the request for a page of another origin (Fetch Metadata; RFC 6454).

    Newer browsers say so in Sec-Fetch-Site on secure connections; all others name the page's origin.
    """
    if site := header(request, "sec-fetch-site"):
        return site not in ("same-origin", "none")
    # A proxy that is not trusted may have ended TLS.
    own = origin(request).lower(), f"https://{request.authority}".lower()
    return header(request, "origin").lower() not in ("", *own)


def opens_page(request: Request) -> bool:
    """Whether the client is a browser that opens a page, and not a program or a script."""
    if request.method not in READING or header(request, "x-requested-with"):
        return False
    mode = header(request, "sec-fetch-mode")
    if mode != "navigate" and (mode or header(request, "authorization")):
        # A browser that adds a password of another page still says that it opens a page.
        return False
    accept = header(request, "accept")
    # Without TLS, that of a picture or a style sheet, which ends in `*/*`, is all that tells it from a page.
    return accept in ("", "*/*") or "text/html" in accept


def leads_back(address: str, request: Request) -> bool:
    """Whether every browser reads an address as one of this origin; prevents open redirects."""
    if len(address) > LONGEST_RETURN or any(each <= " " or each in "\\\x7f" for each in address):
        # Browsers drop tabs and line ends, and read `\` as `/`.
        return False
    try:
        split = urlsplit(address)
        authority = split.netloc
    except ValueError:
        return False
    if not authority:
        return address.startswith("/") and not address.startswith("//") and not split.scheme
    return split.scheme == request.scheme and authority.lower() == request.authority.lower()


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
