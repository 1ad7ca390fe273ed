import json
from xml.etree.ElementTree import fromstring

import jsonschema
from linting import block
from linting import report as linted
from msgspec.structs import replace

from tornado_proxy.lint.engine import LintReport
from tornado_proxy.lint.reporters import render_github, render_gitlab, render_junit
from tornado_proxy.rules.diagnostic import Diagnostic, Severity


def test_github_gets_a_command_for_each_finding(report, golden):
    """A command has severity, place and title, with special characters escaped."""
    golden(render_github(report), "github.txt")


def test_every_command_is_one_line(report):
    """A message with several lines stays in one command of GitHub."""
    assert all(line.startswith("::") for line in render_github(report).splitlines())
    assert len(render_github(report).splitlines()) == len(report.diagnostics)


def test_a_clean_run_has_no_commands(clean):
    """Without findings, the output for GitHub is empty."""
    assert render_github(clean) == ""


# GitLab's requirements for a report (docs.gitlab.com, Code Quality report format).
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


def test_gitlab_gets_an_entry_for_each_finding(report, golden):
    """An entry has description, check, severity and place in GitLab's format."""
    golden(render_gitlab(report), "gitlab.json")
    jsonschema.validate(json.loads(render_gitlab(report)), SCHEMA)


def test_a_finding_without_a_file_is_shown_at_the_first_file(report):
    """A finding without a place has the path of the first file, because GitLab requires a path."""
    assert {entry["location"]["path"] for entry in json.loads(render_gitlab(report))} == set(report.files) - {
        "empty.rules"
    }


def test_fingerprints_are_unique(report):
    """Two findings never have the same fingerprint."""
    entries = json.loads(render_gitlab(report))
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)


def test_fingerprints_do_not_depend_on_lines():
    """An edit above a finding doesn't change its fingerprint."""
    text = "rewrite `^/a.b$` -> `/b`\ntest `/a.b` -> `/b`"
    assert _fingerprints(block(text)) == _fingerprints(block(f"# A comment.\n\n  {text}"))


def test_a_clean_run_is_an_empty_list(clean):
    """Without findings, the report for GitLab is an empty list."""
    assert json.loads(render_gitlab(clean)) == []


def test_junit_gets_a_suite_for_each_file(report, golden):
    """A suite has a case for each finding, and one case if the file has none."""
    golden(render_junit(report), "junit.xml")


def test_failures_are_those_that_fail_the_run(report):
    """A finding that doesn't fail the run is not a failure."""
    root = fromstring(render_junit(report))
    assert root.get("failures") == str(len(report.failing))
    assert fromstring(render_junit(replace(report, fail_level=None))).get("failures") == "0"
    assert len(list(root.iter("testcase"))) == int(root.get("tests", "")) == len(report.diagnostics) + 1


def test_a_clean_run_has_passing_cases(clean):
    """Without findings, every file is a suite with one case that passes."""
    suites = list(fromstring(render_junit(clean)))
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in suites] == [
        ("a.rules", "1", "0"),
        ("b.rules", "1", "0"),
    ]


def test_characters_that_xml_forbids_are_replaced():
    """Characters that XML can't contain have a replacement."""
    diagnostic = Diagnostic("odd", "\x00\ufffe\ud800", severity=Severity.ERROR)
    root = fromstring(render_junit(LintReport((diagnostic,))))
    assert root.find(".//failure").get("message") == "\u2400\ufffd\ufffd"
