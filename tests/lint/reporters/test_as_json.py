import json
from pathlib import Path

import jsonschema
import pytest

from tornado_proxy.lint.reporters.as_json import render

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "lint.json"


@pytest.fixture(scope="module")
def schema():
    """The published schema."""
    return json.loads(SCHEMA.read_text(encoding="utf-8"))


def test_the_document(report, golden):
    """Every finding with its place, help, notes and fixes, and the numbers of the run."""
    golden(render(report), "lint.json")


@pytest.mark.parametrize("name", ["report", "clean", "harmless"])
def test_it_is_what_the_schema_says(name, schema, request):
    """The schema describes every document that is printed."""
    jsonschema.validate(json.loads(render(request.getfixturevalue(name))), schema)


def test_the_schema_is_one(schema):
    """It is a schema itself, and knows every field: a field too many is refused."""
    jsonschema.Draft202012Validator.check_schema(schema)
    document = {"version": 1, "summary": {"files": 0, "rewrites": 0, "findings": 0, "failing": 0}, "findings": [{}]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)
