"""The formats for people: each finding with its lines, carets, help and notes, or in a line of its own; and a summary.

The words of the summary agree with the exit status.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tornado_proxy.lang.diagnostic import Diagnostic, Safety, Severity
from tornado_proxy.lint.engine import LintReport
from tornado_proxy.lint.findings import counted


def render_full(report: LintReport, *, color: bool = False) -> str:
    """The text, ending with a line end."""
    return "\n\n".join((*_findings(report, color=color), summary(report))) + "\n"


def _findings(report: LintReport, *, color: bool) -> Iterable[str]:
    if not report.diagnostics:
        return ()
    from tornado_proxy.lang.excerpt import render as in_full  # noqa: PLC0415 - only where there is something to show

    return (in_full(each, color=color) for each in report.diagnostics)


def render_concise(report: LintReport) -> str:
    """The text, ending with a line end."""
    from tornado_proxy.lang.excerpt import visible  # noqa: PLC0415 - `full` of a clean run needs no excerpts

    lines = (visible(each.line) for each in report.diagnostics)
    return "\n".join((*lines, summary(report))) + "\n"


def summary(report: LintReport) -> str:
    """The line, without its end."""
    files = counted(len(report.files), "file")
    if not report.diagnostics:
        return f"all clean: {counted(report.rewrite_count, 'rewrite')} in {files}"
    where = len({each.span.source.name for each in report.diagnostics if each.span})
    place = f" in {counted(where, 'file')}" if where else ""
    found = f"{counted(len(report.diagnostics), 'finding')}{place}: {_by_severity(report)}"
    return "; ".join(part for part in (found, _harmless(report), _fixable(report)) if part)


def _by_severity(report: LintReport) -> str:
    numbers = Counter(each.severity for each in report.diagnostics)
    words = ((Severity.ERROR, "error"), (Severity.WARNING, "warning"))
    parts = [counted(numbers[severity], word) for severity, word in words if numbers[severity]]
    return ", ".join([*parts, f"{numbers[Severity.INFO]} info"] if numbers[Severity.INFO] else parts)


def _harmless(report: LintReport) -> str:
    return "" if report.failing else "nothing fails the run"


def _fixable(report: LintReport) -> str:
    safe = sum(_has(each, Safety.SAFE) for each in report.diagnostics)
    unsafe = sum(_has(each, Safety.UNSAFE) and not _has(each, Safety.SAFE) for each in report.diagnostics)
    parts = [f"{safe} fixable with `--fix`"] if safe else []
    if unsafe:
        parts.append(f"{unsafe} {'more' if safe else 'fixable'} with `--unsafe-fixes`")
    return ", ".join(parts)


def _has(diagnostic: Diagnostic, safety: Safety) -> bool:
    return any(fix.safety is safety for fix in diagnostic.fixes)
