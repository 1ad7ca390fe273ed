"""What the operator must know of the service itself."""

from __future__ import annotations

import errno
import logging

import pytest

from tornado_proxy.lang.diagnostic import Diagnostic, Severity, SourceFile, Span
from tornado_proxy.telemetry.events import Failed, Reloaded, ReloadRefused, RequestRecord, Retired, Served
from tornado_proxy.telemetry.service_log import log_diagnostics, service_log, shortage

ASKED = RequestRecord("4f2a", 0.0, "127.0.0.1", "GET", "", "/a", 7)


@pytest.fixture(autouse=True)
def _every_level(caplog):
    caplog.set_level(logging.DEBUG, "tornado_proxy")


def test_a_defect_is_logged_with_its_traceback(caplog):
    """A defect's line names the request's id, and the traceback stands below it."""
    service_log(Failed(ASKED, ZeroDivisionError("division by zero")))
    assert "request `4f2a` failed" in caplog.text
    assert "ZeroDivisionError: division by zero" in caplog.text


def test_a_reload_is_one_line(caplog):
    """A new generation is told with its size and the time it took."""
    service_log(Reloaded(8, 0.1234, 1000))
    assert caplog.messages == ["generation 8 is in force: 1000 rewrites, built in 0.123 s"]


def test_a_refused_edit_names_every_place(caplog):
    """A bad edit is told with each diagnostic and its place, where it has one."""
    source = SourceFile("site.rules", "target site {\n  rewrte\n}")
    mistakes = (
        Diagnostic("syntax", "`rewrte` is not a statement", Span(source, 16, 22), "did you mean `rewrite`?"),
        Diagnostic("empty", "no rule file"),
    )
    service_log(ReloadRefused(7, mistakes))
    assert caplog.messages == [
        "an edit was refused: generation 7 stays in force",
        "site.rules:2:3: error[syntax] `rewrte` is not a statement (help: did you mean `rewrite`?)",
        "error[empty] no rule file",
    ]


def test_a_retired_generation_is_for_debugging(caplog):
    """Retirement is told at the lowest level."""
    service_log(Retired(7))
    assert caplog.records[0].levelno == logging.DEBUG


def test_requests_are_the_access_logs(caplog):
    """A served request writes nothing here."""
    service_log(Served(ASKED, 200, 0, 0, 0.0))
    assert caplog.messages == []


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


def _raised_from(cause: BaseException) -> BaseException:
    error = ValueError("it did not work")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS])
def test_a_shortage_is_found_behind_what_it_caused(number):
    """The system's error may be the cause of another."""
    error = OSError(number, "the system's words")
    assert shortage(error) == shortage(_raised_from(_raised_from(error))) == "the system's words"


@pytest.mark.parametrize("error", [None, ValueError("x"), OSError(errno.ENOENT, "x"), _raised_from(KeyError("x"))])
def test_other_errors_are_none(error):
    """Everything else is what it says."""
    assert shortage(error) is None


def test_errors_that_caused_each_other_come_to_an_end():
    """A chain may bite its tail."""
    one, other = ValueError("one"), ValueError("other")
    one.__context__, other.__context__ = other, one
    assert shortage(one) is None
