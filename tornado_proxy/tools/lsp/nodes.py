"""The node of the syntax tree at an offset, and the groups and variables that a template refers to."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tornado_proxy.goregex.language import language
from tornado_proxy.goregex.parser import parse
from tornado_proxy.goregex.syntax import Group, Node, PatternError, walk
from tornado_proxy.lang.diagnostic import Span
from tornado_proxy.lang.tree import Dialect, Document, Literal, RewriteStatement, Statement, TargetBlock, TestStatement
from tornado_proxy.templates import plain


@dataclass(frozen=True, slots=True)
class TargetNode:
    """The first line of a block."""

    block: TargetBlock


@dataclass(frozen=True, slots=True)
class RewriteNode:
    """A rewrite, outside its strings."""

    block: TargetBlock
    statement: RewriteStatement


@dataclass(frozen=True, slots=True)
class SourceNode:
    """The source of a rewrite, and an index in its value."""

    block: TargetBlock
    statement: RewriteStatement
    at: int


@dataclass(frozen=True, slots=True)
class TemplateNode:
    """The template of a rewrite, and an index in its value."""

    block: TargetBlock
    statement: RewriteStatement
    at: int


@dataclass(frozen=True, slots=True)
class TestNode:
    """A test."""

    __test__ = False  # the name is the language's, not pytest's

    block: TargetBlock
    statement: TestStatement


SyntaxNode = TargetNode | RewriteNode | SourceNode | TemplateNode | TestNode


def node_at(document: Document, offset: int) -> SyntaxNode | None:
    """Returns the node at an offset; None between blocks and statements."""
    for block in document.blocks:
        if _covers(block.span, offset):
            return _node_in_block(block, offset)
    return None


def _node_in_block(block: TargetBlock, offset: int) -> SyntaxNode | None:
    if offset <= block.name.span.end:
        return TargetNode(block)
    for statement in block.statements:
        if _covers(statement.span, offset):
            return _node_in_statement(block, statement, offset)
    return None


def _node_in_statement(block: TargetBlock, statement: Statement, offset: int) -> SyntaxNode:
    if isinstance(statement, TestStatement):
        return TestNode(block, statement)
    if _covers(statement.source.span, offset):
        return SourceNode(block, statement, _index(statement.source, offset))
    if _covers(statement.template.span, offset):
        return TemplateNode(block, statement, _index(statement.template, offset))
    return RewriteNode(block, statement)


def _covers(span: Span, offset: int) -> bool:
    return span.start <= offset <= span.end


def _index(literal: Literal, offset: int) -> int:
    """Returns the index in the value of a string for an offset of the file."""
    return max(0, min(bisect_right(literal.offsets, offset) - 1, len(literal.value)))


# The certain groups of an unfinished expression.
_NAMED = re.compile(r"\(\?P?<(\w+)>")


def tree_of(statement: RewriteStatement) -> Node | None:
    """Returns the tree of a source; None if it has a mistake, or is too deep."""
    return language(statement.source.value).tree


def group_of(statement: RewriteStatement, name: str) -> Group | None:
    """Returns the group with a name or a number."""
    tree = tree_of(statement)
    for node in walk(tree) if tree else ():
        if isinstance(node, Group) and node.number is not None and name in (node.name, str(node.number)):
            return node
    return None


def group_names(source: str) -> Sequence[str]:
    """Returns the names of the groups of a source, or numbers of groups without a name."""
    names = _names(source)
    if names is None:
        return list(dict.fromkeys(_NAMED.findall(source)))
    return list(dict.fromkeys(name or str(number) for number, name in enumerate(names, start=1)))


def _names(source: str) -> Sequence[str] | None:
    try:
        return parse(source).names
    except PatternError:
        return None


_ACTION = re.compile(r"\{\{.*?(?:\}\}|$)|\{%.*?(?:%\}|$)", re.DOTALL)

# A group, a variable with its fields, or a string, which is skipped.
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
    """A reference to a group by name or number, and its place in the template."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class VariableReference:
    """A reference to a variable, and its place in the template."""

    path: str
    start: int
    end: int


Reference = GroupReference | VariableReference


def reference_at(dialect: Dialect, text: str, at: int) -> Reference | None:
    """Returns the reference at a place of a template; of `user.username` only up to the field at the place."""
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
