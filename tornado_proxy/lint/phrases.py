"""How findings speak of rewrites and of lists."""

from __future__ import annotations

from collections.abc import Iterable

from tornado_proxy.rules.model import Rewrite

_LONGEST = 80


def named(rewrite: Rewrite) -> str:
    """What a message calls a rewrite: its name or its number, between backticks."""
    return f"`{rewrite.label}`"


def shown(key: str) -> str:
    """A key between backticks, as much of it as a message needs."""
    return f"`{key[:_LONGEST]}…`" if len(key) > _LONGEST else f"`{key}`"


def listed(words: Iterable[str]) -> str:
    """Words as a sentence has them: `a`, `b` and `c`."""
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last


def counted(number: int, word: str, plural: str = "") -> str:
    """A number of things: 1 file, 2 files."""
    return f"{number} {word if number == 1 else plural or word + 's'}"
