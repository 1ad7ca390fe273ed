"""Tests of the access log and of the service log."""

import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tornado_proxy.rules.diagnostic import Diagnostic, Severity, SourceFile, Span
from tornado_proxy.telemetry.events import Failed, ReloadOutcome, ReloadReport, RequestRecord, Retired, Served
from tornado_proxy.telemetry.log import access_log, harmless, json_text, log_diagnostics, service_log

TEXTS = st.text(st.characters(exclude_categories=[]))


@given(TEXTS)
def test_escaped_texts_are_printable(text):
    assert harmless(text).isprintable()
    assert json_text(text).isprintable()


@given(TEXTS)
def test_a_quoted_text_is_json(text):
    assert json.loads(json_text(text)).encode("utf-16", "surrogatepass") == text.encode("utf-16", "surrogatepass")


def test_printable_characters_are_kept():
    """Letters of all scripts, quotes and backslashes of a message are not escaped."""
    assert harmless('größe "日本" \\d+ 😀') == 'größe "日本" \\d+ 😀'


def test_values_keep_their_types():
    """A line of JSON has strings, numbers, booleans and null; a text that has no UTF-8 is escaped."""
    line = {"a": "\n", "b": 1, "c": 1.5, "d": True, "e": None, "f": "/\ud800"}
    assert json_text(line) == '{"a":"\\n","b":1,"c":1.5,"d":true,"e":null,"f":"/\\ud800"}'


REQUEST = RequestRecord(
    "4f2a",
    1714566896.5,
    "127.0.0.1",
    "GET",
    "files.test",
    "/a.txt",
    7,
    "site",
    "/b.txt",
    "home",
    "ann",
    protocol="HTTP/2.0",
)


def _line(event, form="text") -> str:
    lines = []
    access_log(form, lines.append)(event)
    assert len(lines) == 1
    return lines[0]


def _path_line(path: str, form="text") -> str:
    return _line(Served(RequestRecord("i", 0.0, "c", "GET", "h", path, 1), 200, 0, 0, 0.0), form)


def test_a_served_request_is_one_line_of_pairs():
    assert _line(Served(REQUEST, 200, 12, 0, 0.00325)) == (
        "time=2024-05-01T12:34:56.500Z id=4f2a client=127.0.0.1 method=GET host=files.test path=/a.txt protocol=HTTP/2.0 status=200"
        " sent=12 received=0 ms=3.2 target=site key=/b.txt rule=home user=ann generation=7"
    )


def test_an_error_has_its_reason():
    request = RequestRecord("4f2a", 0.0, "127.0.0.1", "GET", "", "/..", 7)
    assert _line(Served(request, 400, 90, 0, 0.0, reason="contains a `.` segment", is_error=True)) == (
        "time=1970-01-01T00:00:00.000Z id=4f2a client=127.0.0.1 method=GET path=/.. status=400"
        ' sent=90 received=0 ms=0.0 generation=7 reason="contains a `.` segment"'
    )


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_empty_reason_is_left_out(form):
    """An error without a text has no reason in any form, like every other field that is empty."""
    lines = []
    access_log(form, lines.append)(Served(REQUEST, 400, 90, 0, 0.0, reason="", is_error=True))
    assert "reason" not in lines[0].lower()


@pytest.mark.parametrize("url", ["https://ann:pASSw@s3.test/b", "http://pASSw@s3.test", "//a:pASSw@h"])
def test_a_reason_shows_no_user_information(url):
    line = _line(Served(REQUEST, 502, 0, 0, 0.0, reason=f'Unreachable: could not connect to "{url}"', is_error=True))
    assert "could not connect to" in line
    assert "pASSw" not in line


def test_an_incomplete_answer_is_marked():
    line = _line(Served(REQUEST, 200, 5, 0, 0.0, complete=False, reason="the client went away"))
    assert line.endswith('complete=false reason="the client went away"')


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("character", ["\n", "\r", "\x1b", "\x7f", "\x85", "\u2028", "\u202e", "\ud800"])
def test_characters_that_are_not_printable_are_escaped(form, character):
    line = _path_line(f"/a{character}b", form)
    assert line.isprintable()
    assert f"\\u{ord(character):04x}" in line or json.dumps(character)[1:-1] in line


@pytest.mark.parametrize("path", ['/a" status=200', "/a b", "/a=b", "/a\\b", ""])
def test_a_path_cannot_forge_a_field(path):
    line = _path_line(path)
    assert line.count("status=") == 1 + path.count("status=")
    assert f"path={json.dumps(path)}" in line or not path


FAILED_REQUEST = RequestRecord("4f2a", 0.0, "127.0.0.1", "GET", "", "/a", 7)


@pytest.fixture(autouse=True)
def _log_all_levels(caplog):
    caplog.set_level(logging.DEBUG, "tornado_proxy")


def test_a_defect_is_logged_with_its_traceback(caplog):
    service_log(Failed(FAILED_REQUEST, ZeroDivisionError("division by zero")))
    assert "request `4f2a` failed" in caplog.text
    assert "ZeroDivisionError: division by zero" in caplog.text


def test_a_reload_is_one_line(caplog):
    service_log(ReloadReport(ReloadOutcome.LOADED, 8, rewrites=1000, seconds=0.1234))
    assert caplog.messages == ["generation 8 is in force: 1,000 rewrites, built in 0.123 s"]


def test_a_refused_edit_names_every_place(caplog):
    source = SourceFile("site.rules", "target site {\n  rewrte\n}")
    diagnostics = (
        Diagnostic("syntax", "`rewrte` is not a statement", Span(source, 16, 22), "did you mean `rewrite`?"),
        Diagnostic("empty", "no rule file"),
    )
    service_log(ReloadReport(ReloadOutcome.REFUSED, 7, news=diagnostics))
    assert caplog.messages == [
        "an edit was refused: generation 7 stays in force",
        "site.rules:2:3: error[syntax] `rewrte` is not a statement (help: did you mean `rewrite`?)",
        "error[empty] no rule file",
    ]


def test_a_retired_generation_is_logged_for_debugging(caplog):
    service_log(Retired(7))
    assert caplog.records[0].levelno == logging.DEBUG


def test_a_diagnostic_has_fields(caplog):
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
def test_a_diagnostic_is_logged_at_the_level_of_its_severity(caplog, severity):
    """A warning beside the mistake in a refused edit is logged as a warning."""
    log_diagnostics((Diagnostic("a-code", "a fact", severity=severity),))
    assert caplog.records[-1].levelname.lower() == severity.value


@pytest.mark.parametrize(("status", "level"), [(200, "info"), (404, "info"), (502, "error")])
def test_a_line_of_json_can_be_filtered(status, level):
    """A collector finds requests by type, and failures of the service by level."""
    facts = {"userAgent": "curl/8", "referrer": "", "s3Ms": 12.3, "s3RequestId": "4F2A"}
    line = json.loads(_line(Served(replace(REQUEST, facts=facts), status, 0, 0, 0.0), "json"))
    assert (line["level"], line["type"], line["userAgent"], line["protocol"]) == (
        level,
        "request",
        "curl/8",
        "HTTP/2.0",
    )
    assert line["message"] == f"{REQUEST.method} {REQUEST.path} {status}"
    assert (line["s3Ms"], line["s3RequestId"], "referrer" in line) == (12.3, "4F2A", False)
