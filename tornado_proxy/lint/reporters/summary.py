"""What a run came to, in one line: the words agree with the exit status."""

from __future__ import annotations

from collections import Counter

from tornado_proxy.lang.diagnostic import Diagnostic, Safety, Severity
from tornado_proxy.lint.engine import Report
from tornado_proxy.lint.phrases import counted


def summary(report: Report) -> str:
    """The line, without its end."""
    files = counted(len(report.files), "file")
    if not report.diagnostics:
        return f"all clean: {counted(report.rewrite_count, 'rewrite')} in {files}"
    where = len({each.span.source.name for each in report.diagnostics if each.span})
    place = f" in {counted(where, 'file')}" if where else ""
    found = f"{counted(len(report.diagnostics), 'finding')}{place}: {_by_severity(report)}"
    return "; ".join(part for part in (found, _harmless(report), _fixable(report)) if part)


def _by_severity(report: Report) -> str:
    numbers = Counter(each.severity for each in report.diagnostics)
    words = ((Severity.ERROR, "error"), (Severity.WARNING, "warning"))
    parts = [counted(numbers[severity], word) for severity, word in words if numbers[severity]]
    return ", ".join([*parts, f"{numbers[Severity.INFO]} info"] if numbers[Severity.INFO] else parts)


def _harmless(report: Report) -> str:
    return "" if report.failing else "none fails the run"


def _fixable(report: Report) -> str:
    safe = sum(_has(each, Safety.SAFE) for each in report.diagnostics)
    unsafe = sum(_has(each, Safety.UNSAFE) and not _has(each, Safety.SAFE) for each in report.diagnostics)
    parts = []
    if safe:
        parts.append(f"`--fix` cures {safe}")
    if unsafe:
        parts.append(f"`--unsafe-fixes` cures {unsafe}{' more' if safe else ''}")
    return ", ".join(parts)


def _has(diagnostic: Diagnostic, safety: Safety) -> bool:
    return any(fix.safety is safety for fix in diagnostic.fixes)
