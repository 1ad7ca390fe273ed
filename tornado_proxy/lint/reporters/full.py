"""The format for people: each finding with its lines, carets, help and notes, and a summary."""

from __future__ import annotations

from tornado_proxy.lang.excerpt import render as in_full
from tornado_proxy.lint.engine import Report
from tornado_proxy.lint.reporters.summary import summary


def render(report: Report, *, color: bool = False) -> str:
    """The text, ending with a line end."""
    parts = (*(in_full(each, color=color) for each in report.diagnostics), summary(report))
    return "\n\n".join(parts) + "\n"
