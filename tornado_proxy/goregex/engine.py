"""RE2 as this project uses it: silent, with memory by need, and its errors as texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import re2  # type: ignore[import-untyped]  # google-re2 ships no annotations

MEMORY = (8 << 20, 256 << 20, 2 << 30)
"""Bytes for one program; the next where one is too small."""


class ProgramRefused(Exception):
    """RE2 cannot compile a program; the text is its own message."""


class ProgramTooLarge(ProgramRefused):
    """RE2 needs more memory for a program than it may take."""


def options(memory: int) -> re2.Options:
    """RE2's options: nothing on standard error, and a limit in bytes of memory."""
    chosen = re2.Options()
    chosen.log_errors = False
    chosen.max_mem = memory
    return chosen


def compile_program(program: bytes, memory: Sequence[int] = MEMORY) -> Any:
    """RE2's compiled form of a program; raises `ProgramRefused`."""
    for most in memory:
        try:
            made = re2.compile(program, options(most))
        except re2.error as error:
            message = error.args[0].decode(errors="replace")
            if "too large" not in message:
                raise ProgramRefused(message) from None
        else:
            re2.purge()  # the binding would keep the last 128 of any size, also those of rules that are gone
            return made
    raise ProgramTooLarge(message)


def leftmost(compiled: Any, text: bytes, start: int = 0, *, sees_within: bool) -> Any:
    r"""RE2's leftmost match from an offset on, without those of a `\B` between the bytes of one character.

    RE2 searches bytes where Go searches characters. `sees_within` is whether the program has a `\B`, so that there can
    be such a match.
    """
    found = compiled.search(text, start)
    while sees_within and found is not None and is_within(text, found.start()):
        found = compiled.search(text, found.start() + 1)
    return found


def is_within(text: bytes, offset: int) -> bool:
    """Whether an offset is between the bytes of one character: before one of the form 10xxxxxx."""
    return offset < len(text) and text[offset] & 0xC0 == 0x80
