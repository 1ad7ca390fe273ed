"""Prints a document in the one canonical layout.

Each statement is on a line of its own, indented by four spaces. In a *group* (consecutive statements of one kind,
without a blank line or a comment between them) the arrows are aligned, and so are names and dialects. Blank lines
between statements are kept, one at most; one separates blocks. `tree` decides the form of names and strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, assert_never

from tornado_proxy.rules import tree
from tornado_proxy.rules.diagnostic import padded, width
from tornado_proxy.rules.tree import (
    Comment,
    Document,
    RewriteStatement,
    Statement,
    TargetBlock,
    TestStatement,
    name_text,
    string_text,
)

_INDENT = " " * 4


def print_document(document: Document) -> str:
    """Returns the text of a document; it parses to an equal document, which is printed as the same text."""
    lines: list[str] = []
    for part in (*map(_block_lines, document.blocks), _comment_lines(document.closing, "", first=True)):
        written = [*part]
        lines += ["", *written] if lines and written else written
    return "".join(f"{line}\n" for line in lines)


def _block_lines(block: TargetBlock) -> Iterator[str]:
    yield from _above(block, "", first=True)
    head = f"target {name_text(block.name)} {{"
    if not (block.opening or block.statements or block.closing):
        yield _with_comment(f"{head}}}", block.trailing)
        return
    yield _with_comment(head, block.opening)
    for group in _groups(block.statements):
        yield from _above(group[0], _INDENT, first=group[0] is block.statements[0])
        for statement, line in zip(group, group_lines(group), strict=True):
            yield _with_comment(_INDENT + line, statement.trailing)
    yield from _comment_lines(block.closing, _INDENT, first=not block.statements)
    yield _with_comment("}", block.trailing)


def _groups(statements: Iterable[Statement]) -> Iterator[list[Statement]]:
    group: list[Statement] = []
    for statement in statements:
        if group and (statement.comments or statement.blank_before or type(statement) is not type(group[-1])):
            yield group
            group = []
        group.append(statement)
    if group:
        yield group


def _above(node: Statement | TargetBlock, indent: str, *, first: bool) -> Iterator[str]:
    """Yields the comments and blank lines above a node; a file or block never begins with a blank line."""
    yield from _comment_lines(node.comments, indent, first=first)
    if node.blank_before and (node.comments or not first):
        yield ""


def _comment_lines(comments: Iterable[Comment], indent: str, *, first: bool) -> Iterator[str]:
    for number, comment in enumerate(comments):
        if comment.blank_before and (number or not first):
            yield ""
        yield indent + comment.text


def _with_comment(text: str, comment: Comment | None) -> str:
    return f"{text}  {comment.text}" if comment else text


# The arrow of a wider statement follows it directly, and does not move the arrows of its neighbours.
_WIDEST_HEAD = 80


class _Cells(NamedTuple):
    """A statement in pieces: `dialect` and `name` may be empty."""

    keyword: str
    name: str
    request: str  # the text before the arrow
    dialect: str
    result: str


def group_lines(group: Sequence[Statement]) -> list[str]:
    """The text of each statement of a group; a raw string may make it several lines."""
    rows = [_cells(statement) for statement in group]
    names, dialects = _widest(row.name for row in rows), _widest(row.dialect for row in rows)
    heads = [f"{row.keyword} {_column(row.name, names)}{row.request}" for row in rows]
    arrow = _widest(head for head in heads if _is_aligned(head))
    return [
        f"{padded(head, arrow) if _is_aligned(head) else head} -> {_column(row.dialect, dialects)}{row.result}"
        for head, row in zip(heads, rows, strict=True)
    ]


def _cells(statement: Statement) -> _Cells:
    match statement:
        case RewriteStatement(name, source, dialect, template):
            shown = "" if dialect is tree.Dialect.PLAIN else dialect.value
            return _Cells("rewrite", name_text(name) if name else "", string_text(source), shown, string_text(template))
        case TestStatement(key, clauses, expected):
            result = expected.value if isinstance(expected, tree.Verdict) else string_text(expected)
            return _Cells("test", "", " ".join((string_text(key), *_clauses(clauses))), "", result)
        case _:
            assert_never(statement)


def _clauses(clauses: tree.RequestClauses) -> Iterator[str]:
    headers = [(f"header {string_text(name)}", value) for name, value in clauses.headers]
    before = [("as", clauses.user), ("method", clauses.method), ("host", clauses.host)]
    for words, literal in [*before, *headers, ("user-groups", clauses.user_groups), ("email", clauses.email)]:
        if literal:
            yield f"{words} {name_text(literal) if words == 'method' else string_text(literal)}"


def _widest(texts: Iterable[str]) -> int:
    return max(map(width, texts), default=0)


def _column(text: str, columns: int) -> str:
    """Returns a cell of a column with the space after it; the column may be absent."""
    return f"{padded(text, columns)} " if columns else ""


def _is_aligned(head: str) -> bool:
    return "\n" not in head and width(head) <= _WIDEST_HEAD
