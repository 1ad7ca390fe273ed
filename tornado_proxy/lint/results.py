"""How the results of a template begin and end: what stands before its first hole, and behind its last."""

from __future__ import annotations

import re

from tornado_proxy.lang.tree import Dialect
from tornado_proxy.rules.model import Rewrite
from tornado_proxy.templating.trimming import trimmed

_OPENING = re.compile(r"\{\{|\{%|\{#")
_CLOSING = re.compile(r".*(?:\}\}|%\}|#\})", re.DOTALL)


def head(rewrite: Rewrite) -> str:
    """The text that every result begins with; empty where a hole comes first."""
    text, template = rewrite.template.text, rewrite.template
    if rewrite.dialect is Dialect.PLAIN:
        holes = template.group_references
        return (text[: holes[0][1]] if holes else text).replace("$$", "$")
    return _OPENING.split(_straight(text), maxsplit=1)[0]


def tail(rewrite: Rewrite) -> str:
    """The text that every result ends in; empty where a hole comes last."""
    text, template = rewrite.template.text, rewrite.template
    if rewrite.dialect is Dialect.PLAIN:
        holes = template.group_references
        return (text[holes[-1][2] :] if holes else text).replace("$$", "$")
    return _CLOSING.sub("", _straight(text), count=1)


def _straight(text: str) -> str:
    return trimmed(text)
