"""Reports for programs: our own JSON and SARIF 2.1.0, which code scanning services read.

docs/schemas/lint.json describes our own format: fields may be added within a version, and are never removed.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from tornado_proxy.lint.check import Check
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import LintReport
from tornado_proxy.rules.diagnostic import Diagnostic, Fix, Severity, Span

VERSION = 1
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render_json(report: LintReport) -> str:
    """Returns our own JSON."""
    document = {
        "version": VERSION,
        "summary": {
            "files": len(report.files),
            "rewrites": report.rewrite_count,
            "findings": len(report.diagnostics),
            "failing": len(report.failing),
        },
        "findings": [_finding(each) for each in report.diagnostics],
    }
    return json.dumps(document, indent=2) + "\n"


def _finding(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "help": diagnostic.help,
        **_place(diagnostic.span),
        "notes": [{"message": each.message, **_place(each.span)} for each in diagnostic.notes],
        "fixes": [
            {
                "message": fix.message,
                "safety": fix.safety.value,
                "edits": [{**_place(each.span), "text": each.text} for each in fix.edits],
            }
            for fix in diagnostic.fixes
        ],
    }


def _place(span: Span | None) -> dict[str, Any]:
    if span is None:
        return {"file": None, "start": None, "end": None}
    return {"file": span.source.name, "start": span.first._asdict(), "end": span.last._asdict()}


def render_sarif(report: LintReport) -> str:
    """Returns a SARIF log."""
    checks = {check.name: check for check in CHECKS}
    codes = sorted({each.code for each in report.diagnostics})
    run = {
        "tool": {"driver": {"name": "tornado-proxy", "rules": [_rule(code, checks.get(code)) for code in codes]}},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not report.broken}],
        "results": [_result(each, codes) for each in report.diagnostics],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: str, check: Check | None) -> dict[str, Any]:
    if check is None:  # a mistake that parser, compiler or configuration have found
        return {"id": code, "defaultConfiguration": {"level": "error"}}
    return {
        "id": code,
        "shortDescription": {"text": check.summary},
        "help": {"text": check.manual, "markdown": check.manual},
        "defaultConfiguration": {"level": _LEVELS[check.severity]},
        "properties": {"tags": [check.category.value]},
    }


def _result(diagnostic: Diagnostic, codes: list[str]) -> dict[str, Any]:
    text = diagnostic.message + (f"\n{diagnostic.help}" if diagnostic.help else "")
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": codes.index(diagnostic.code),
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": text},
    }
    if diagnostic.span:
        result["locations"] = [_location(diagnostic.span)]
    related = [{**_location(each.span), "message": {"text": each.message}} for each in diagnostic.notes if each.span]
    if related:
        result["relatedLocations"] = related
    if diagnostic.fixes:
        result["fixes"] = [_fix(each) for each in diagnostic.fixes]
    return result


def _location(span: Span) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": _artifact(span), "region": _region(span)}}


def _artifact(span: Span) -> dict[str, str]:
    path = PurePath(span.source.name)
    return {"uri": path.as_uri() if path.is_absolute() else quote(path.as_posix(), errors="replace")}


def _region(span: Span) -> dict[str, int]:
    names = ("startLine", "startColumn", "endLine", "endColumn")
    return dict(zip(names, (*span.first, *span.last), strict=True))


def _fix(fix: Fix) -> dict[str, Any]:
    changes: dict[str, dict[str, Any]] = {}
    for edit in fix.edits:
        unchanged = {"artifactLocation": _artifact(edit.span), "replacements": []}
        change = changes.setdefault(edit.span.source.name, unchanged)
        change["replacements"].append({"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}})
    return {"description": {"text": f"{fix.message} ({fix.safety.value})"}, "artifactChanges": list(changes.values())}
