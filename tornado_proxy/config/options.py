"""The options that a configuration may use, as a walk over its sections: for suggestions, docs and redaction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from tornado_proxy.config.section import Section
from tornado_proxy.config.sections import ConfigurationSection

ANY = "*"
"""Stands in an option's path for a name that the user gives, or for an item of a list."""

Location = tuple[str | int, ...]
"""Where something stands in a document: names of keys and numbers of items."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option: its path from the top, what its section says of it, and the section that it leads to, if any."""

    path: tuple[str, ...]
    field: FieldInfo
    section: type[Section] | None
    section_path: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name as written in the file."""
        return self.path[-1]

    @property
    def dotted(self) -> str:
        """The path as people write it: `targets.*.bucket.name`."""
        return ".".join(self.path)


@cache
def options() -> tuple[Option, ...]:
    """Every option of a configuration, in the order of the sections."""
    return tuple(_walk(ConfigurationSection, ()))


def option_names() -> frozenset[str]:
    """The names of all options."""
    return frozenset(option.name for option in options())


def section_at(location: Location) -> type[Section] | None:
    """The section that a mapping at a location is read as; None where none is."""
    return _sections().get(_path(location))


def option_at(location: Location) -> Option | None:
    """The option whose value stands at a location; None where none does."""
    return _by_path().get(_path(location))


@cache
def _sections() -> dict[tuple[str, ...], type[Section] | None]:
    return {option.section_path: option.section for option in options()} | {(): ConfigurationSection}


@cache
def _by_path() -> dict[tuple[str, ...], Option]:
    return {option.path: option for option in options()}


@cache
def _prefixes() -> frozenset[tuple[str, ...]]:
    paths = [*_sections(), *_by_path()]
    return frozenset(path[:length] for path in paths for length in range(len(path) + 1))


def _path(location: Location) -> tuple[str, ...]:
    """A location with the user's names and numbers replaced."""
    path: tuple[str, ...] = ()
    for part in location:
        steps = ((*path, str(part)), (*path, ANY))
        path = next((each for each in steps if each in _prefixes()), (*path, ""))
    return path


def _walk(section: type[Section], path: tuple[str, ...]) -> Iterator[Option]:
    for field in section.model_fields.values():
        here = (*path, str(field.alias))
        below, steps = _section_in(field.annotation)
        yield Option(here, field, below, (*here, *steps))
        if below:
            yield from _walk(below, (*here, *steps))


def _section_in(annotation: Any) -> tuple[type[Section] | None, tuple[str, ...]]:
    """The section that a type holds, and the steps that lead to it."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation, ()
    steps = (ANY,) if get_origin(annotation) in (list, dict) else ()
    for part in get_args(annotation):
        section, more = _section_in(part)
        if section:
            return section, (*steps, *more)
    return None, ()
