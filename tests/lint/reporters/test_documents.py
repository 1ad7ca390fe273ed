import json
from pathlib import Path

import jsonschema
import pytest

from tornado_proxy.lint.reporters import render_json, render_sarif

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "lint.json"


@pytest.fixture(scope="module")
def schema():
    """The published schema of the JSON document."""
    return json.loads(SCHEMA.read_text(encoding="utf-8"))


def test_the_json_document_is_complete(report, golden):
    """The document has every finding with its place, help, notes and fixes, and the numbers of the run."""
    golden(render_json(report), "lint.json")


@pytest.mark.parametrize("name", ["report", "clean", "harmless"])
def test_the_json_document_obeys_the_schema(name, schema, request):
    """The schema describes every document."""
    jsonschema.validate(json.loads(render_json(request.getfixturevalue(name))), schema)


def test_the_schema_is_valid_and_strict(schema):
    """The schema is valid, and refuses unknown fields."""
    jsonschema.Draft202012Validator.check_schema(schema)
    document = {"version": 1, "summary": {"files": 0, "rewrites": 0, "findings": 0, "failing": 0}, "findings": [{}]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


# The schema of the standard (OASIS, errata 01, named by its `$id`), without its descriptions.
SARIF_SCHEMA = json.loads((Path(__file__).parent / "sarif-2.1.0.json").read_text(encoding="utf-8"))


def test_the_sarif_log_is_complete(report, golden):
    """The log has one run, with the checks as rules, and the findings as results with places and fixes."""
    golden(render_sarif(report), "lint.sarif")


@pytest.mark.parametrize("name", ["report", "clean", "harmless"])
def test_the_sarif_log_obeys_the_schema(name, request):
    """The log is valid by the schema of the standard."""
    jsonschema.validate(json.loads(render_sarif(request.getfixturevalue(name))), SARIF_SCHEMA)


def test_the_sarif_schema_refuses_unknown_properties(clean):
    """The schema refuses a misspelt property."""
    log = json.loads(render_sarif(clean))
    log["runs"][0]["result"] = []
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(log, SARIF_SCHEMA)


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


def test_paths_are_uri_references(report):
    """A space in a path is encoded (section 3.4.3)."""
    assert '"uri": "more%20rules/team.rules"' in render_sarif(report)
