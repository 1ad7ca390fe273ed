"""Reports that CI systems show beside the code: workflow commands of GitHub, code quality of GitLab, and JUnit's XML.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tornado_proxy.lint.engine import LintReport
from tornado_proxy.rules.diagnostic import Diagnostic, Severity
from tornado_proxy.rules.excerpt import render as in_full
from tornado_proxy.rules.excerpt import visible

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_IN_MESSAGE = {ord("%"): "%25", ord("\r"): "%0D", ord("\n"): "%0A"}
_IN_PROPERTY = {**_IN_MESSAGE, ord(":"): "%3A", ord(","): "%2C"}

_GITLAB_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}
_NO_FILE = "unknown"

_ELSEWHERE = "tornado-proxy lint"


def render_github(report: LintReport) -> str:
    """Returns a workflow command for each diagnostic, on a line of its own."""
    return "".join(f"{_command(each)}\n" for each in report.diagnostics)


def _command(diagnostic: Diagnostic) -> str:
    lines = [diagnostic.message, *(diagnostic.help or "").split("\n")]
    message = "\n".join(visible(line) for line in lines if line)
    properties = {"title": diagnostic.code, **_properties(diagnostic)}
    written = ",".join(f"{name}={value.translate(_IN_PROPERTY)}" for name, value in properties.items())
    return f"::{_COMMANDS[diagnostic.severity]} {written}::{message.translate(_IN_MESSAGE)}"


def _properties(diagnostic: Diagnostic) -> dict[str, str]:
    span = diagnostic.span
    if span is None:
        return {}
    first, last = span.first, span.last
    place = {"file": span.source.name, "line": str(first.line), "endLine": str(last.line)}
    # Columns are shown for a place on one line only.
    on_one_line = {"col": str(first.column), "endColumn": str(last.column)}
    return place | on_one_line if first.line == last.line else place


def render_gitlab(report: LintReport) -> str:
    """Returns a code quality report, in JSON."""
    seen: Counter[str] = Counter()
    # An entry needs a path: a diagnostic without a file is shown at the first one.
    first = next(iter(report.files), _NO_FILE)
    return json.dumps([_entry(each, first, seen) for each in report.diagnostics], indent=2) + "\n"


def _entry(diagnostic: Diagnostic, elsewhere: str, seen: Counter[str]) -> dict[str, Any]:
    span = diagnostic.span
    first, last = (span.first, span.last) if span else ((1, 1), (1, 1))
    path = os.path.normpath(span.source.name if span else elsewhere)
    line = span.source.line(span.first.line).strip() if span else diagnostic.message
    text = f"{path}\0{diagnostic.code}\0{line}"
    seen[text] += 1
    return {
        "description": diagnostic.message,
        "check_name": diagnostic.code,
        "fingerprint": hashlib.sha256(f"{text}\0{seen[text]}".encode(errors="replace")).hexdigest(),
        "severity": _GITLAB_SEVERITIES[diagnostic.severity],
        "location": {
            "path": path,
            "positions": {"begin": {"line": first[0], "column": first[1]}, "end": {"line": last[0], "column": last[1]}},
        },
    }


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
            _add_case(suite, each, fails=id(each) in failing)
        if not diagnostics:
            SubElement(suite, "testcase", classname=visible(name), name="clean")
    for element in (root, *root):
        for attribute, tag in (("tests", "testcase"), ("failures", "failure")):
            element.set(attribute, str(len([*element.iter(tag)])))
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _add_case(suite: Element, diagnostic: Diagnostic, *, fails: bool) -> None:
    line, column = diagnostic.span.first if diagnostic.span else (1, 1)
    name = f"{diagnostic.code} at {line}:{column}"
    case = SubElement(suite, "testcase", classname=suite.get("name", ""), name=name, line=str(line))
    if fails:
        message = visible(diagnostic.message)
        part = SubElement(case, "failure", type=diagnostic.severity.value, message=message)
    else:
        part = SubElement(case, "system-out")
    part.text = "\n".join(map(visible, in_full(diagnostic).split("\n")))
