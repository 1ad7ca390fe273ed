"""What type and kind a value is of, and whether two are equal however deep (sprig's reflect.go)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tornado_proxy.templates.golang.calling import ANY, STRING, Function, budgeted, function
from tornado_proxy.templates.golang.comparison import deep_equal
from tornado_proxy.templates.golang.values import Value, kind_of, type_name


def _type_of(value: Value) -> bytes:
    return type_name(value).encode()


def _kind_of(value: Value) -> bytes:
    return kind_of(value).encode()


def _type_is_like(name: bytes, value: Value) -> bool:
    return _type_of(value) in (name, b"*" + name)


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "deepEqual": budgeted(deep_equal, ANY, ANY),
        "kindIs": function(lambda name, value: name == _kind_of(value), STRING, ANY),
        "kindOf": function(_kind_of, ANY),
        "typeIs": function(lambda name, value: name == _type_of(value), STRING, ANY),
        "typeIsLike": function(_type_is_like, STRING, ANY),
        "typeOf": function(_type_of, ANY),
    }
)
