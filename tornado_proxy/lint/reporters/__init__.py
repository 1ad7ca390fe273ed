"""The formats of the linter's output: for each, a function from a report to text that ends with a line end.

Lines and columns count from 1 in every format, columns in code points; an end is the place after the last character.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable
from typing import cast

from tornado_proxy.lint.engine import LintReport
from tornado_proxy.rules.diagnostic import Safety, Severity, counted
from tornado_proxy.rules.excerpt import render, visible

_MODULES = {"json": "documents", "github": "ci", "gitlab": "ci", "sarif": "documents", "junit": "ci"}
FORMATS = ("full", "concise", *_MODULES)


def reporter(name: str) -> Callable[[LintReport], str]:
    """Returns the function that renders a format; its module is imported here."""
    if name in _MODULES:
        module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
        return cast("Callable[[LintReport], str]", getattr(module, f"render_{name}"))
    return render_concise if name == "concise" else render_full


def render_full(report: LintReport, *, color: bool = False) -> str:
    """Returns each diagnostic with its lines, carets, help and notes, and a summary."""
    if not report.diagnostics:
        return f"{summary(report)}\n"
    return "\n\n".join([*(render(each, color=color) for each in report.diagnostics), summary(report)]) + "\n"


def render_concise(report: LintReport) -> str:
    """Returns a line for each diagnostic, and a summary."""
    lines = (visible(each.line) for each in report.diagnostics)
    return "\n".join((*lines, summary(report))) + "\n"


def summary(report: LintReport) -> str:
    """Returns the numbers of findings and fixes in a line, in agreement with the exit status."""
    files = counted(len(report.files), "file")
    if not report.diagnostics:
        return f"all clean: {counted(report.rewrite_count, 'rewrite')} in {files}"
    where = len({each.span.source.name for each in report.diagnostics if each.span})
    place = f" in {counted(where, 'file')}" if where else ""
    counts = f"{counted(len(report.diagnostics), 'finding')}{place}: {_by_severity(report)}"
    consequence = "" if report.failing else "nothing fails the run"
    return "; ".join(filter(None, (counts, consequence, _fixable(report))))


def _by_severity(report: LintReport) -> str:
    numbers = Counter(each.severity for each in report.diagnostics)
    words = ((Severity.ERROR, "error"), (Severity.WARNING, "warning"))
    phrases = [counted(numbers[severity], word) for severity, word in words if numbers[severity]]
    return ", ".join([*phrases, f"{numbers[Severity.INFO]} info"] if numbers[Severity.INFO] else phrases)


def _fixable(report: LintReport) -> str:
    offered = [{fix.safety for fix in each.fixes} for each in report.diagnostics]
    safe = sum(Safety.SAFE in each for each in offered)
    unsafe = sum(Safety.UNSAFE in each and Safety.SAFE not in each for each in offered)
    phrases = [f"{safe} fixable with `--fix`"] if safe else []
    if unsafe:
        phrases.append(f"{unsafe} {'more' if safe else 'fixable'} with `--unsafe-fixes`")
    return ", ".join(phrases)
