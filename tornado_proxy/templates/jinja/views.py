"""What templates see: records with fixed fields, and look-ups whose names are the request's own.

A look-up has no attributes: `groups.items` is the group named `items`. A group that took no part is empty.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any, ClassVar

from tornado_proxy.goregex.matching import Captures
from tornado_proxy.templates.template import (
    MissingUserError,
    RequestData,
    TargetData,
    TargetKeyRewriteData,
    User,
    group_number,
)

Fields = Mapping[str, Callable[[Any], Any]]


class View(ABC):
    """Something that a template asks by name, and that has no other attributes."""

    __slots__ = ()

    @abstractmethod
    def entry(self, name: str) -> Any:
        """The value of a name; raises `KeyError` if there is none."""

    @abstractmethod
    def lack(self, name: str) -> str:
        """The message for a name without a value."""


class Lookup(View):
    """Values by name, from the request; `ENTRY` is the word for one of them in messages."""

    __slots__ = ()
    NAME: ClassVar[str]
    ENTRY: ClassVar[str]

    @abstractmethod
    def __iter__(self) -> Iterator[str]: ...

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and self.entry(name) is not None
        except KeyError:
            return False

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def lack(self, name: str) -> str:
        """The message for a name without a value."""
        return f"missing {self.ENTRY} `{name}`"


class GroupsView(Lookup):
    """What the source's groups took, by name and by number; 0 is the whole match."""

    __slots__ = ("_captures",)
    NAME = "`groups`"
    ENTRY = "group"

    def __init__(self, captures: Captures) -> None:
        self._captures = captures

    def entry(self, name: str) -> str:
        """The text of a group, by its name, or by its number in digits."""
        groups = self._captures.groups
        number = self._captures.names.get(name)
        if number is None:
            number = group_number(name)
        if number is None or number >= len(groups):
            raise KeyError(name)
        return groups[number] or ""

    def __iter__(self) -> Iterator[str]:
        return iter(self._captures.names)


class Pairs(Lookup):
    """The query's parameters."""

    __slots__ = ("_pairs",)
    NAME = "`request.query`"
    ENTRY = "query parameter"

    def __init__(self, pairs: tuple[tuple[str, str], ...]) -> None:
        self._pairs = pairs

    def entry(self, name: str) -> str:
        """The first value of a parameter."""
        for each, value in self._pairs:
            if each == name:
                return value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name for name, _ in self._pairs))


class Headers(Pairs):
    """The headers, whose names are found in any case."""

    __slots__ = ()
    NAME = "`request.headers`"
    ENTRY = "header"

    def entry(self, name: str) -> str:
        """The first value of a header."""
        wanted = name.lower()
        for each, value in self._pairs:
            if each.lower() == wanted:
                return value
        raise KeyError(name)


class Record(View):
    """A thing with fields; `NAME` is what templates call it, `FIELDS` how each field is taken from the data."""

    __slots__ = ("_data",)
    NAME: ClassVar[str]
    FIELDS: ClassVar[Fields]

    def __init__(self, data: Any) -> None:
        self._data = data

    def entry(self, name: str) -> Any:
        """The value of a field."""
        return self.FIELDS[name](self._data)

    def lack(self, name: str) -> str:
        """The message for an unknown field."""
        return f"{self.NAME} has no field `{name}`"


class _Mount(Record):
    __slots__ = ()
    NAME = "`target.mount`"
    FIELDS: ClassVar[Fields] = {"host": attrgetter("mount_host"), "path": attrgetter("mount_paths")}


class _Bucket(Record):
    __slots__ = ()
    NAME = "`target.bucket`"
    FIELDS: ClassVar[Fields] = {
        "name": attrgetter("bucket_name"),
        "prefix": attrgetter("bucket_prefix"),
        "region": attrgetter("bucket_region"),
    }


class TargetView(Record):
    """The target."""

    __slots__ = ()
    NAME = "`target`"
    FIELDS: ClassVar[Fields] = {"name": attrgetter("name"), "bucket": _Bucket, "mount": _Mount}
    _data: TargetData


class RequestView(Record):
    """The request."""

    __slots__ = ()
    NAME = "`request`"
    FIELDS: ClassVar[Fields] = {
        "method": attrgetter("method"),
        "host": attrgetter("host"),
        "path": attrgetter("path"),
        "scheme": attrgetter("scheme"),
        "remote_address": attrgetter("remote_address"),
        "query": lambda data: Pairs(data.query),
        "headers": lambda data: Headers(data.headers),
    }
    _data: RequestData


class UserView(Record):
    """Who is signed in."""

    __slots__ = ()
    NAME = "`user`"
    FIELDS: ClassVar[Fields] = {
        name: attrgetter(name)
        for name in ("username", "kind", "email", "groups", "name", "given_name", "family_name", "email_verified")
    }
    _data: User


class NobodyView(UserView):
    """Nobody is signed in: none and false, until something is read from it."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # equal to None without being it

    def entry(self, name: str) -> Any:
        """Never a value."""
        raise MissingUserError(f"the template reads `user.{name}`, but nobody is signed in")

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return other is None or isinstance(other, NobodyView)


_NOBODY = NobodyView(None)

RECORDS: Mapping[str, type[Record]] = {
    view.NAME.strip("`"): view for view in (UserView, RequestView, TargetView, _Bucket, _Mount)
}
"""The records by the names that reach them, so that a misspelt field is found at load."""

NAMES = ("user", "request", "target", "key", "groups")
"""The variables of every template."""


def variables(captures: Captures, data: TargetKeyRewriteData) -> dict[str, Any]:
    """The variables of one rendering."""
    return {
        "user": _NOBODY if data.user is None else UserView(data.user),
        "request": RequestView(data.request),
        "target": TargetView(data.target),
        "key": data.key,
        "groups": GroupsView(captures),
    }
