"""What several reports share: rows in columns, rewrites, captured groups, logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gotemplate.regexp.matching import Captures
from tornado_proxy.rules.diagnostic import visible
from tornado_proxy.rules.model import Counted, Rule
from tornado_proxy.tools.simulator import RequestLog

JSON_VERSION = 1
"""The version of each JSON form; additions do not change it."""

Rows = Sequence[Sequence[str]]

# A longer cell does not widen its column.
_WIDEST = 60

GUTTER = 12  # characters: the longest title and two spaces


def section(title: str, rows: Rows) -> Iterator[str]:
    """Yields the lines of a titled section in columns; the last cell of a row widens no column."""
    cells = [[visible(cell) for cell in row] for row in rows]
    widths: dict[int, int] = {}
    for row in cells:
        for column, cell in enumerate(row[:-1]):
            widths[column] = max(widths.get(column, 0), len(cell) if len(cell) <= _WIDEST else 0)
    for number, row in enumerate(cells):
        padded = [f"{cell:<{widths[column]}}" for column, cell in enumerate(row[:-1])]
        yield f"{title if number == 0 else '':<{GUTTER}}{'  '.join([*padded, row[-1]])}".rstrip()


def group_rows(captures: Captures) -> Rows:
    """Returns the groups of a match with their texts as rows."""
    stand_ins = {None: "(not matched)", "": "(empty)"}
    return [(f"${each['name']}", stand_ins.get(each["text"], each["text"])) for each in groups_json(captures)]


def groups_json(captures: Captures) -> list[dict[str, Any]]:
    """Returns the groups of a match for programs, each by its name, or by its number if it has no name."""
    names = {number: name for name, number in captures.names.items()}
    return [{"name": names.get(number, str(number)), "text": text} for number, text in enumerate(captures.groups)]


def rewrite_json(rewrite: Rule | Counted) -> dict[str, Any]:
    """Returns a rule with its place for programs."""
    return {
        "number": rewrite.number,
        "name": rewrite.name,
        "kind": rewrite.kind.value,
        "source": rewrite.source_text,
        "dialect": rewrite.dialect.value,
        "template": rewrite.result_text,
        "place": {"file": rewrite.span.source.name, **rewrite.span.first._asdict()},
    }


def strange_lines(log: RequestLog) -> str:
    """Returns the number of lines of a log without a request, in words."""
    if log.strange == 1:
        return f"1 line without a request: line {log.first_strange}"
    return f"{log.strange:,} lines without a request; the first is line {log.first_strange}"


def log_json(log: RequestLog) -> dict[str, Any]:
    """Returns the counts of a log for programs."""
    return {
        "total": log.total,
        "different": len(log.requests),
        "strange_lines": log.strange,
        "first_strange_line": log.first_strange,
    }
