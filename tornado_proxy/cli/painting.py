"""Lines that tell what goes and what comes, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tornado_proxy.lang.excerpt import visible

_COLORS: Mapping[str, str] = {"---": "\x1b[1m", "+++": "\x1b[1m", "@@": "\x1b[36m", "-": "\x1b[31m", "+": "\x1b[32m"}
_RESET = "\x1b[0m"


def painted(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a difference in colour, and with nothing in them that a terminal would obey."""
    for line in lines:
        color = next((color for start, color in _COLORS.items() if line.lstrip().startswith(start)), "")
        yield f"{color}{visible(line)}{_RESET}" if color else visible(line)
