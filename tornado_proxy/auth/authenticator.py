"""The protocol of a way to sign in, and what it may answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.request import Request
from tornado_proxy.templates.data import User


class AuthBusy(Exception):
    """So many credentials wait to be checked that one more is turned away: a 503, to be tried again."""


@dataclass(frozen=True, slots=True)
class SignIn:
    """A user who is signed in; `cookies` are values of Set-Cookie for whatever the request is answered with."""

    user: User
    cookies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Challenge:
    """A request that goes no further until somebody signs in.

    `header` is the value of WWW-Authenticate, `location` the page where a browser can sign in. `reason` is for the log,
    never for the client.
    """

    status: int
    reason: str
    header: str = ""
    location: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a page that belongs to a provider: a redirect where there is a location, else an error."""

    status: int
    location: str = ""
    cookies: tuple[str, ...] = ()
    reason: str = ""


class Authenticator(Protocol):
    """One way to sign in; an instance for each configured provider."""

    async def authenticate(self, request: Request, guard: SignedIn) -> SignIn | Challenge:
        """Returns who makes the request, or how it is turned away; raises `AuthBusy`."""
        ...
