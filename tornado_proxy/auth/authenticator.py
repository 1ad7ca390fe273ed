"""The protocol of a way to sign in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.request import Request
from tornado_proxy.templates.data import User


class AuthBusy(Exception):
    """So many credentials wait to be checked that one more is turned away: a 503, to be tried again."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """How to ask for credentials: the value of WWW-Authenticate; `reason` is for the log, never for the client."""

    header: str
    reason: str


class Authenticator(Protocol):
    """One way to sign in; an instance for each configured provider."""

    async def authenticate(self, request: Request, guard: SignedIn) -> User | Challenge:
        """Who asks, if it is one whom the guard lists, or how to ask for credentials; raises `AuthBusy`."""
        ...
