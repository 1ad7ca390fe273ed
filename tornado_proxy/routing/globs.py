"""Globs of paths and hosts, as expressions in Go's syntax: matched in linear time, whatever they hold."""

from __future__ import annotations

import re

_PART = re.compile(r"/\*\*(?=/|$)|\*\*|\*|[^*/]+|/")

_MEANING = {
    "/**": "(?:/.*)?",  # any number of whole segments, none too: `/m/**` covers `/m`, as a mount does
    "**": ".*",
    "*": "[^/]*",
}


def path_expression(glob: str) -> str:
    """What matches the paths that a glob covers: `*` is any part of one segment, `**` any number of segments.

    All else stands for itself. `/public/**` covers `/public`, `/public/` and everything below; `/**` covers all.
    """
    parts = (_MEANING.get(part) or re.escape(part) for part in _PART.findall(glob))
    return rf"\A(?s:{''.join(parts)})\z"


def host_expression(pattern: str) -> str:
    """What matches the hosts of a pattern, without anchors: `*` is one label or more, or a part of one, never empty."""
    return "[^/]+".join(re.escape(part) for part in pattern.split("*"))
