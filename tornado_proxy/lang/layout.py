"""Statements as text, those of one group with their names, arrows and dialects below one another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, assert_never

from tornado_proxy.lang.columns import padded, width
from tornado_proxy.lang.tree import (
    Dialect,
    RequestClauses,
    RewriteStatement,
    Statement,
    TestStatement,
    Verdict,
)
from tornado_proxy.lang.writing import name_text, string_text

# What is wider has its arrow right behind it, and does not push away the arrows of its neighbours.
_WIDEST_HEAD = 80


class _Cells(NamedTuple):
    """A statement in pieces: `dialect` and `name` may be empty."""

    keyword: str
    name: str
    request: str  # what stands before the arrow
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
            shown = "" if dialect is Dialect.PLAIN else dialect.value
            return _Cells("rewrite", name_text(name) if name else "", string_text(source), shown, string_text(template))
        case TestStatement(key, clauses, expected):
            result = expected.value if isinstance(expected, Verdict) else string_text(expected)
            return _Cells("test", "", " ".join((string_text(key), *_clauses(clauses))), "", result)
        case _:
            assert_never(statement)


def _clauses(clauses: RequestClauses) -> Iterator[str]:
    if clauses.user:
        yield f"as {string_text(clauses.user)}"
    if clauses.method:
        yield f"method {name_text(clauses.method)}"
    if clauses.host:
        yield f"host {string_text(clauses.host)}"
    for name, value in clauses.headers:
        yield f"header {string_text(name)} {string_text(value)}"
    if clauses.user_groups:
        yield f"user-groups {string_text(clauses.user_groups)}"
    if clauses.email:
        yield f"email {string_text(clauses.email)}"


def _widest(texts: Iterable[str]) -> int:
    return max(map(width, texts), default=0)


def _column(text: str, columns: int) -> str:
    """A cell of a column that may be missing altogether, with the space behind it."""
    return f"{padded(text, columns)} " if columns else ""


def _is_aligned(head: str) -> bool:
    return "\n" not in head and width(head) <= _WIDEST_HEAD
