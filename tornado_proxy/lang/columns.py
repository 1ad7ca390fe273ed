"""Text in columns of a terminal: East Asian characters take two, combining ones none (Unicode TR 11)."""

from __future__ import annotations

import unicodedata


def width(text: str) -> int:
    """The columns that a text takes."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def padded(text: str, columns: int) -> str:
    """A text with spaces behind it up to a number of columns."""
    return text + " " * (columns - width(text))


def _character_width(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
