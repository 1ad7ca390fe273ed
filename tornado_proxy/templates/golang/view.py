"""The data of a request as Go programs see it: the fields and methods that templates written for s3-proxy read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Generic, NoReturn, TypeVar

from tornado_proxy.goregex.matching import Captures
from tornado_proxy.templates.data import TargetData, TargetKeyRewriteData, User
from tornado_proxy.templates.errors import MissingUserError
from tornado_proxy.templates.golang.calling import Function, function
from tornado_proxy.templates.golang.limits import ExecutionError, RenderBudget
from tornado_proxy.templates.golang.request import REQUEST, RequestFacts, request_facts
from tornado_proxy.templates.golang.text import go_string
from tornado_proxy.templates.golang.values import (
    INVALID,
    STRING_SLICE,
    Int64,
    Map,
    Nil,
    Slice,
    Struct,
    StructType,
    Type,
    Value,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RootFacts:
    """What the outermost dot stands for."""

    key: bytes
    user: User | None
    target: TargetData
    request: Callable[[], RequestFacts]
    groups: Callable[[], Map]
    nobody: Nil


class Once(Generic[T]):
    """What is made when it is first asked for, and the same from then on."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: T | None = None

    def __call__(self) -> T:
        """What was made, or is made now."""
        if self._made is None:
            self._made = self._make()
        return self._made


class AbsentUser(Nil):
    """The user where nobody is signed in: false and empty, but reading its members fails."""

    __slots__ = ()

    def __init__(self) -> None:
        """There is nothing to know."""

    @property
    def type(self) -> NoReturn:  # type: ignore[override]
        """Raises: a template has read from the user."""
        raise MissingUserError("the template reads from the user, but nobody is signed in")


class GroupMap(Map):
    """What the source's groups took, by name and by number; one that does not exist is an error, not empty."""

    __slots__ = ()

    def lookup(self, key: Value) -> Value:
        """The value of a key."""
        found = self.get(key, INVALID)
        if found is INVALID:
            raise ExecutionError(f"unknown group `{key.decode('utf-8', 'replace')}`")
        return found


def _strings(texts: tuple[str, ...]) -> Slice:
    return Slice(map(go_string, texts), STRING_SLICE, nil=not texts)


def _reading(attribute: Callable[[User], str]) -> Callable[[User], bytes]:
    return lambda user: go_string(attribute(user))


_USER_ATTRIBUTES: Mapping[bytes, Callable[[User], Value]] = {
    b"GetEmail": _reading(lambda user: user.email),
    b"GetFamilyName": _reading(lambda user: user.family_name),
    b"GetGivenName": _reading(lambda user: user.given_name),
    b"GetGroups": lambda user: _strings(user.groups),
    b"GetIdentifier": _reading(lambda user: user.username or user.email),
    b"GetName": _reading(lambda user: user.name),
    b"GetType": _reading(lambda user: user.kind),
    b"GetUsername": _reading(lambda user: user.username),
    b"IsEmailVerified": lambda user: user.email_verified,
}


def _of_user(read: Callable[[User], Value]) -> Function:
    return function(lambda receiver: read(receiver.source))


_USER_METHODS = {name: _of_user(read) for name, read in _USER_ATTRIBUTES.items()}


def _user_type(name: str, fields: Mapping[bytes, bytes]) -> StructType:
    """A kind of user: each field gives what a method gives."""
    getters = {field: _USER_ATTRIBUTES[method] for field, method in fields.items()}
    return StructType(name, "ptr", methods=_USER_METHODS, getters=getters)


USERS: Mapping[str, StructType] = MappingProxyType(
    {
        "BASIC": _user_type("*models.BasicAuthUser", {b"Username": b"GetUsername"}),
        "HEADER": _user_type(
            "*models.HeaderUser", {b"Username": b"GetUsername", b"Email": b"GetEmail", b"Groups": b"GetGroups"}
        ),
        "OIDC": _user_type(
            "*models.OIDCUser",
            {
                b"PreferredUsername": b"GetUsername",
                b"Name": b"GetName",
                b"GivenName": b"GetGivenName",
                b"FamilyName": b"GetFamilyName",
                b"Email": b"GetEmail",
                b"Groups": b"GetGroups",
                b"EmailVerified": b"IsEmailVerified",
            },
        ),
    }
)
"""The kinds of users; which fields one has depends on how it signed in, all have the same methods."""


def user_value(user: User) -> Struct:
    """The user, as what it is to Go."""
    return Struct(USERS.get(user.kind, USERS["BASIC"]), user, boxed=True)


GENERIC_USER = Type("models.GenericUser", "interface")


BUCKET = StructType(
    "*config.BucketConfig",
    "ptr",
    getters={
        b"Name": lambda target: go_string(target.bucket_name),
        b"Prefix": lambda target: go_string(target.bucket_prefix),
        b"Region": lambda target: go_string(target.bucket_region),
        b"S3Endpoint": lambda target: go_string(target.bucket_s3_endpoint),
        b"S3ListMaxKeys": lambda target: Int64(target.bucket_list_max_keys),
        b"DisableSSL": lambda target: target.bucket_disable_ssl,
    },
)

MOUNT = StructType(
    "*config.MountConfig",
    "ptr",
    getters={
        b"Host": lambda target: go_string(target.mount_host),
        b"Path": lambda target: _strings(target.mount_paths),
    },
)

TARGET = StructType(
    "*config.TargetConfig",
    "ptr",
    getters={
        b"Name": lambda target: go_string(target.name),
        b"Bucket": lambda target: Struct(BUCKET, target),
        b"Mount": lambda target: Struct(MOUNT, target),
    },
)

ROOT = StructType(
    "*bucket.targetKeyRewriteData",
    "ptr",
    opaque=True,
    getters={
        b"Request": lambda facts: Struct(REQUEST, facts.request()),
        b"User": lambda facts: facts.nobody if facts.user is None else user_value(facts.user),
        b"Target": lambda facts: Struct(TARGET, facts.target),
        b"Key": lambda facts: facts.key,
        b"Groups": lambda facts: facts.groups(),
    },
)

_NOBODY = AbsentUser()


def facts_of(captures: Captures, data: TargetKeyRewriteData, budget: RenderBudget) -> RootFacts:
    """The facts that a rule's template reads; what is dear is made at first use, and charged to the budget."""
    request, groups = Once(partial(request_facts, data.request, budget)), Once(partial(_groups, captures))
    return RootFacts(go_string(data.key), data.user, data.target, request, groups, _NOBODY)


def _groups(captures: Captures) -> GroupMap:
    groups = GroupMap({b"%d" % number: go_string(text or "") for number, text in enumerate(captures.groups)})
    for name, number in captures.names.items():
        groups[go_string(name)] = groups[b"%d" % number]
    return groups


def root(facts: RootFacts) -> Struct:
    """The outermost dot."""
    return Struct(ROOT, facts)
