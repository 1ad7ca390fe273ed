"""Access to request paths: the first resource of a target that matches path and method decides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from gotemplate.regexp.matching import FirstMatch, Pattern, compile_pattern
from tornado_proxy.config.providers import AccessRule, BasicUser, OpaServer, Resource
from tornado_proxy.rules.model import KeyFolding, fold
from tornado_proxy.semantics.request import RequestPath, User

_GLOB_PART = re.compile(r"/\*\*(?=/|$)|\*\*|\*|[^*/]+|/")

_GLOB_MEANING = {
    "/**": "(?:/.*)?",  # any number of whole segments, even zero: `/m/**` covers `/m`, as a mount does
    "**": ".*",
    "*": "[^/]*",
}


class Anyone(msgspec.Struct, frozen=True):
    """Lets everyone pass, without signing in."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Lets users of a provider pass: only `users` if there is such a list, else all."""

    provider: str
    users: tuple[BasicUser, ...] | None
    accesses: tuple[AccessRule, ...] = ()  # rules that authorize users
    opa: OpaServer | None = None  # a policy server
    _by_name: Mapping[str, BasicUser] = field(init=False, repr=False, compare=False)
    _rules: tuple[tuple[AccessRule, Pattern | None], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Of two users of one name the first stands, as everywhere else in a configuration.
        object.__setattr__(self, "_by_name", {each.user: each for each in reversed(self.users or ())})
        rules: list[tuple[AccessRule, Pattern | None]] = []
        for each in self.accesses:
            text = each.group or each.email or ""
            expression = f"(?i:{text})" if _is_of_any_case(each) else text
            rules.append((each, compile_pattern(expression) if each.regexp else None))
        object.__setattr__(self, "_rules", tuple(rules))

    def permits(self, user: User) -> bool:
        """Whether a signed-in user has access: the first matching rule decides; without rules, every user has access.

        As in s3-proxy, a `forbidden` rule refuses only users that no earlier rule allowed.
        """
        if self.users is not None and user.username not in self._by_name:
            return False
        matching = (rule for rule, pattern in self._rules if _matches(rule, pattern, user))
        rule = next(matching, None)
        return not rule.forbidden if rule else not self._rules

    def find(self, name: str) -> BasicUser | None:
        """Returns the user with a name; None if it is not listed."""
        return self._by_name.get(name)


def _is_of_any_case(rule: AccessRule) -> bool:
    """Whether case is ignored: mail providers ignore it, so case must not evade a `forbidden` rule."""
    return bool(rule.email and rule.forbidden)


def _matches(rule: AccessRule, pattern: Pattern | None, user: User) -> bool:
    values, demanded = (user.groups, rule.group) if rule.group else ((user.email,), rule.email or "")
    if _is_of_any_case(rule):
        values, demanded = (user.email.lower(),), demanded.lower()
    return any(pattern.search(each) is not None if pattern else each == demanded for each in values)


class Nobody(msgspec.Struct, frozen=True):
    """Lets nobody pass: no resource covers the request, or the resource has no provider."""


Guard = Anyone | SignedIn | Nobody


class AccessCheck(msgspec.Struct, frozen=True):
    """A check of access to a path, and the guard that decides."""

    path: RequestPath
    guard: Guard
    is_folded: bool = False  # whether the path is as the store reads it, not as it was sent


class Access:
    """A target's resources, compiled; a target without resources is open to everyone."""

    def __init__(self, resources: Sequence[Resource], folding: tuple[KeyFolding, ...] = ()) -> None:
        self._folding = folding
        folded = [replace(each, path=fold(each.path, folding)) for each in resources]
        self._folded = self if folded == list(resources) else Access(folded)
        self._resources = tuple((each, compile_pattern(path_expression(each.path))) for each in resources)
        # For each method its resources in order, and the guard of each.
        self._rulings: dict[str, tuple[FirstMatch, list[Guard]]] = {}
        for method in {method for each in resources for method in each.methods}:
            pairs = self._for_method(method)
            guards = [_guard(each) for each, _ in pairs]
            self._rulings[method] = FirstMatch([pattern for _, pattern in pairs]), guards

    def for_all_users(self) -> Access:
        """Returns access that lets every user of a provider pass: for requests whose users passed once."""
        bare = (Resource(each.path, each.methods, each.white_list, each.provider) for each, _ in self._resources)
        return Access(tuple(bare), self._folding)

    def checks(self, path: RequestPath, method: str) -> Iterator[AccessCheck]:
        """Yields the checks of a path, which must all let a request pass: as it was sent, and as the store reads it."""
        yield AccessCheck(path, self.guard(path, method))
        folded = RequestPath(fold(path, self._folding))
        if folded != path or self._folded is not self:
            yield AccessCheck(folded, self._folded.guard(folded, method), is_folded=True)

    def guard(self, path: RequestPath, method: str) -> Guard:
        """Returns the guard of a path and a method."""
        if not self._resources:
            return Anyone()
        if method not in self._rulings:
            return Nobody()
        first_match, guards = self._rulings[method]
        match = first_match.find(path)
        return guards[match[0]] if match else Nobody()

    def covering(self, check: AccessCheck, method: str) -> tuple[Resource, ...]:
        """Returns all matching resources in order: the first decides, `explain` shows the others."""
        if check.is_folded:
            return self._folded.covering(replace(check, is_folded=False), method)
        return tuple(each for each, pattern in self._for_method(method) if pattern.search(check.path))

    def _for_method(self, method: str) -> list[tuple[Resource, Pattern]]:
        return [pair for pair in self._resources if method in pair[0].methods]


def _guard(resource: Resource) -> Guard:
    if resource.white_list:
        return Anyone()
    # A resource that names no way to sign in lets nobody pass: a gap in a configuration never opens a door.
    if not resource.provider:
        return Nobody()
    if (authorization := resource.authorization) is None:
        return SignedIn(resource.provider, resource.users or None, (), resource.opa)
    return SignedIn(resource.provider, None, authorization.accesses, authorization.opa)


def path_expression(glob: str) -> str:
    """Returns an expression in Go's syntax that matches the paths of a glob.

    `*` matches any part of one segment, `**` any number of segments, other characters themselves. `/public/**` covers
    `/public`, `/public/` and everything below; `/**` covers all.
    """
    expressions = (_GLOB_MEANING.get(part) or re.escape(part) for part in _GLOB_PART.findall(glob))
    return rf"\A(?s:{''.join(expressions)})\z"
