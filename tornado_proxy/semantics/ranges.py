"""Ranges of bytes: the Range and Content-Range headers (RFC 9110 14)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ByteRange:
    """One range of a Range header: `first` and `last` inclusive; `first` None is the last `last` bytes (a suffix)."""

    first: int | None
    last: int | None

    @classmethod
    def from_header(cls, text: str | None) -> ByteRange | None:
        """The one range that a header asks for; None where it is absent, ill-formed, or asks for several.

        A server may ignore what it does not want to answer in parts (RFC 9110 14.2); S3 knows single ranges only.
        """
        raise NotImplementedError

    def to_header(self) -> str:
        """The header's value."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ContentRange:
    """Which bytes of how many a 206 carries, `last` inclusive; `first` None is the answer of a 416."""

    first: int | None
    last: int | None
    size: int | None

    @classmethod
    def from_header(cls, text: str) -> ContentRange:
        """The value of a header; raises ValueError."""
        raise NotImplementedError

    def to_header(self) -> str:
        """The header's value: `bytes 0-9/100`, or `bytes */100`."""
        raise NotImplementedError
