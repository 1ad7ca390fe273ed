"""Commands of a GitHub workflow, which shows them at the lines of a pull request.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.lang.excerpt import visible
from tornado_proxy.lint.engine import LintReport

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_IN_MESSAGE = {ord("%"): "%25", ord("\r"): "%0D", ord("\n"): "%0A"}
_IN_PROPERTY = {**_IN_MESSAGE, ord(":"): "%3A", ord(","): "%2C"}


def render(report: LintReport) -> str:
    """The text, ending with a line end if there is any."""
    return "".join(f"{_command(each)}\n" for each in report.diagnostics)


def _command(diagnostic: Diagnostic) -> str:
    lines = [diagnostic.message, *(diagnostic.help or "").split("\n")]
    message = "\n".join(visible(line) for line in lines if line)
    properties = {"title": diagnostic.code, **_place(diagnostic)}
    written = ",".join(f"{name}={value.translate(_IN_PROPERTY)}" for name, value in properties.items())
    return f"::{_COMMANDS[diagnostic.severity]} {written}::{message.translate(_IN_MESSAGE)}"


def _place(diagnostic: Diagnostic) -> dict[str, str]:
    span = diagnostic.span
    if span is None:
        return {}
    first, last = span.first, span.last
    place = {"file": span.source.name, "line": str(first.line), "endLine": str(last.line)}
    # Columns are shown for a place on one line only.
    on_one_line = {"col": str(first.column), "endColumn": str(last.column)}
    return place | on_one_line if first.line == last.line else place
