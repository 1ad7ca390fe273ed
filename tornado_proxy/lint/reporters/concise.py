"""A line for each finding, as compilers print them and editors read them, and a summary."""

from __future__ import annotations

from tornado_proxy.lang.excerpt import visible
from tornado_proxy.lint.engine import Report
from tornado_proxy.lint.reporters.summary import summary


def render(report: Report) -> str:
    """The text, ending with a line end."""
    lines = (visible(each.line) for each in report.diagnostics)
    return "\n".join((*lines, summary(report))) + "\n"
