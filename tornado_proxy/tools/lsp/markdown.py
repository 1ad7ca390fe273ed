"""Text in Markdown that shows what it was given, whatever characters that holds."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tornado_proxy.lang.excerpt import visible

_TICKS = re.compile("`+")
_LONGEST = 200  # characters of one text that are shown


def code(text: str) -> str:
    """A text as code on one line; a long one is cut."""
    shown = visible(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…") or " "
    longest = max((len(ticks) for ticks in _TICKS.findall(shown)), default=0)
    fence = "`" * (longest + 1)
    # A space within the fence is taken off again (CommonMark, 6.1), and keeps ticks and spaces at the ends apart.
    padding = " " if shown.strip() and (shown[0] in "` " or shown[-1] in "` ") else ""
    return f"{fence}{padding}{shown}{padding}{fence}"


def paragraphs(parts: Iterable[str]) -> str:
    """Parts below one another, those left out that are empty."""
    return "\n\n".join(part for part in parts if part)


def prose(text: str) -> str:
    """Backticked words of a message as they are, and nothing else of it taken for Markdown."""
    return re.sub(r"([\\*_<>\[\]#|~])(?=[^`]*(?:`[^`]*`[^`]*)*$)", r"\\\1", visible(text))
