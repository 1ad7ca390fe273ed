import json
from dataclasses import replace
from xml.etree.ElementTree import fromstring

import jsonschema
from linting import block
from linting import report as linted

from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.lint.engine import LintReport
from tornado_proxy.lint.reporters.ci import render_github, render_gitlab, render_junit


def test_a_command_for_each_finding(report, golden):
    """Severity, place and title; whatever means something in a command is escaped."""
    golden(render_github(report), "github.txt")


def test_every_command_is_one_line(report):
    """A message on several lines would end the command."""
    assert all(line.startswith("::") for line in render_github(report).splitlines())
    assert len(render_github(report).splitlines()) == len(report.diagnostics)


def test_a_clean_run(clean):
    """There is nothing to tell the workflow."""
    assert render_github(clean) == ""


# What GitLab asks of a report (docs.gitlab.com, Code Quality report format).
SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string"},
            "check_name": {"type": "string"},
            "fingerprint": {"type": "string"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path"],
                "properties": {
                    "path": {"type": "string", "pattern": r"^(?!\./)"},
                    "positions": {"type": "object", "required": ["begin"]},
                },
            },
        },
    },
}


def _fingerprints(text):
    return {entry["fingerprint"] for entry in json.loads(render_gitlab(linted(site=text)))}


def test_an_entry_for_each_finding(report, golden):
    """Description, check, severity and place, as GitLab reads them."""
    golden(render_gitlab(report), "gitlab.json")
    jsonschema.validate(json.loads(render_gitlab(report)), SCHEMA)


def test_what_belongs_to_no_file_is_shown_at_the_first(report):
    """An entry without a path cannot be, and a directory is none that GitLab shows."""
    assert {entry["location"]["path"] for entry in json.loads(render_gitlab(report))} == set(report.files) - {
        "empty.rules"
    }


def test_fingerprints_are_unique(report):
    """Two findings are never taken for one, alike as they may be."""
    entries = json.loads(render_gitlab(report))
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)


def test_fingerprints_stay_when_lines_move():
    """What was known before an edit above it is known afterwards."""
    text = "rewrite `^/a.b$` -> `/b`\ntest `/a.b` -> `/b`"
    assert _fingerprints(block(text)) == _fingerprints(block(f"# A comment.\n\n  {text}"))


def test_a_clean_run_of_gitlab(clean):
    """The list is empty."""
    assert json.loads(render_gitlab(clean)) == []


def test_a_suite_for_each_file(report, golden):
    """A case for each finding, and one for each file without any."""
    golden(render_junit(report), "junit.xml")


def test_failures_are_those_that_fail_the_run(report):
    """Words and exit status agree: what fails no run is not a failure."""
    root = fromstring(render_junit(report))
    assert root.get("failures") == str(len(report.failing))
    assert fromstring(render_junit(replace(report, fail_level=None))).get("failures") == "0"
    assert len(list(root.iter("testcase"))) == int(root.get("tests", "")) == len(report.diagnostics) + 1


def test_a_clean_run_of_junit(clean):
    """Every file is a suite with a case that passes."""
    suites = list(fromstring(render_junit(clean)))
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in suites] == [
        ("a.rules", "1", "0"),
        ("b.rules", "1", "0"),
    ]


def test_what_no_xml_holds():
    """Characters that XML cannot hold have a stand-in."""
    found = Diagnostic("odd", "\x00\ufffe\ud800", severity=Severity.ERROR)
    root = fromstring(render_junit(LintReport((found,))))
    assert root.find(".//failure").get("message") == "\u2400\ufffd\ufffd"
