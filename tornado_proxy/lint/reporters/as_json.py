"""JSON for programs, described by docs/schemas/lint.json: fields may be added within a version, none is removed."""

from __future__ import annotations

import json
from typing import Any

from tornado_proxy.lang.diagnostic import Diagnostic, Edit, Fix, Note, Position, Span
from tornado_proxy.lint.engine import LintReport

VERSION = 1


def render(report: LintReport) -> str:
    """The document, ending with a line end."""
    document = {
        "version": VERSION,
        "summary": {
            "files": len(report.files),
            "rewrites": report.rewrite_count,
            "findings": len(report.diagnostics),
            "failing": len(report.failing),
        },
        "findings": [finding(each) for each in report.diagnostics],
    }
    return json.dumps(document, indent=2) + "\n"


def finding(diagnostic: Diagnostic) -> dict[str, Any]:
    """One finding."""
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "help": diagnostic.help,
        **_place(diagnostic.span),
        "notes": [_note(each) for each in diagnostic.notes],
        "fixes": [_fix(each) for each in diagnostic.fixes],
    }


def _note(note: Note) -> dict[str, Any]:
    return {"message": note.message, **_place(note.span)}


def _fix(fix: Fix) -> dict[str, Any]:
    return {"message": fix.message, "safety": fix.safety.value, "edits": [_edit(each) for each in fix.edits]}


def _edit(edit: Edit) -> dict[str, Any]:
    return {**_place(edit.span), "text": edit.text}


def _place(span: Span | None) -> dict[str, Any]:
    if span is None:
        return {"file": None, "start": None, "end": None}
    return {"file": span.source.name, "start": _position(span.first), "end": _position(span.last)}


def _position(position: Position) -> dict[str, int]:
    return {"line": position.line, "column": position.column}
