import json
from pathlib import Path
from xml.etree.ElementTree import fromstring

import jsonschema
import pytest
from linting import block, subject
from linting import report as linted
from msgspec.structs import replace

from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import LintReport, lint
from tornado_proxy.lint.reporters import (
    FORMATS,
    render_full,
    render_github,
    render_gitlab,
    render_junit,
    render_sarif,
    summary,
)
from tornado_proxy.rules.diagnostic import Diagnostic, Severity, SourceFile, Span


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("full", "full.txt"),
        ("concise", "concise.txt"),
        ("github", "github.txt"),
        ("gitlab", "gitlab.json"),
        ("junit", "junit.xml"),
        ("json", "lint.json"),
        ("sarif", "lint.sarif"),
    ],
)
def test_a_format_has_every_finding(name, file, report, golden):
    """With what the format can tell: excerpt, place, severity, help, notes and fixes, special characters escaped."""
    golden(FORMATS[name](report), file)


def test_colours_are_off_by_default(harmless):
    assert "\x1b[" in render_full(harmless, color=True)
    assert "\x1b[" not in render_full(harmless)


def test_the_summary_states_that_nothing_fails_the_run(harmless):
    assert summary(harmless) == "1 finding: 1 info; nothing fails the run"


def test_a_clean_run_has_no_commands(clean):
    assert render_github(clean) == ""


# GitLab's requirements for a report (docs.gitlab.com, Code Quality report format).
GITLAB_SCHEMA = {
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


# The schema of SARIF is that of the standard (OASIS, errata 01, named by its `$id`), without its descriptions.
SCHEMAS = {
    "gitlab": GITLAB_SCHEMA,
    "json": json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "lint.json").read_text(encoding="utf-8")),
    "sarif": json.loads((Path(__file__).parent / "sarif-2.1.0.json").read_text(encoding="utf-8")),
}


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("reported", ["report", "clean", "harmless"])
def test_a_document_obeys_its_schema(name, reported, request):
    jsonschema.validate(json.loads(FORMATS[name](request.getfixturevalue(reported))), SCHEMAS[name])


def _fingerprints(text):
    return {entry["fingerprint"] for entry in json.loads(render_gitlab(linted(site=text)))}


def test_fingerprints_are_unique(report):
    entries = json.loads(render_gitlab(report))
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)


def test_fingerprints_do_not_depend_on_lines():
    text = "rewrite `^/a.b$` -> `/b`\ntest `/a.b` -> `/b`"
    assert _fingerprints(block(text)) == _fingerprints(block(f"# A comment.\n\n  {text}"))


def test_a_clean_run_is_an_empty_list(clean):
    assert json.loads(render_gitlab(clean)) == []


def test_failures_are_those_that_fail_the_run(report):
    root = fromstring(render_junit(report))
    assert root.get("failures") == str(len(report.failing))
    assert fromstring(render_junit(replace(report, fail_level=None))).get("failures") == "0"
    assert len(list(root.iter("testcase"))) == int(root.get("tests", "")) == len(report.diagnostics) + 1


def test_a_clean_run_has_passing_cases(clean):
    """Without findings, every file is a suite with one case that passes."""
    suites = list(fromstring(render_junit(clean)))
    expected = [("a.rules", "1", "0"), ("b.rules", "1", "0")]
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in suites] == expected


def test_characters_that_xml_forbids_are_replaced():
    diagnostic = Diagnostic("odd", "\x00\ufffe\ud800", severity=Severity.ERROR)
    root = fromstring(render_junit(LintReport((diagnostic,))))
    assert root.find(".//failure").get("message") == "\u2400\ufffd\ufffd"


def test_results_point_to_their_rules(report):
    """The index and the ID of a result's rule agree (section 3.27.6)."""
    (run,) = json.loads(render_sarif(report))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])


def test_a_failed_check_makes_the_invocation_unsuccessful(report, clean):
    """A run with a check that failed was not successful (section 3.20.14)."""
    successful = [
        json.loads(render_sarif(result))["runs"][0]["invocations"][0]["executionSuccessful"]
        for result in (report, clean)
    ]
    assert successful == [False, True]


def test_columns_are_for_a_place_on_one_line():
    """GitHub shows them nowhere else."""
    place = Span(SourceFile("a.rules", "ab\ncd\n"), 0, 4)
    text = FORMATS["github"](LintReport((Diagnostic("x", "y", place),)))
    assert text == "::error title=x,file=a.rules,line=1,endLine=2::y\n"


@pytest.mark.parametrize("name", FORMATS)
def test_findings_in_a_list_are_placed_in_it(name):
    """In every format; a file of lists alone is one like any other."""
    checked = subject('redirects "moved.txt"\ntest `/b` -> redirect `/c`', lists={"moved.txt": "/a /a\n/b /c\n/b /d\n"})
    report = lint(checked, CHECKS)
    text = FORMATS[name](report)
    assert "redirect-loop" in text
    assert "double-line" in text
    assert "moved.txt" in text
    assert report.files == ("site.rules", "moved.txt")


def test_a_clean_report_counts_listed_addresses():
    """Beside rewrites, which there may be none of."""
    checked = subject('redirects "moved.txt"\ntest `/b` -> redirect `/c`', lists={"moved.txt": "/b /c\n/d /e"})
    report = lint(checked, CHECKS)
    assert summary(report) == "all clean: 0 rewrites, 2 listed addresses in 2 files"
