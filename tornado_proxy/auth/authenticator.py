"""The protocol of authenticators, and the answers that they give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.request import Request
from tornado_proxy.templates.template import User


class AuthBusy(Exception):
    """Too many credentials wait to be checked: a 503, which the client may repeat."""


@dataclass(frozen=True, slots=True)
class SignIn:
    """A signed-in user; `cookies` are values of Set-Cookie for the answer of the request."""

    user: User
    cookies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Challenge:
    """A refusal of a request without valid credentials.

    `header` is the value of WWW-Authenticate, `location` the page where a browser can sign in. `reason` is for the log,
    never for the client.
    """

    status: int
    reason: str
    header: str = ""
    location: str = ""


@dataclass(frozen=True, slots=True)
class ProviderAnswer:
    """The answer of a page that belongs to a provider: a redirect where there is a location, else an error."""

    status: int
    location: str = ""
    cookies: tuple[str, ...] = ()
    reason: str = ""


class Authenticator(Protocol):
    """One way to sign in; an instance for each configured provider."""

    async def authenticate(self, request: Request, guard: SignedIn) -> SignIn | Challenge:
        """Returns the user, a challenge or an answer; raises `AuthBusy`."""
        ...
