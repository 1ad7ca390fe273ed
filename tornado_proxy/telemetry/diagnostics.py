"""Diagnostics in the log: in text as `lint --format concise` writes them, with the cure behind; in JSON by field."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.telemetry.lines import Field

_LOG = logging.getLogger("tornado_proxy")

_LEVELS = {Severity.ERROR: logging.ERROR, Severity.WARNING: logging.WARNING, Severity.INFO: logging.INFO}


def log_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Log each as what it is; the fields are the record's `fields`, for a form that has them."""
    for each in diagnostics:
        cure = f" (help: {' '.join(each.help.split())})" if each.help else ""
        _LOG.log(_LEVELS[each.severity], "%s%s", each.line, cure, extra={"fields": fields(each)})


def fields(diagnostic: Diagnostic) -> dict[str, Field]:
    """A diagnostic by its fields, fit for JSON; line and column count from 1."""
    line, column = diagnostic.span.first if diagnostic.span else (None, None)
    return {
        "file": diagnostic.span.source.name if diagnostic.span else None,
        "line": line,
        "column": column,
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "help": diagnostic.help,
    }
