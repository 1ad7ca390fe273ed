"""The text of a value, where it has one that belongs into a key."""

from __future__ import annotations

import re
from collections.abc import Mapping

from jinja2 import Undefined
from jinja2.runtime import LoopContext, Macro
from jinja2.utils import Namespace

from tornado_proxy.templates.errors import RenderError

_QUOTED = re.compile(r"'([^']*)'")
_KINDS: Mapping[type, str] = {
    str: "a text",
    bool: "a truth value",
    int: "a number",
    float: "a number",
    list: "a list",
    tuple: "a list",
    dict: "a mapping",
    type(None): "`none`",
    Macro: "a macro",
    Namespace: "a namespace",
    LoopContext: "`loop`",
}


def written(value: object) -> str:
    """The text of a text, a number or a truth value; raises `RenderError` for what is none of them."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, int, float)):
        return str(value)
    if isinstance(value, Undefined):
        return str(value)  # raises, and says what is undefined
    raise RenderError(f"{described(value)} has no text")


def described(value: object) -> str:
    """What a value is, in words of the author's."""
    return getattr(value, "NAME", None) or _KINDS.get(type(value), "this")


def backticked(message: str) -> str:
    """A message of Jinja2 in the form of ours: names in backticks, no capital, no full stop."""
    said = _QUOTED.sub(r"`\1`", message).rstrip(".")
    return said[:1].lower() + said[1:]
