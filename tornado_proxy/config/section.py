"""What all sections of the configuration share: strict, camelCase, and aware of where they stand in the file."""

from __future__ import annotations

from types import NoneType
from typing import Annotated, Any, ClassVar, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    ModelWrapValidatorHandler,
    PrivateAttr,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, core_schema

from tornado_proxy.config.nodes import Fields, MappingNode, Node
from tornado_proxy.config.quantities import DAY, Duration
from tornado_proxy.config.values import line

NOWHERE = MappingNode(0, 0, ())
"""The node of a section that no file has."""


def matching(pattern: str) -> WithJsonSchema:
    """The JSON Schema of a string, for editors; the check itself is a function of `values`."""
    return WithJsonSchema({"type": "string", "pattern": pattern})


Line = Annotated[str, AfterValidator(line), WithJsonSchema({"type": "string", "minLength": 1})]
"""A string that is not empty and stands on one line."""

Timeout = Annotated[float, Duration(0.1, DAY)]
"""How long something may take."""


class Section(BaseModel):
    """A mapping of the file: unknown options, other types and nothing where a value belongs are mistakes."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, alias_generator=to_camel, hide_input_in_errors=True
    )

    shape: ClassVar[str | None] = None
    """How a section is written, for whoever wrote something else in its place."""

    _node: MappingNode | None = PrivateAttr(default=None)

    @model_validator(mode="wrap")
    @classmethod
    def _remember(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        section = handler(value)
        if isinstance(value, Fields):
            section._node = value.node  # noqa: SLF001 - its own
        return section

    @property
    def node(self) -> MappingNode:
        """The mapping that the section was read from; an empty one at the start if it was left out."""
        return self._node or NOWHERE

    def key_node(self, option: str) -> Node:
        """Where an option is named; the section itself if it is left out."""
        entry = self.node.fields.get(option)
        return entry.key if entry else self.node

    def value_node(self, option: str) -> Node:
        """Where an option's value stands; the section itself if it is left out."""
        entry = self.node.fields.get(option)
        return entry.value if entry else self.node


class Omittable:
    """An annotation: the option may be left out, which is None, but may not be null in the file."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The schema of the type without None."""
        (kind,) = (each for each in get_args(source) if each is not NoneType)
        return handler.generate_schema(kind)


class OneOrMany:
    """An annotation of a list: a single item may stand for a list of one."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The schema of the list, after a string was put into one."""
        return core_schema.no_info_before_validator_function(_listed, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        """An item, or a list of them."""
        many = handler(schema)
        return {"anyOf": [many["items"], many]}


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value
