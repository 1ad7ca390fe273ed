"""The JSON Schema of a configuration, derived from its options; `docs/configuration.schema.json` is its text.

An editor that knows it checks and completes while the user types: `# yaml-language-server: $schema=…`.
"""

import ast
import inspect
import json
import re
import sys
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import Literal, get_args, get_origin

from tornado_proxy.config import values
from tornado_proxy.config.model import Settings
from tornado_proxy.config.options import Mark, Option, SettingsSection, all_options, options_of
from tornado_proxy.config.secrets import Reference
from tornado_proxy.config.values import Duration, GuardedUrl, Size, TextPattern

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_TYPES = {bool: "boolean", int: "integer", str: "string", Path: "string", GuardedUrl: "string"}
# What JSON Schema can express of a check that is no `TextPattern`.
_KEYWORDS = {
    values.asset_place: {"minLength": 1},
    values.bare_url: {"pattern": r"^https?://"},
    values.endpoint: {"minLength": 1},
    values.glob: {"pattern": r"^/"},
    values.host: {"pattern": values.HOST},
    values.http_url: {"pattern": r"^https?://"},
    values.line: {"minLength": 1},
}


@cache
def _classes(module):
    return {each.name: each for each in ast.parse(inspect.getsource(sys.modules[module])).body if hasattr(each, "name")}


def _docstrings(section):
    """Returns the docstrings of the fields of a section, by attribute."""
    tree = _classes(section.__module__)[section.__name__]
    own = {
        field.target.id: " ".join(docstring.value.value.split())
        for field, docstring in pairwise(tree.body)
        if isinstance(field, ast.AnnAssign) and isinstance(docstring, ast.Expr)
    }
    return own if section.__base__ is SettingsSection else _docstrings(section.__base__) | own


_NESTED = (each.option.type.nested[0] for each in all_options(Settings) if isinstance(each.option, Option))
SECTIONS = sorted({Settings, *filter(None, _NESTED)}, key=lambda section: section.__name__)
_DESCRIPTIONS = {
    id(each): _docstrings(section).get(each.attribute, "") for section in SECTIONS for each in options_of(section)
}


def description(option):
    """Returns the docstring of an option, or the description of a group of them."""
    return _DESCRIPTIONS[id(option)] if isinstance(option, Option) else option.description


def json_schema():
    """Returns the schema of a configuration file."""
    definitions = {each.__name__: _section_schema(each) for each in SECTIONS if each is not Settings}
    return {"$schema": DIALECT, "$defs": definitions} | _section_schema(Settings)


def published():
    """Returns the text of the published schema."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _section_schema(section):
    counts = {"minProperties": 1, "maxProperties": 1} if section is Reference else {}
    title = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", section.__name__).capitalize()
    return {"title": title, "description": inspect.getdoc(section)} | _mapping(options_of(section), None) | counts


def _mapping(options, group):
    properties = {}
    for inner, members in groupby(options, key=lambda each: each.group):
        if inner is None or inner is group:
            properties |= {
                each.name: {"description": description(each)} | _value_schema(each.type) | _default(each)
                for each in members
            }
        else:
            properties[inner.name] = {"description": inner.description} | _mapping(tuple(members), inner)
    schema = {"type": "object", "additionalProperties": False, "properties": properties}
    required = [each.name for each in options if each.is_required]
    return schema | ({"required": required} if required else {})


def _default(option):
    """Returns a default that the file could have."""
    default = option.default
    if isinstance(default, float) and default.is_integer():
        default = int(default)
    if isinstance(default, tuple) and default and isinstance(default[0], str):
        default = list(default)
    return {"default": default} if isinstance(default, bool | int | float | str | list) else {}


def _value_schema(kind):
    if kind.section:
        return {"$ref": f"#/$defs/{kind.section.__name__}"}
    if kind.is_list:
        item = _value_schema(kind.item)
        not_empty = Mark.NOT_EMPTY in kind.marks
        if kind.is_mapping:
            names = {"propertyNames": {"minLength": 1}} | ({"minProperties": 1} if not_empty else {})
            return {"type": "object", "additionalProperties": item} | names
        items = {"type": "array", "items": item} | ({"minItems": 1} if not_empty else {})
        return {"anyOf": [item, items]} if Mark.ONE_OR_MANY in kind.marks else items
    if get_origin(kind.base) is Literal:
        return {"type": "string", "enum": list(get_args(kind.base))}
    if kind.bounds:
        return bounds_schema(kind.bounds)
    schema = {"type": _TYPES[kind.base]} | ({"minLength": 1} if kind.base is Path else {})
    for mark in kind.marks:
        pattern = {"pattern": mark.expression} if isinstance(mark, TextPattern) else {}
        schema |= pattern | _KEYWORDS.get(getattr(mark, "func", mark), {})
    return schema


def bounds_schema(bounds):
    """Returns the schema of a number within bounds, or of one with units."""
    limits = {"minimum": bounds.lowest, "maximum": bounds.highest}
    numeric = {"type": "number" if isinstance(bounds, Duration) else "integer"}
    numeric |= {name: bound for name, bound in limits.items() if bound is not None}
    if not isinstance(bounds, Size | Duration):
        return numeric
    return {"anyOf": [numeric, {"type": "string", "pattern": f"^{bounds.notation}$"}]}
