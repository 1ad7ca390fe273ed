"""Where RE2 searches bytes and Go characters: the same match, but for one."""

from __future__ import annotations

from typing import Any


def leftmost(compiled: Any, text: bytes, start: int = 0, *, sees_within: bool) -> Any:
    r"""RE2's leftmost match from an offset on; that of a `\B` between the bytes of one character is none for Go.

    `sees_within` is whether the program has a `\B`, so that there can be such a match.
    """
    found = compiled.search(text, start)
    while sees_within and found is not None and is_within(text, found.start()):
        found = compiled.search(text, found.start() + 1)
    return found


def is_within(text: bytes, offset: int) -> bool:
    """Whether an offset is between the bytes of one character: before one of the form 10xxxxxx."""
    return offset < len(text) and text[offset] & 0xC0 == 0x80
