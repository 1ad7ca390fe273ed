"""A code quality report of GitLab, which shows it in a merge request.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from typing import Any

from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.lint.engine import LintReport

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}
_NO_FILE = "unknown"


def render(report: LintReport) -> str:
    """The document, ending with a line end."""
    seen: Counter[str] = Counter()
    # A report has no entry without a path: what belongs to no file is shown at the first.
    first = next(iter(report.files), _NO_FILE)
    return json.dumps([_entry(each, first, seen) for each in report.diagnostics], indent=2) + "\n"


def _entry(diagnostic: Diagnostic, elsewhere: str, seen: Counter[str]) -> dict[str, Any]:
    first, last = (diagnostic.span.first, diagnostic.span.last) if diagnostic.span else ((1, 1), (1, 1))
    path = os.path.normpath(diagnostic.span.source.name if diagnostic.span else elsewhere)
    return {
        "description": diagnostic.message,
        "check_name": diagnostic.code,
        "fingerprint": _fingerprint(diagnostic, path, seen),
        "severity": _SEVERITIES[diagnostic.severity],
        "location": {
            "path": path,
            "positions": {
                "begin": {"line": first[0], "column": first[1]},
                "end": {"line": last[0], "column": last[1]},
            },
        },
    }


def _fingerprint(diagnostic: Diagnostic, path: str, seen: Counter[str]) -> str:
    """A digest of file, code and line, which stays when lines above change; a count distinguishes equal ones."""
    span = diagnostic.span
    line = span.source.line(span.first.line).strip() if span else diagnostic.message
    text = f"{path}\0{diagnostic.code}\0{line}"
    seen[text] += 1
    return hashlib.sha256(f"{text}\0{seen[text]}".encode(errors="replace")).hexdigest()
