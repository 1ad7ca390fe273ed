"""What the result of a target is made of, as far as slashes go, and whether it may hold an empty segment.

s3-proxy's SDK cleans the path of a call: `a//b` asks S3 for `a/b`. Here a key is asked for as it is. So a result in
which two slashes may meet is not proved to be the same key.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a result: what it is called in a message, and what it may be."""

    name: str
    begins_with_slash: bool
    ends_with_slash: bool
    empty: bool


def literal(text: str) -> Piece:
    """A text that always stands there."""
    return Piece(f"`{text}`", text.startswith("/"), text.endswith("/"), empty=not text)


def where_slashes_meet(pieces: Iterable[Piece]) -> tuple[str, str] | None:
    """The names of two parts between which an empty segment may come to be; None where none can."""
    before: list[Piece] = []  # what the part in hand may follow directly
    for piece in pieces:
        meeting = next((each for each in before if each.ends_with_slash and piece.begins_with_slash), None)
        if meeting is not None:
            return meeting.name, piece.name
        before = [*before, piece] if piece.empty else [piece]
    return None
