"""The published JSON Schema of configuration files, for editors: `docs/configuration.schema.json`.

An editor that knows it checks and completes as one types: `# yaml-language-server: $schema=configuration.schema.json`.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from tornado_proxy.config.sections import ConfigurationSection

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """The schema of a configuration file."""
    schema = ConfigurationSection.model_json_schema(schema_generator=_Generator)
    return {"$schema": DIALECT} | schema


def published() -> str:
    """The schema as it is published."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


class _Generator(GenerateJsonSchema):
    """Pydantic's, without titles that repeat an option's name, and with defaults as the file could say them."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        """Never: an option's name is its title."""
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        """A default is told only if the file could say it."""
        described = super().default_schema(schema)
        default = described.pop("default", None)
        if default is None:
            return described
        whole = isinstance(default, float) and default.is_integer()
        return described | {"default": int(default) if whole else default}
