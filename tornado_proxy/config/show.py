"""Returns the options as JSON Schema, and a configuration as plain data with all defaults and without secrets.

An editor that knows the schema, `docs/configuration.schema.json`, checks and completes while the user types: `#
yaml-language-server: $schema=configuration.schema.json`.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

from tornado_proxy.config.model import RulesBucket, Settings
from tornado_proxy.config.options import Constraint, Mark, Option, OptionType, all_options, options_of
from tornado_proxy.config.secrets import Reference, Secret
from tornado_proxy.config.values import GuardedUrl

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_TYPES = {bool: "boolean", int: "integer", str: "string", Path: "string", GuardedUrl: "string"}


def json_schema() -> dict[str, Any]:
    """The schema of a configuration file."""
    options = (each.option for each in all_options(Settings))
    nested = (each.type.nested[0] for each in options if isinstance(each, Option))
    definitions = {each.__name__: _section_schema(each) for each in nested if each}
    return {"$schema": DIALECT, "$defs": dict(sorted(definitions.items()))} | _section_schema(Settings)


def published() -> str:
    """The text of the published schema."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _section_schema(section: type[Any]) -> dict[str, Any]:
    counts = {"minProperties": 1, "maxProperties": 1} if section is Reference else {}
    title = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", section.__name__).capitalize()
    return {"title": title, "description": inspect.getdoc(section)} | _mapping(options_of(section), None) | counts


def _mapping(options: Iterable[Option], group: object) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for inner, members in groupby(options, key=lambda each: each.group):
        if inner is None or inner is group:
            properties |= {
                each.name: {"description": each.description} | _value_schema(each.type) | _default(each)
                for each in members
            }
        else:
            properties[inner.name] = {"description": inner.description} | _mapping(tuple(members), inner)
    schema = {"type": "object", "additionalProperties": False, "properties": properties}
    required = [each.name for each in options if each.is_required]
    return schema | ({"required": required} if required else {})


def _default(option: Option) -> dict[str, Any]:
    """A default that the file could have."""
    default = option.default
    if isinstance(default, float) and default.is_integer():
        default = int(default)
    if isinstance(default, tuple) and default and isinstance(default[0], str):
        default = list(default)
    return {"default": default} if isinstance(default, bool | int | float | str | list) else {}


def _value_schema(kind: OptionType) -> dict[str, Any]:
    if kind.section:
        section = {"$ref": f"#/$defs/{kind.section.__name__}"}
        return {"anyOf": [{"type": "string", "minLength": 1}, section]} if Mark.OR_PATH in kind.marks else section
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
        return kind.bounds.json_schema()
    schema: dict[str, Any] = {"type": _TYPES[kind.base]} | ({"minLength": 1} if kind.base is Path else {})
    for mark in kind.marks:
        schema |= mark.json_schema() if isinstance(mark, Constraint) else {}
    return schema


def canonical(settings: Settings) -> str:
    """Returns the options that differ from their defaults as JSON, each under its name and without secrets.

    Versions that differ in options that the file does not use write the same text.
    """
    return json.dumps(_differing(settings))


def _differing(section: Any) -> dict[str, Any]:
    options = sorted(options_of(type(section)), key=lambda each: each.name)
    pairs = ((each, getattr(section, each.attribute)) for each in options)
    return {each.name: _value(value, each.type, _differing) for each, value in pairs if value != each.default}


class ChangedOption(NamedTuple):
    """An option whose value an edit changes; `path` names it with its sections, such as `targets.site.bucket.prefix`.

    Values are data for JSON, with secrets replaced by their places; None if there is no value.
    """

    path: str
    old: Any
    new: Any


def changed_options(old: Settings, new: Settings) -> tuple[ChangedOption, ...]:
    """Returns the options that differ. Rules are named relative to their configuration's directory."""
    return tuple(_changed("", *(replace(each, rules=_relative(each)) for each in (old, new))))


def _relative(settings: Settings) -> tuple[Path | RulesBucket, ...]:
    here = settings.directory
    return tuple(
        each.relative_to(here) if isinstance(each, Path) and each.is_relative_to(here) else each
        for each in settings.rules
    )


def _changed(above: str, old: Any, new: Any) -> Iterator[ChangedOption]:
    for option in options_of(type(new)):
        before, after = getattr(old, option.attribute), getattr(new, option.attribute)
        path = f"{above}{option.group.name}.{option.name}" if option.group else f"{above}{option.name}"
        if before != after:
            yield from _changed_value(path, before, after, option.type)


def _changed_value(path: str, old: Any, new: Any, kind: OptionType) -> Iterator[ChangedOption]:
    is_list_of_sections = kind.is_list and kind.item.section and Mark.PAIRS not in kind.marks
    if kind.section and isinstance(old, kind.section) and isinstance(new, kind.section):
        yield from _changed(f"{path}.", old, new)
    elif Mark.BY_NAME in kind.marks:
        before, after = ({each.name: each for each in side} for side in (old, new))
        for name in dict.fromkeys((*before, *after)):
            if before.get(name) != after.get(name):
                yield from _changed_value(f"{path}.{name}", before.get(name), after.get(name), kind.item)
    elif is_list_of_sections and len(old) == len(new):
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            if before != after:
                yield from _changed_value(f"{path}[{number}]", before, after, kind.item)
    else:
        if is_list_of_sections:
            old, new = _without_common_ends(old, new)
        shown = [None if each is None else _value(each, kind, _differing) for each in (old, new)]
        if shown[0] != shown[1]:  # else a part that is secret differs
            yield ChangedOption(path, *shown)


def _without_common_ends(old: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    while old and new and old[0] == new[0]:
        old, new = old[1:], new[1:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return old, new


def show(section: Any) -> dict[str, Any]:
    """Returns all options of settings, or of a section, by their names in the file, as data for JSON.

    A secret is replaced by its place.
    """
    shown: dict[str, Any] = {}
    for option in options_of(type(section)):
        here = shown.setdefault(option.group.name, {}) if option.group else shown
        here[option.name] = _value(getattr(section, option.attribute), option.type)
    return shown


def _value(value: Any, kind: OptionType, described: Callable[[Any], dict[str, Any]] = show) -> Any:
    if isinstance(value, Secret):
        return {"secret": value.origin}
    if isinstance(value, tuple):
        if Mark.PAIRS in kind.marks:
            return {name: _value(each, kind.item, described) for name, each in value}
        if Mark.BY_NAME in kind.marks:
            return {each.name: _value(each, kind.item, described) for each in value}
        return [_value(each, kind.item, described) for each in value]
    if isinstance(value, Path | GuardedUrl):
        return str(value)
    return described(value) if value is not None and kind.section and fields(value) else value
