"""The variables of templates: records, whose fields are fixed, and lookups, whose names come from the request.

A lookup has no attributes of its own: `groups.items` is the group `items`. A group that took no part is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any

from gotemplate.regexp.matching import Captures, group_number
from tornado_proxy.templates.data import TargetKeyRewriteData
from tornado_proxy.templates.template import MissingUserError


class Record:
    """A value with the fields that `RECORDS` has for its name."""

    def __init__(self, name: str, data: Any) -> None:
        self.name = name
        self._fields = RECORDS[name]
        self._data = data

    def entry(self, name: str) -> Any:
        """Returns the value of a field; raises `KeyError` if there is none."""
        return self._fields[name](self._data)

    def missing(self, name: str) -> str:
        """Returns the message for an unknown field."""
        return f"`{self.name}` has no field `{name}`"


class NoUser(Record):
    """The user if nobody is signed in: equal to none and false, until something is read from it."""

    __hash__ = None  # type: ignore[assignment]  # it equals None, but is not None

    def entry(self, name: str) -> Any:
        """Raises `MissingUserError`."""
        raise MissingUserError(f"the template reads `user.{name}`, but nobody is signed in")

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return other is None or isinstance(other, NoUser)


class Lookup:
    """Values by name; the first of a name counts. Names that `fold` makes equal are one; messages call one a `kind`."""

    def __init__(
        self, name: str, kind: str, pairs: Iterable[tuple[str, str]], fold: Callable[[str], str] = str
    ) -> None:
        self.name = name
        self._kind = kind
        self._fold = fold
        self._values: dict[str, str] = {}
        for each, value in pairs:
            self._values.setdefault(fold(each), value)

    def entry(self, name: str) -> str:
        """Returns the value of a name; raises `KeyError` if there is none."""
        return self._values[self._fold(name)]

    def missing(self, name: str) -> str:
        """Returns the message for a name without a value."""
        return f"missing {self._kind} `{name}`"

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and self.entry(name) is not None
        except KeyError:
            return False

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class GroupLookup(Lookup):
    """The groups of a match by name and by number; 0 is the whole match."""

    def __init__(self, captures: Captures) -> None:
        self._groups = captures.groups
        named = ((name, captures.groups[number] or "") for name, number in captures.names.items())
        super().__init__("groups", "group", named)

    def entry(self, name: str) -> str:
        """Returns the text of a group; raises `KeyError` if there is none."""
        number = None if name in self._values else group_number(name)
        if number is None or number >= len(self._groups):
            return super().entry(name)
        return self._groups[number] or ""


def _plain(*names: str) -> dict[str, Callable[[Any], Any]]:
    """Returns fields that have the name of the data's attribute."""
    return {name: attrgetter(name) for name in names}


RECORDS: Mapping[str, Mapping[str, Callable[[Any], Any]]] = {
    "user": _plain("username", "kind", "email", "groups", "name", "given_name", "family_name", "email_verified"),
    "request": {
        **_plain("method", "host", "path", "scheme", "remote_address"),
        "query": lambda request: Lookup("request.query", "query parameter", request.query),
        "headers": lambda request: Lookup("request.headers", "header", request.headers, str.lower),
    },
    "target": {
        "name": attrgetter("name"),
        "bucket": lambda target: Record("target.bucket", target),
        "mount": lambda target: Record("target.mount", target),
    },
    "target.bucket": {name: attrgetter(f"bucket_{name}") for name in ("name", "prefix", "region")},
    "target.mount": {"host": attrgetter("mount_host"), "path": attrgetter("mount_paths")},
}
"""The fields of each record; a misspelt one is found at load."""

NAMES = ("user", "request", "target", "key", "groups")  # the variables of every template


def variables(captures: Captures, data: TargetKeyRewriteData) -> dict[str, Any]:
    """Returns the variables of one rendering."""
    return {
        "user": NoUser("user", None) if data.user is None else Record("user", data.user),
        "request": Record("request", data.request),
        "target": Record("target", data.target),
        "key": data.key,
        "groups": GroupLookup(captures),
    }
