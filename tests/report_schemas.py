"""Validation of JSON reports by the schemas in `docs/schemas`."""

import json
from pathlib import Path
from typing import Any

from jsonschema import validate

SCHEMAS = Path(__file__).parents[1] / "docs" / "schemas"


def check_report(report: Any, schema: str) -> None:
    """Raises an exception if a report, as it is written in JSON, doesn't obey the schema of this name."""
    validate(json.loads(json.dumps(report)), json.loads((SCHEMAS / f"{schema}.json").read_text(encoding="utf-8")))
