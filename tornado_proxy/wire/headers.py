"""The head of a message, kept as it came, behind Tornado's interface."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from tornado.httputil import HTTPConnection, HTTPHeaders

from tornado_proxy.wire.limits import HEADER_NAMES_KEPT, LONGEST_NAME_KEPT

Pairs = tuple[tuple[str, str], ...]


def spelt(name: str) -> str:
    """Returns the name of a header as it is usually spelt: each word with a capital."""
    return _kept(name) if len(name) <= LONGEST_NAME_KEPT else _capitalized(name)


def _capitalized(name: str) -> str:
    return "-".join([word.capitalize() for word in name.split("-")])


_kept = lru_cache(HEADER_NAMES_KEPT)(_capitalized)


class Fields(HTTPHeaders):
    """Header fields in order; a look-up takes the name in any case, and joins several values by a comma.

    `HTTPHeaders` checks and copies each field, which costs more than all else that a small file needs. The maker of
    these has checked them: `pairs` are kept as they are, and so is the mapping that it may have `joined` already.
    """

    def __init__(self, pairs: Pairs = (), joined: dict[str, str] | None = None) -> None:
        self._pairs = pairs
        self._joined = joined

    def get_all(self) -> Pairs:
        """Returns all names and values, in order."""
        return self._pairs

    def get_list(self, name: str) -> list[str]:
        """Returns the values of a name, in order."""
        usual = spelt(name)
        return [value for each, value in self._pairs if spelt(each) == usual]

    def add(self, name: str, value: str, *, _chars_are_bytes: bool = True) -> None:
        """Adds a field behind the others; raises `HTTPInputError` for an invalid one."""
        checked = HTTPHeaders()
        checked.add(name, value)
        (pair,) = checked.get_all()
        self._pairs = (*self._pairs, pair)
        self._joined = None

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override] # no other default is used
        """Returns the value of a name."""
        return (self._joined or self.joined).get(_kept(name), default)

    def copy(self) -> Fields:
        """Returns fields that change on their own."""
        return Fields(self._pairs)

    __copy__ = copy

    def __getitem__(self, name: str) -> str:
        return self.joined[spelt(name)]

    def __setitem__(self, name: str, value: str) -> None:
        self._pairs = self._others(name)
        self.add(name, value)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self._pairs, self._joined = self._others(name), None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and spelt(name) in self.joined

    def __iter__(self) -> Iterator[str]:
        return iter(self._joined or self.joined)

    def __len__(self) -> int:
        return len(self.joined)

    def _others(self, name: str) -> Pairs:
        usual = spelt(name)
        return tuple([pair for pair in self._pairs if spelt(pair[0]) != usual])

    @property
    def joined(self) -> dict[str, str]:
        """The fields as a mapping, with names spelt like `Content-Type`."""
        if self._joined is None:
            joined: dict[str, str] = {}
            for sent, value in self._pairs:
                name = spelt(sent)
                joined[name] = f"{joined[name]},{value}" if name in joined else value
            self._joined = joined
        return self._joined


class Asked(NamedTuple):
    """The head of a request as it came, and the connection that takes the answer."""

    method: str
    uri: str
    version: str
    headers: HTTPHeaders
    connection: HTTPConnection
