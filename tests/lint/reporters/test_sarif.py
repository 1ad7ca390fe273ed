import json
from pathlib import Path

import jsonschema
import pytest

from tornado_proxy.lint.reporters.sarif import render

# The schema of the standard itself (OASIS, errata 01, named by its `$id`), without its descriptions.
SCHEMA = json.loads((Path(__file__).parent / "sarif-2.1.0.json").read_text(encoding="utf-8"))


def test_the_log(report, golden):
    """A run with the checks as rules, and the findings as results with places and fixes."""
    golden(render(report), "lint.sarif")


@pytest.mark.parametrize("name", ["report", "clean", "harmless"])
def test_it_is_sarif(name, request):
    """The log is valid by the schema of the standard."""
    jsonschema.validate(json.loads(render(request.getfixturevalue(name))), SCHEMA)


def test_the_schema_forbids_what_the_standard_does_not_know(clean):
    """A property that was misspelt would be found."""
    log = json.loads(render(clean))
    log["runs"][0]["result"] = []
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(log, SCHEMA)


def test_results_point_to_their_rules(report):
    """Index and name of a result's rule agree (section 3.27.6)."""
    (run,) = json.loads(render(report))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])


def test_a_check_that_failed_is_told(report, clean):
    """A run in which the tool could not do its work was not successful (section 3.20.14)."""
    successful = [
        json.loads(render(each))["runs"][0]["invocations"][0]["executionSuccessful"] for each in (report, clean)
    ]
    assert successful == [False, True]


def test_paths_are_references(report):
    """A space in a path is encoded (section 3.4.3)."""
    assert '"uri": "more%20rules/team.rules"' in render(report)
