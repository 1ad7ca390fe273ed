"""What is empty, and what stands in for it (sprig's defaults.go)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tornado_proxy.templates.golang.calling import ANY, BOOL, STRING, Function, function
from tornado_proxy.templates.golang.failures import ExecutionError
from tornado_proxy.templates.golang.text import runes
from tornado_proxy.templates.golang.values import Value, is_true


def is_empty(value: Value) -> bool:
    """Whether a value is nil, zero, false or without elements; a struct never is."""
    return not is_true(value)


def _default(fallback: Value, *given: Value) -> Value:
    return fallback if not given or is_empty(given[0]) else given[0]


def _coalesce(*values: Value) -> Value:
    return next((value for value in values if not is_empty(value)), None)


def _fail(message: bytes) -> Value:
    raise ExecutionError(runes(message))


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "all": function(lambda *values: not any(map(is_empty, values)), rest=ANY),
        "any": function(lambda *values: not all(map(is_empty, values)), rest=ANY),
        "coalesce": function(_coalesce, rest=ANY),
        "default": function(_default, ANY, rest=ANY),
        "empty": function(is_empty, ANY),
        "fail": function(_fail, STRING),
        "ternary": function(lambda yes, no, condition: yes if condition else no, ANY, ANY, BOOL),
    }
)
