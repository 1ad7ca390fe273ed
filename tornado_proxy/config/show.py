"""Returns a configuration as plain data, with all defaults and without secrets, and what an edit of it changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from tornado_proxy.config.model import Settings
from tornado_proxy.config.options import Mark, OptionType, SettingsSection, options_of
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.values import GuardedUrl


def canonical(settings: Settings) -> str:
    """Returns the options that differ from their defaults as JSON, each under its name and without secrets.

    Versions that differ in options that the file does not use write the same text.
    """
    return json.dumps(_differing(settings))


def _differing(section: SettingsSection) -> dict[str, Any]:
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
    """Returns the options whose shown values differ. Rules are named relative to their configuration's directory."""
    found = differences(*(replace(each, rules=_relative(each)) for each in (old, new)))
    return tuple(each for each in found if each.old != each.new)


def _relative(settings: Settings) -> tuple[Path, ...]:
    here = settings.directory
    return tuple(each.relative_to(here) if each.is_relative_to(here) else each for each in settings.rules)


def differences(old: SettingsSection, new: SettingsSection, *, above: str = "") -> Iterator[ChangedOption]:
    """Yields the options that differ; those are shown alike whose order, secrets or certificates alone are others."""
    for option in options_of(type(new)):
        before, after = getattr(old, option.attribute), getattr(new, option.attribute)
        if before != after:
            path = f"{above}{option.dotted}"
            yield from [*_changed_value(path, before, after, option.type)] or [ChangedOption(path, None, None)]


def _changed_value(path: str, old: Any, new: Any, kind: OptionType) -> Iterator[ChangedOption]:
    is_list_of_sections = kind.is_list and kind.item.section and Mark.PAIRS not in kind.marks
    if kind.section and isinstance(old, kind.section) and isinstance(new, kind.section):
        yield from differences(old, new, above=f"{path}.")
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
        yield ChangedOption(path, *(None if each is None else _value(each, kind, _differing) for each in (old, new)))


def _without_common_ends(old: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    while old and new and old[0] == new[0]:
        old, new = old[1:], new[1:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return old, new


def show(section: SettingsSection) -> dict[str, Any]:
    """Returns all options of settings, or of a section, as data for JSON, with each secret replaced by its place."""
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
    return described(value) if isinstance(value, SettingsSection) else value
