"""What messages and spans take from a file: only from the copy that may be shown."""

from __future__ import annotations

from collections.abc import Iterable

from tornado_proxy.config.nodes import Node
from tornado_proxy.lang.source import SourceFile, Span

_LONGEST = 60


def span_of(node: Node, shown: SourceFile) -> Span:
    """The place of a node; of one that runs over several lines, the first."""
    line_end = shown.text.find("\n", node.start)
    end = node.end if line_end < 0 else min(node.end, line_end)
    return Span(shown, node.start, max(node.start, end))


def bare(node: Node, shown: SourceFile) -> str:
    """A node's text without its quotes, as far as it may be shown."""
    text = span_of(node, shown).text.strip("\"'")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def quote(node: Node, shown: SourceFile) -> str:
    """A node's text in backticks, as far as it may be shown."""
    return f"`{bare(node, shown)}`"


def enumeration(words: Iterable[str]) -> str:
    """Words in backticks: `a`, `b` and `c`."""
    *others, last = (f"`{word}`" for word in words)
    return f"{', '.join(others)} and {last}" if others else last
