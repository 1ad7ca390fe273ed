import json

import jsonschema
from linting import block
from linting import report as linted

from tornado_proxy.lint.reporters.gitlab import render

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
    return {entry["fingerprint"] for entry in json.loads(render(linted(site=text)))}


def test_an_entry_for_each_finding(report, golden):
    """Description, check, severity and place, as GitLab reads them."""
    golden(render(report), "gitlab.json")
    jsonschema.validate(json.loads(render(report)), SCHEMA)


def test_what_belongs_to_no_file_is_shown_at_the_first(report):
    """An entry without a path cannot be, and a directory is none that GitLab shows."""
    assert {entry["location"]["path"] for entry in json.loads(render(report))} == set(report.files) - {"empty.rules"}


def test_fingerprints_are_unique(report):
    """Two findings are never taken for one, alike as they may be."""
    entries = json.loads(render(report))
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)


def test_fingerprints_stay_when_lines_move():
    """What was known before an edit above it is known afterwards."""
    text = "rewrite `^/a.b$` -> `/b`\ntest `/a.b` -> `/b`"
    assert _fingerprints(block(text)) == _fingerprints(block(f"# A comment.\n\n  {text}"))


def test_a_clean_run(clean):
    """The list is empty."""
    assert json.loads(render(clean)) == []
