"""A line for each finding, as compilers print them and editors read them, and a summary."""

from __future__ import annotations

from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.excerpt import visible
from tornado_proxy.lint.engine import Report
from tornado_proxy.lint.reporters.summary import summary


def render(report: Report) -> str:
    """The text, ending with a line end."""
    return "\n".join((*map(_line, report.diagnostics), summary(report))) + "\n"


def _line(diagnostic: Diagnostic) -> str:
    place = f"{diagnostic.place}: " if diagnostic.place else ""
    return visible(f"{place}{diagnostic.severity.value}[{diagnostic.code}] {diagnostic.message}")
