"""What can be told of a template's results: how they begin and end, and whether the groups in them exist."""

from __future__ import annotations

import re

from tornado_proxy.goregex.matching import Pattern
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.rules.model import Rewrite
from tornado_proxy.templates.template import group_number, trimmed

_ADDRESS = re.compile(r"(?i)[a-z][a-z0-9+.-]*://")
_OPENING = re.compile(r"\{\{|\{%|\{#")
_CLOSING = re.compile(r".*(?:\}\}|%\}|#\})", re.DOTALL)


def head(rewrite: Rewrite) -> str:
    """The text that every result begins with; empty where a hole comes first."""
    text, template = rewrite.template.text, rewrite.template
    if rewrite.dialect is Dialect.PLAIN:
        holes = template.group_references
        return (text[: holes[0][1]] if holes else text).replace("$$", "$")
    return _OPENING.split(trimmed(text), maxsplit=1)[0]


def tail(rewrite: Rewrite) -> str:
    """The text that every result ends in; empty where a hole comes last."""
    text, template = rewrite.template.text, rewrite.template
    if rewrite.dialect is Dialect.PLAIN:
        holes = template.group_references
        return (text[holes[-1][2] :] if holes else text).replace("$$", "$")
    return _CLOSING.sub("", trimmed(text), count=1)


def constant(rewrite: Rewrite) -> str | None:
    """The result, where it is always the same; None where it has holes."""
    text, template = rewrite.template.text, rewrite.template
    if rewrite.dialect is Dialect.PLAIN:
        return None if template.group_references else text.replace("$$", "$")
    return None if _OPENING.search(text) else trimmed(text)


def is_address(text: str) -> bool:
    """Whether a text begins as the address of a page does, and not as a key."""
    return _ADDRESS.match(text) is not None


def has_group(pattern: Pattern, reference: str) -> bool:
    """Whether a source has the group that a plain template refers to."""
    number = group_number(reference)
    return reference in pattern.names if number is None else number <= pattern.group_count
