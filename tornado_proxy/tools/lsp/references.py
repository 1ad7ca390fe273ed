"""What the text of a template names: groups and variables, read off the text alone, since it may not compile yet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tornado_proxy.lang.tree import Dialect
from tornado_proxy.templates import plain

_ACTION = re.compile(r"\{\{.*?(?:\}\}|$)|\{%.*?(?:%\}|$)", re.DOTALL)

# A group, a variable with its fields, or a string, which is passed over.
_NAMES: Mapping[Dialect, re.Pattern[str]] = {
    Dialect.JINJA: re.compile(
        r"""\bgroups(?:\.(?P<group>\w+)|\[\s*(?P<quote>["'])(?P<key>[^"']*)(?P=quote)\s*\])
        |"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'
        |(?<![\w.])(?P<path>[A-Za-z_]\w*(?:\.\w+)*)""",
        re.VERBOSE,
    ),
    Dialect.GO: re.compile(
        r"""\.Groups(?:\.(?P<group>\w+)|\s+(?P<quote>")(?P<key>[^"]*)")
        |"(?:\\.|[^"\\])*"|`[^`]*`|'(?:\\.|[^'\\])*'
        |(?<![\w.])(?:\$?)\.(?P<path>[A-Za-z_]\w*(?:\.\w+)*)""",
        re.VERBOSE,
    ),
}


@dataclass(frozen=True, slots=True)
class GroupReference:
    """A group that a template names, by its name or its number, and where the reference stands in the text."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class VariableReference:
    """A variable that a template reads, without what it reads from that, and where it stands in the text."""

    path: str
    start: int
    end: int


Reference = GroupReference | VariableReference


def reference_at(dialect: Dialect, text: str, at: int) -> Reference | None:
    """What is named at a place of a template; of `user.username` the part up to the field at the place."""
    return next((each for each in _references(dialect, text) if each.start <= at <= each.end), None)


def _references(dialect: Dialect, text: str) -> Iterator[Reference]:
    if dialect is Dialect.PLAIN:
        for name, start, end in plain.compile_template(text, {}, 0).group_references:
            yield GroupReference(name, start, end)
        return
    for action in _ACTION.finditer(text):
        for found in _NAMES[dialect].finditer(text, *action.span()):
            name = found["group"] or found["key"]
            if name is not None:
                yield GroupReference(name, *found.span())
            elif found["path"] is not None:
                yield from _fields(found["path"], found.start("path"))


def _fields(path: str, start: int) -> Iterator[VariableReference]:
    for field in re.finditer(r"\w+", path):
        yield VariableReference(path[: field.end()], start + field.start(), start + field.end())
