"""A configuration as plain data for people and programs: every option with its default filled in, no secret."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from tornado_proxy.config.model import Settings
from tornado_proxy.config.options import Mark, OptionType, options_of
from tornado_proxy.config.secrets import Secret


def show(settings: Settings) -> dict[str, Any]:
    """Returns the options by the names of the file, fit for JSON; a secret is replaced by where it came from."""
    return _section(settings)


def _section(section: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for option in options_of(type(section)):
        here = shown.setdefault(option.group.name, {}) if option.group else shown
        here[option.name] = _value(getattr(section, option.attribute), option.type)
    return shown


def _value(value: Any, kind: OptionType) -> Any:
    if isinstance(value, Secret):
        return {"secret": value.origin}
    if isinstance(value, tuple):
        if Mark.PAIRS in kind.marks:
            return {name: _value(each, kind.item) for name, each in value}
        if Mark.BY_NAME in kind.marks:
            return {each.name: _value(each, kind.item) for each in value}
        return [_value(each, kind.item) for each in value]
    if isinstance(value, Path):
        return str(value)
    return _section(value) if value is not None and kind.section and fields(value) else value
