"""Declares options of the configuration: each is a field of a frozen dataclass with its type, default and meaning.

    @dataclass(frozen=True, slots=True)
    class Log:
        \"\"\"The log on standard error.\"\"\"

        level: Literal["debug", "info"] = option("The least severe level that is logged.", default="info")

The reader, the redaction, the JSON Schema and the tables of docs/configuration.md are derived from these fields.
A function in the annotation of a type returns a value in its final form, or raises `InvalidValue`.
An option is written in camelCase in the file. Fields that are not made by `option` are not read from the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, field, fields, is_dataclass
from enum import Enum
from functools import partial
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from tornado_proxy.config.quantities import Bounds

ANY = "*"
"""The part of an option's path for a name that the user chooses, or for an item of a list."""


class OptionGroup(msgspec.Struct, frozen=True):
    """A mapping of the file whose options are fields of the section around it, such as `GET.config`."""

    name: str
    description: str
    shape: str | None = None


class Mark(Enum):
    """Marks of a type that have no value."""

    ONE_OR_MANY = "a single string may stand for a list of one"
    NOT_EMPTY = "an empty list or mapping is a mistake"
    BY_NAME = "a tuple of sections, written as a mapping from their `name`"
    PAIRS = "a tuple of names and values, written as a mapping"
    MAY_BE_HASHED = "a secret whose hash may stand in the file"
    OR_PATH = "a string may stand for a section: it is a path"


class OptionType(NamedTuple):
    """The type of an option without `| None`, and the marks of its annotation."""

    base: Any
    marks: tuple[Any, ...] = ()

    @property
    def section(self) -> type[Any] | None:
        """The section that is written for a value of this type; None for other values."""
        if self.is_secret:
            return self.base.written_as  # type: ignore[no-any-return]
        return self.base if isinstance(self.base, type) and is_dataclass(self.base) else None

    @property
    def is_secret(self) -> bool:
        """Whether the value is a secret, for which the file has a reference."""
        return hasattr(self.base, "written_as")

    @property
    def item(self) -> OptionType:
        """The type of the items of a list, or of the values of a mapping."""
        item = get_args(self.base)[0]
        return option_type(get_args(item)[1] if Mark.PAIRS in self.marks else item)

    @property
    def is_mapping(self) -> bool:
        """Whether it is written as a mapping whose names the user chooses."""
        return Mark.BY_NAME in self.marks or Mark.PAIRS in self.marks

    @property
    def is_list(self) -> bool:
        """Whether it is a list, or a mapping by name."""
        return get_origin(self.base) is tuple

    @property
    def bounds(self) -> Bounds | None:
        """The bounds of a number; None for other values."""
        return next((each for each in self.marks if isinstance(each, Bounds)), None)

    @property
    def nested(self) -> tuple[type[Any] | None, tuple[str, ...]]:
        """The section within the type, and the steps that lead to it."""
        if not self.is_list:
            return self.section, ()
        section, steps = self.item.nested
        return section, (ANY, *steps)


def option_type(annotation: Any) -> OptionType:
    """Returns what an annotation says."""
    if get_origin(annotation) is Annotated:
        base, *marks = get_args(annotation)
        inner = option_type(base)
        return OptionType(inner.base, (*inner.marks, *marks))
    if NoneType in get_args(annotation):
        return option_type(get_args(annotation)[0])
    if isinstance(annotation, UnionType):
        return OptionType(get_args(annotation)[1], (Mark.OR_PATH,))
    return OptionType(annotation)


class Option(msgspec.Struct, frozen=True):
    """An option of a section."""

    attribute: str
    name: str
    type: OptionType
    description: str
    is_required: bool
    default: Any  # `MISSING` where there is none
    group: OptionGroup | None = None


def option(  # noqa: PLR0913 - an option has many properties
    description: str,
    *,
    default: Any = MISSING,
    name: str | None = None,
    group: OptionGroup | None = None,
    required: bool = False,
    show: bool = True,
) -> Any:
    """Returns a field of a dataclass that is an option.

    An option without a default is required; `required` is for an option that only the file must have. `name` is its
    name in the file if that is not the attribute in camelCase. `show` is whether the `repr` shows the value.
    """
    is_required = required or default is MISSING
    metadata = {"description": description, "name": name, "group": group, "is_required": is_required}
    return field(default=default, repr=show, metadata=metadata)


optional = partial(option, default=None)
"""Returns an option whose value is None where the file has none."""

several = partial(option, default=())
"""Returns an option of several values, which is empty where the file has none."""

flag = partial(option, default=False)
"""Returns an option that is false unless the file says otherwise."""


def place_of(name: str) -> Any:
    """Returns a field that is not an option: the place of the name of the option `name` in the file."""
    return field(default=None, repr=False, compare=False, metadata={"place_of": name})


def values_of(name: str) -> Any:
    """Returns a field that is not an option: the places of the values of the option `name`, one for each of a list."""
    return field(default=(), repr=False, compare=False, metadata={"values_of": name})


_OPTIONS: dict[type[Any], tuple[Option, ...]] = {}


def options_of(section: type[Any]) -> tuple[Option, ...]:
    """The options of a section, in the order of its fields."""
    if section not in _OPTIONS:
        types = get_type_hints(section, include_extras=True)
        _OPTIONS[section] = tuple(
            Option(
                **{**each.metadata, "name": each.metadata["name"] or camel_case(each.name)},
                attribute=each.name,
                type=option_type(types[each.name]),
                default=each.default,
            )
            for each in fields(section)
            if "description" in each.metadata
        )
    return _OPTIONS[section]


def camel_case(name: str) -> str:
    """Converts the name of an attribute to its form in the file: `max_size` becomes `maxSize`."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


class OptionPath(NamedTuple):
    """An option or a group with its path from the top of the file, `*` for names and items."""

    path: tuple[str, ...]
    option: Option | OptionGroup

    @property
    def dotted(self) -> str:
        """The path in the form for people: `targets.*.bucket.name`."""
        return ".".join(self.path)


def all_options(section: type[Any], path: tuple[str, ...] = ()) -> Iterator[OptionPath]:
    """Every option and group below a section, in the order of the file's documentation; `path` is the section's own."""
    seen = set()
    for each in options_of(section):
        above = path
        if each.group:
            above = (*path, each.group.name)
            if each.group not in seen:
                yield OptionPath(above, each.group)
            seen.add(each.group)
        here = (*above, each.name)
        yield OptionPath(here, each)
        below, steps = each.type.nested
        if below:
            yield from all_options(below, (*here, *steps))
