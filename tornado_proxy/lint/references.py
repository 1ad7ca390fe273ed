r"""What a template's text shows without rendering it: how results begin and end, and which groups it refers to.

A slip is text that was meant as a reference to a group: as other languages write one, or with its brace not closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

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


# What cannot be meant otherwise, then what only is a slip where there is such a group; `$$` stands for a dollar.
_IN_PLAIN = re.compile(
    r"\$\$|\\(?:([0-9])|[gk]<(\w+)>)|\$\{(\w+)(?![\w}])|\$(&)"
    r"|\$\((?P<round>\w+)\)|\{(?<![{$]\{)(?P<curly>\w+)\}(?!\})|%(?P<percent>[1-9])(?![0-9A-Fa-f])"
)
# In another dialect plain ones are slips; those within braces are its own variables, and texts.
_IN_OTHERS = re.compile(
    r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|\$\$"
    r"|\\(?:(?P<number>[1-9])|[gk]<(?P<called>\w+)>)|\$\{(?P<braced>\w+)\}|\$(?P<bare>\w+)",
    re.DOTALL,
)
_WHOLE = {"&": "0"}
_REFERENCES = {
    Dialect.PLAIN: ("${{{}}}", "${{{}}}"),
    Dialect.JINJA: ("{{{{ groups[{}] }}}}", "{{{{ groups.{} }}}}"),
    Dialect.GO: ('{{{{ index .Groups "{}" }}}}', "{{{{ .Groups.{} }}}}"),
}
"""How each dialect refers to a group: by its number, and by its name."""


class Slip(NamedTuple):
    """A text that was meant as a reference to a group, and its place in the template (code points)."""

    group: str
    start: int
    end: int


def slips(rewrite: Rewrite) -> Iterator[Slip]:
    """What a template has for references that are none; where that may be meant, only those to groups that exist."""
    expression = _IN_PLAIN if rewrite.dialect is Dialect.PLAIN else _IN_OTHERS
    for found in expression.finditer(rewrite.template.text):
        if found.lastindex is not None:
            group = _WHOLE.get(found[found.lastindex], found[found.lastindex])
            if found.lastgroup is None or has_group(rewrite.pattern, group):
                yield Slip(group, *found.span())


def reference(group: str, dialect: Dialect) -> str:
    """How a dialect refers to a group."""
    by_number, by_name = _REFERENCES[dialect]
    return (by_name if group_number(group) is None else by_number).format(group)
