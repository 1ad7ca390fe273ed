"""Who may use a request path: the first of a target's resources that matches path and method decides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tornado_proxy.config.model import BasicUser, Resource
from tornado_proxy.goregex.matching import FirstMatch, Pattern, compile_pattern
from tornado_proxy.routing.keys import RequestPath

_GLOB_PART = re.compile(r"/\*\*(?=/|$)|\*\*|\*|[^*/]+|/")

_GLOB_MEANING = {
    "/**": "(?:/.*)?",  # any number of whole segments, even zero: `/m/**` covers `/m`, as a mount does
    "**": ".*",
    "*": "[^/]*",
}


@dataclass(frozen=True, slots=True)
class Anyone:
    """Anyone may pass, without signing in."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """One of these users must sign in with this provider."""

    provider: str
    users: tuple[BasicUser, ...]
    _by_name: Mapping[str, BasicUser] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Of two users of one name the first stands, as everywhere else in a configuration.
        object.__setattr__(self, "_by_name", {each.user: each for each in reversed(self.users)})

    def find(self, name: str) -> BasicUser | None:
        """Returns the user of a name; None if it is not listed."""
        return self._by_name.get(name)


@dataclass(frozen=True, slots=True)
class Nobody:
    """Nobody may pass: no resource covers the request, or it names no way to sign in."""


Guard = Anyone | SignedIn | Nobody


@dataclass(frozen=True, slots=True)
class _Ruling:
    """The resources for one method, in order, and what each demands."""

    first_match: FirstMatch
    guards: tuple[Guard, ...]


class Access:
    """A target's resources, compiled; a target without resources is open to anyone."""

    def __init__(self, resources: Sequence[Resource]) -> None:
        self._resources = tuple((each, compile_pattern(path_expression(each.path))) for each in resources)
        methods = {method for each in resources for method in _methods(each)}
        self._rulings = {method: _ruling(self._for_method(method)) for method in methods}

    def guard(self, path: RequestPath, method: str) -> Guard:
        """Returns who may use a path with a method; HEAD goes with GET."""
        if not self._resources:
            return Anyone()
        ruling = self._rulings.get(method)
        found = ruling.first_match.find(path) if ruling else None
        return ruling.guards[found[0]] if ruling and found else Nobody()

    def covering(self, path: RequestPath, method: str) -> tuple[Resource, ...]:
        """Returns all resources that match, in order: the first decides, explain shows the others."""
        return tuple(each for each, pattern in self._for_method(method) if pattern.search(path))

    def _for_method(self, method: str) -> list[tuple[Resource, Pattern]]:
        return [pair for pair in self._resources if method in _methods(pair[0])]


def _methods(resource: Resource) -> frozenset[str]:
    methods = frozenset(resource.methods)
    return methods | {"HEAD"} if "GET" in methods else methods


def _ruling(resources: Iterable[tuple[Resource, Pattern]]) -> _Ruling:
    pairs = tuple(resources)
    return _Ruling(FirstMatch([pattern for _, pattern in pairs]), tuple(_guard(each) for each, _ in pairs))


def _guard(resource: Resource) -> Guard:
    if resource.white_list:
        return Anyone()
    # A resource that names no way to sign in lets nobody pass: a gap in a configuration never opens a door.
    return SignedIn(resource.provider, resource.users) if resource.provider else Nobody()


def path_expression(glob: str) -> str:
    """Returns the expression in Go's syntax that matches the paths a glob covers.

    `*` is any part of one segment, `**` any number of segments, all else stands for itself. `/public/**` covers
    `/public`, `/public/` and everything below; `/**` covers all.
    """
    parts = (_GLOB_MEANING.get(part) or re.escape(part) for part in _GLOB_PART.findall(glob))
    return rf"\A(?s:{''.join(parts)})\z"
