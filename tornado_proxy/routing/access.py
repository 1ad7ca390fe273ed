"""Who may use a request path: a target's resources, compiled; the first that matches path and method decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tornado_proxy.config.model import BasicUser, Resource
from tornado_proxy.routing.keys import RequestPath


@dataclass(frozen=True, slots=True)
class Anyone:
    """Nobody need sign in."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """One of these users must sign in with this provider."""

    provider: str
    users: tuple[BasicUser, ...]


@dataclass(frozen=True, slots=True)
class Nobody:
    """No resource covers the request."""


Guard = Anyone | SignedIn | Nobody


class Access:
    """A target's resources; a target without any is open to anyone."""

    def __init__(self, resources: Sequence[Resource]) -> None:
        self._resources = tuple(resources)

    def guard(self, path: RequestPath, method: str) -> Guard:
        """Who may use a path with a method; HEAD goes with GET."""
        raise NotImplementedError
