"""The format for people: each finding with its lines, carets, help and notes, and a summary."""

from __future__ import annotations

from collections.abc import Iterable

from tornado_proxy.lint.engine import Report
from tornado_proxy.lint.reporters.summary import summary


def render(report: Report, *, color: bool = False) -> str:
    """The text, ending with a line end."""
    return "\n\n".join((*_findings(report, color=color), summary(report))) + "\n"


def _findings(report: Report, *, color: bool) -> Iterable[str]:
    if not report.diagnostics:
        return ()
    from tornado_proxy.lang.excerpt import render as in_full  # noqa: PLC0415 - only where there is something to show

    return (in_full(each, color=color) for each in report.diagnostics)
