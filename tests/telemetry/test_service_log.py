"""What the operator must know of the service itself."""

from __future__ import annotations

import logging

import pytest

from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.source import SourceFile, Span
from tornado_proxy.telemetry.events import Asked, Failed, Reloaded, ReloadRefused, Retired, Served
from tornado_proxy.telemetry.service_log import service_log

ASKED = Asked("4f2a", 0.0, "127.0.0.1", "GET", "", "/a", 7)


@pytest.fixture(autouse=True)
def _every_level(caplog):
    caplog.set_level(logging.DEBUG, "tornado_proxy")


def test_a_defect_is_logged_with_its_traceback(caplog):
    """A defect's line names the request's id, and the traceback stands below it."""
    service_log(Failed(ASKED, ZeroDivisionError("division by zero")))
    assert "request `4f2a` met a defect" in caplog.text
    assert "ZeroDivisionError: division by zero" in caplog.text


def test_a_reload_is_one_line(caplog):
    """A new generation is told with its size and the time it took."""
    service_log(Reloaded(8, 0.1234, 1000))
    assert caplog.messages == ["generation 8 is in force: 1000 rewrites, built in 0.123 s"]


def test_a_refused_edit_names_every_place(caplog):
    """A bad edit is told with each diagnostic and its place, where it has one."""
    source = SourceFile("site.rules", "target site {\n  rewrte\n}")
    mistakes = (
        Diagnostic("syntax", "`rewrte` is no statement", Span(source, 16, 22), "did you mean `rewrite`?"),
        Diagnostic("empty", "no rule file"),
    )
    service_log(ReloadRefused(7, mistakes))
    assert caplog.messages == [
        "an edit was refused, generation 7 stays in force",
        "site.rules:2:3: error[syntax] `rewrte` is no statement (help: did you mean `rewrite`?)",
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
