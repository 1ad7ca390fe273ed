"""Messages in a stream of bytes: each behind a header that tells its length (LSP 3.17, Base Protocol)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

LARGEST = 256 * 1024 * 1024
"""The most bytes that a message may have."""

_LONGEST_HEADER = 16 * 1024
_HEADER_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"(?:^|\r\n)content-length[ \t]*:[ \t]*(\d{1,12})[ \t]*(?=\r\n|$)", re.IGNORECASE)


class BadFrame(Exception):
    """What follows cannot be told apart into messages; the text says why."""


@dataclass(slots=True)
class Frames:
    """Takes a stream apart, however it is cut."""

    _left: bytearray = field(default_factory=bytearray)
    _length: int | None = None  # of the message whose header has been read

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The messages that a piece of the stream completes; raises `BadFrame`."""
        self._left += chunk
        while (message := self._next()) is not None:
            yield message

    def _next(self) -> bytes | None:
        if self._length is None:
            self._length = self._header()
        if self._length is None or len(self._left) < self._length:
            return None
        message = bytes(self._left[: self._length])
        del self._left[: self._length]
        self._length = None
        return message

    def _header(self) -> int | None:
        """The length that a header tells; None where the header is not whole yet."""
        end = self._left.find(_HEADER_END, 0, _LONGEST_HEADER)
        if end < 0:
            if len(self._left) >= _LONGEST_HEADER:
                raise BadFrame(f"a message's header is longer than {_LONGEST_HEADER} bytes")
            return None
        found = _LENGTH.search(bytes(self._left[:end]))
        if found is None:
            raise BadFrame("a message's header has no `Content-Length` that is a number")
        if int(found[1]) > LARGEST:
            raise BadFrame(f"a message has {int(found[1])} bytes, more than {LARGEST}")
        del self._left[: end + len(_HEADER_END)]
        return int(found[1])
