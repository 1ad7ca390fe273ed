"""RE2 as this project uses it: silent, with memory by need, and its errors as texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import re2  # type: ignore[import-untyped]  # google-re2 ships no annotations

MEMORY = (8 << 20, 256 << 20, 2 << 30)
"""Bytes for one program, the next where the one before is too small; only a large program takes what it may."""


class ProgramRefused(Exception):
    """RE2 cannot compile a program; the text is its own message."""


def options(memory: int) -> re2.Options:
    """RE2's options: nothing on standard error, and at most so many bytes of memory."""
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
                break
        else:
            re2.purge()  # the binding would keep the last 128 of any size, also those of rules that are gone
            return made
    raise ProgramRefused(message)
