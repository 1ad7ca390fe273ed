"""Diagnostics in the log."""

from __future__ import annotations

import logging

import pytest

from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.lang.source import SourceFile, Span
from tornado_proxy.telemetry.diagnostics import log_diagnostics


@pytest.fixture(autouse=True)
def _every_level(caplog):
    caplog.set_level(logging.DEBUG, "tornado_proxy")


def test_a_cure_stands_behind_its_fact(caplog):
    """A cure of several lines is one with the line."""
    log_diagnostics([Diagnostic("a-code", "a fact", help="a\ncure")])
    assert caplog.messages == ["error[a-code] a fact (help: a cure)"]


def test_a_diagnostic_has_fields(caplog):
    """A form that has fields can show what a diagnostic is made of."""
    source = SourceFile("site.rules", "target site {\n  rewrte\n}")
    log_diagnostics((Diagnostic("syntax", "a fact", Span(source, 16, 22), "a\ncure"),))
    assert caplog.records[-1].fields == {
        "file": "site.rules",
        "line": 2,
        "column": 3,
        "code": "syntax",
        "severity": "error",
        "message": "a fact",
        "help": "a\ncure",
    }


@pytest.mark.parametrize("severity", Severity)
def test_a_diagnostic_is_logged_as_what_it_is(caplog, severity):
    """A warning that comes along with the mistake that kept an edit back is logged as a warning."""
    log_diagnostics((Diagnostic("a-code", "a fact", severity=severity),))
    assert caplog.records[-1].levelname.lower() == severity.value
