"""RE2, which is imported for the first expression: with its C++ library it takes 2.5 MiB."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def re2() -> Any:
    """Returns the module."""
    import re2  # type: ignore[import-untyped] # noqa: PLC0415 - google-re2 ships no annotations

    return re2
