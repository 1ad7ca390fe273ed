"""The formats of the linter's output: for each, a function from a report to text that ends with a line end.

Lines and columns count from 1 in every format, columns in code points; an end is the place after the last character.
docs/schemas/lint.json describes our own JSON: fields may be added within a version, and are never removed.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import LintReport
from tornado_proxy.rules.diagnostic import Diagnostic, Safety, Severity, Span, counted, render, visible


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
        rules, listed = counted(report.rewrite_count, "rewrite"), report.address_count
        rules += f", {counted(listed, 'listed address', 'listed addresses')}" if listed else ""
        return f"all clean: {rules} in {files}"
    where = len({each.span.source.name for each in report.diagnostics if each.span})
    place = f" in {counted(where, 'file')}" if where else ""
    numbers = Counter(each.severity for each in report.diagnostics)
    words = {Severity.ERROR: "error", Severity.WARNING: "warning"}
    severities = [counted(numbers[severity], word) for severity, word in words.items() if numbers[severity]]
    severities += [f"{numbers[Severity.INFO]} info"] if numbers[Severity.INFO] else []
    counts = f"{counted(len(report.diagnostics), 'finding')}{place}: {', '.join(severities)}"
    offered = [{fix.safety for fix in each.fixes} for each in report.diagnostics]
    safe = sum(Safety.SAFE in each for each in offered)
    unsafe = sum(Safety.UNSAFE in each and Safety.SAFE not in each for each in offered)
    fixable = [f"{safe} fixable with `--fix`"] if safe else []
    fixable += [f"{unsafe} {'more' if safe else 'fixable'} with `--unsafe-fixes`"] if unsafe else []
    consequence = "" if report.failing else "nothing fails the run"
    return "; ".join(filter(None, (counts, consequence, ", ".join(fixable))))


_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_IN_MESSAGE = {ord("%"): "%25", ord("\r"): "%0D", ord("\n"): "%0A"}
_IN_PROPERTY = {**_IN_MESSAGE, ord(":"): "%3A", ord(","): "%2C"}

_GITLAB_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}
_NO_FILE = "unknown"

_ELSEWHERE = "tornado-proxy lint"


def render_github(report: LintReport) -> str:
    """Returns a workflow command for each diagnostic, on a line of its own."""
    commands = []
    for each in report.diagnostics:
        message = "\n".join(visible(line) for line in (each.message, *(each.help or "").split("\n")) if line)
        properties = {"title": each.code}
        if each.span is not None:
            first, last = each.span.first, each.span.last
            properties |= {"file": each.span.source.name, "line": str(first.line), "endLine": str(last.line)}
            if first.line == last.line:  # columns are shown for a place on one line only
                properties |= {"col": str(first.column), "endColumn": str(last.column)}
        written = ",".join(f"{name}={value.translate(_IN_PROPERTY)}" for name, value in properties.items())
        commands.append(f"::{_COMMANDS[each.severity]} {written}::{message.translate(_IN_MESSAGE)}\n")
    return "".join(commands)


def render_gitlab(report: LintReport) -> str:
    """Returns a code quality report, in JSON."""
    seen: Counter[str] = Counter()
    entries = []
    for each in report.diagnostics:
        span = each.span
        first, last = (span.first, span.last) if span else ((1, 1), (1, 1))
        # An entry needs a path: a diagnostic without a file is shown at the first one.
        path = os.path.normpath(span.source.name if span else next(iter(report.files), _NO_FILE))
        line = span.source.line(span.first.line).strip() if span else each.message
        text = f"{path}\0{each.code}\0{line}"
        seen[text] += 1
        begin, end = ({"line": line, "column": column} for line, column in (first, last))
        entry = {
            "description": each.message,
            "check_name": each.code,
            "fingerprint": hashlib.sha256(f"{text}\0{seen[text]}".encode(errors="replace")).hexdigest(),
            "severity": _GITLAB_SEVERITIES[each.severity],
            "location": {"path": path, "positions": {"begin": begin, "end": end}},
        }
        entries.append(entry)
    return json.dumps(entries, indent=2) + "\n"


def render_junit(report: LintReport) -> str:
    """Returns JUnit's XML: a suite for each file, a case for each diagnostic, a failure if it fails the run."""
    failing = set(map(id, report.failing))
    root = Element("testsuites", name="tornado-proxy lint")
    files: dict[str, list[Diagnostic]] = {name: [] for name in report.files}
    for each in report.diagnostics:
        files.setdefault(each.span.source.name if each.span else _ELSEWHERE, []).append(each)
    for name, diagnostics in files.items():
        suite = SubElement(root, "testsuite", name=visible(name))
        for each in diagnostics:
            line, column = each.span.first if each.span else (1, 1)
            at = f"{each.code} at {line}:{column}"
            case = SubElement(suite, "testcase", classname=visible(name), name=at, line=str(line))
            if id(each) in failing:
                part = SubElement(case, "failure", type=each.severity.value, message=visible(each.message))
            else:
                part = SubElement(case, "system-out")
            part.text = "\n".join(map(visible, render(each).split("\n")))
        if not diagnostics:
            SubElement(suite, "testcase", classname=visible(name), name="clean")
    for element in (root, *root):
        for attribute, tag in (("tests", "testcase"), ("failures", "failure")):
            element.set(attribute, str(len([*element.iter(tag)])))
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


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
            "addresses": report.address_count,
            "findings": len(report.diagnostics),
            "failing": len(report.failing),
        },
        "findings": [
            {
                "code": each.code,
                "severity": each.severity.value,
                "message": each.message,
                "help": each.help,
                **_place(each.span),
                "notes": [{"message": note.message, **_place(note.span)} for note in each.notes],
                "fixes": [
                    {
                        "message": fix.message,
                        "safety": fix.safety.value,
                        "edits": [{**_place(edit.span), "text": edit.text} for edit in fix.edits],
                    }
                    for fix in each.fixes
                ],
            }
            for each in report.diagnostics
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _place(span: Span | None) -> dict[str, Any]:
    if span is None:
        return {"file": None, "start": None, "end": None}
    return {"file": span.source.name, "start": span.first._asdict(), "end": span.last._asdict()}


def render_sarif(report: LintReport) -> str:
    """Returns a SARIF log."""
    checks = {check.name: check for check in CHECKS}
    codes = sorted({each.code for each in report.diagnostics})
    rules: list[dict[str, Any]] = []
    for code in codes:
        rule = {"id": code, "defaultConfiguration": {"level": "error"}}  # of parser, compiler or configuration
        if check := checks.get(code):
            rule = {
                "id": code,
                "shortDescription": {"text": check.summary},
                "help": {"text": check.manual, "markdown": check.manual},
                "defaultConfiguration": {"level": _LEVELS[check.severity]},
                "properties": {"tags": [check.category.value]},
            }
        rules.append(rule)
    run = {
        "tool": {"driver": {"name": "tornado-proxy", "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not report.broken}],
        "results": [_result(each, codes) for each in report.diagnostics],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


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
    fixes = []
    for fix in diagnostic.fixes:
        changes: dict[str, dict[str, Any]] = {}
        for edit in fix.edits:
            unchanged = {"artifactLocation": _artifact(edit.span), "replacements": []}
            change = changes.setdefault(edit.span.source.name, unchanged)
            change["replacements"].append({"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}})
        description = {"text": f"{fix.message} ({fix.safety.value})"}
        fixes.append({"description": description, "artifactChanges": list(changes.values())})
    return result | ({"fixes": fixes} if fixes else {})


def _location(span: Span) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": _artifact(span), "region": _region(span)}}


def _artifact(span: Span) -> dict[str, str]:
    path = PurePath(span.source.name)
    return {"uri": path.as_uri() if path.is_absolute() else quote(path.as_posix(), errors="replace")}


def _region(span: Span) -> dict[str, int]:
    names = ("startLine", "startColumn", "endLine", "endColumn")
    return dict(zip(names, (*span.first, *span.last), strict=True))


FORMATS: Mapping[str, Callable[[LintReport], str]] = {
    "full": render_full,
    "concise": render_concise,
    "json": render_json,
    "github": render_github,
    "gitlab": render_gitlab,
    "sarif": render_sarif,
    "junit": render_junit,
}
"""The functions that render a report, by the names of the formats."""
