"""Ranges of bytes: the Range and Content-Range headers (RFC 9110 14)."""

from __future__ import annotations

import re
from dataclasses import dataclass

# ranges-specifier with one range-spec of the unit `bytes`, a name in any case (RFC 9110 14.1 and 14.1.2).
_RANGE = re.compile(r"bytes=[ \t]*(?P<first>[0-9]*)-(?P<last>[0-9]*)[ \t]*", re.IGNORECASE)

# Content-Range = range-unit SP ( range-resp / unsatisfied-range ) (RFC 9110 14.4).
_CONTENT_RANGE = re.compile(r"bytes (?:(?P<first>[0-9]+)-(?P<last>[0-9]+)|\*)/(?P<size>[0-9]+|\*)", re.IGNORECASE)

_BEYOND_ANY_OBJECT = 2**63 - 1
_MOST_DIGITS = len(str(_BEYOND_ANY_OBJECT))


def _number(digits: str) -> int:
    """A number as written; one beyond any object's size counts as such, however long."""
    significant = digits.lstrip("0") or "0"
    return min(int(significant), _BEYOND_ANY_OBJECT) if len(significant) <= _MOST_DIGITS else _BEYOND_ANY_OBJECT


@dataclass(frozen=True, slots=True)
class ByteRange:
    """One range of a Range header: `first` and `last` inclusive; `first` None is the last `last` bytes (a suffix)."""

    first: int | None
    last: int | None

    def __post_init__(self) -> None:
        """Raise ValueError for what is not a range (RFC 9110 14.1.1)."""
        if self.first is None and self.last is None:
            raise ValueError("a range has a first or a last byte")
        if self.first is not None and self.last is not None and self.last < self.first:
            raise ValueError("a range ends before it begins")

    @classmethod
    def from_header(cls, text: str | None) -> ByteRange | None:
        """The one range that a header asks for; None where it is absent, ill-formed, or asks for several.

        A server may ignore what it does not want to answer in parts (RFC 9110 14.2); S3 knows single ranges only.
        """
        found = _RANGE.fullmatch(text or "")
        if found is None:
            return None
        first, last = (_number(digits) if digits else None for digits in found.group("first", "last"))
        try:
            return cls(first, last)
        except ValueError:
            return None

    def to_header(self) -> str:
        """The header's value."""
        first, last = ("" if end is None else end for end in (self.first, self.last))
        return f"bytes={first}-{last}"

    def resolve(self, size: int) -> ContentRange | None:
        """Which bytes of a representation are asked for; `first` None in the answer where there is none of them: a 416.

        None is the whole representation: the suffix of an empty one is satisfiable, but has no bytes that a
        Content-Range could name (RFC 9110 14.1.2).
        """
        if self.first is None:
            length = self.last or 0
            if length and not size:
                return None
            first, last = max(0, size - length), size - 1
        else:
            first, last = self.first, size - 1 if self.last is None else min(self.last, size - 1)
        return ContentRange(first, last, size) if first <= last else ContentRange(None, None, size)


@dataclass(frozen=True, slots=True)
class ContentRange:
    """Which bytes of how many a 206 carries, `last` inclusive; `first` None is the answer of a 416."""

    first: int | None
    last: int | None
    size: int | None

    def __post_init__(self) -> None:
        """Raise ValueError for what RFC 9110 14.4 calls invalid."""
        match self.first, self.last, self.size:
            case None, None, int():
                return
            case int(first), int(last), None if first <= last:
                return
            case int(first), int(last), int(size) if first <= last < size:
                return
        raise ValueError("the bytes named are none of the representation's")

    @classmethod
    def from_header(cls, text: str) -> ContentRange:
        """The value of a header; raises ValueError."""
        found = _CONTENT_RANGE.fullmatch(text)
        if found is None:
            raise ValueError(f"`{text}` is not a Content-Range of bytes")
        first, last, size = (
            None if number in (None, "*") else _number(number) for number in found.group("first", "last", "size")
        )
        return cls(first, last, size)

    def to_header(self) -> str:
        """The header's value: `bytes 0-9/100`, or `bytes */100`."""
        part = "*" if self.first is None else f"{self.first}-{self.last}"
        return f"bytes {part}/{'*' if self.size is None else self.size}"

    @property
    def length(self) -> int:
        """How many bytes it names."""
        return 0 if self.first is None or self.last is None else self.last - self.first + 1
