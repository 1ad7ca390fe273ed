"""Declares options of the configuration: each is a field of a section, with its type, its default and a docstring.

    class Log(SettingsSection, frozen=True):
        \"\"\"The log on standard error.\"\"\"

        level: Literal["debug", "info"] = "info"
        \"\"\"The least severe level that is logged.\"\"\"

The reader, the redaction, the JSON Schema and the tables of docs/configuration.md are derived from these fields.
A function in the annotation of a type returns a value in its final form, or raises `InvalidValue`.
An option is written in camelCase in the file, or as `msgspec.field` names it, after its group and a dot if it has one.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import cache
from types import NoneType
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar, get_args, get_origin

import msgspec
from msgspec.structs import fields

from tornado_proxy.config import document
from tornado_proxy.config.values import Bounds
from tornado_proxy.rules.diagnostic import SourceFile, Span

ANY = "*"
"""The part of an option's path for a name that the user chooses, or for an item of a list."""

_T = TypeVar("_T")
_S = TypeVar("_S", bound="SettingsSection")


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
    REQUIRED = "the file must have it, although the field has a default"
    NO_OPTION = "a field that is not read from the file"


NoOption = Annotated[_T, Mark.NO_OPTION]
ByName = Annotated[tuple[_T, ...], Mark.BY_NAME]
Pairs = Annotated[tuple[tuple[str, _T], ...], Mark.PAIRS]


class ValuePlace(msgspec.Struct, frozen=True):
    """Where a section or another value of the file is. All are equal, so that sections with equal options are.

    An option is named as in the file, after its group and a dot if it has one. Nothing is found in a section that the
    file does not have.
    """

    node: document.Node = document.MappingNode(0, 0, ())
    named_by: document.Node | None = None  # a key, of an item that of its list; None for the whole file
    shown: SourceFile | None = None
    is_item: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ValuePlace)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "ValuePlace()"

    @property
    def name(self) -> Span | None:
        """The key, or the value if no key names it."""
        return self.span_of(self.named_by or self.node)

    @property
    def subject(self) -> str:
        """The subject of a message."""
        name = f"`{document.bare(self.name)}`" if self.named_by else "the configuration"
        return f"an item of {name}" if self.is_item else name

    @property
    def text(self) -> str:
        """The value as it may be shown."""
        return document.bare(self.span_of(self.node))

    @property
    def span(self) -> Span | None:
        """The value if it is an item or a scalar with a text; otherwise the key, or where the whole begins."""
        shows_itself = isinstance(self.node, document.ScalarNode) and self.node.end > self.node.start
        if self.named_by is None and self.shown:
            return Span(self.shown, self.node.start, self.node.start)
        return self.span_of(self.node) if shows_itself or self.is_item else self.name

    def has(self, option: str) -> bool:
        """Whether the file has an option."""
        return document.find(self.node, option) is not None

    def key(self, option: str) -> Span | None:
        """The key of an option; the section that could have it if it is left out."""
        entry = document.find(self.node, option)
        return self.span_of(entry.key if entry else self.node)

    def values(self, option: str) -> tuple[Span | None, ...]:
        """The items of a list, or the only value; the section that could have it if it is left out."""
        return tuple(map(self.span_of, self.nodes(option)))

    def value(self, option: str) -> Span | None:
        """The first of these."""
        return next(iter(self.values(option)), None)

    def nodes(self, option: str) -> tuple[document.Node, ...]:
        """The nodes of `values`."""
        entry = document.find(self.node, option)
        value = entry.value if entry else self.node
        return value.items if isinstance(value, document.SequenceNode) else (value,)

    def span_of(self, node: document.Node) -> Span | None:
        """The place of a node; only its first line."""
        return document.span_of(node, self.shown) if self.shown else None


def camel_case(name: str) -> str:
    """Converts the name of an attribute to its form in the file: `max_size` becomes `maxSize`."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


class SettingsSection(msgspec.Struct, frozen=True, kw_only=True, rename=camel_case):
    """A mapping of the file whose options are the fields of a class."""

    shape: ClassVar[str | None] = None  # an example
    groups: ClassVar[tuple[OptionGroup, ...]] = ()

    place: NoOption[ValuePlace] = ValuePlace()


class OptionType(NamedTuple):
    """The type of an option without `| None`, and the marks of its annotation."""

    base: Any
    marks: tuple[Any, ...] = ()

    @property
    def section(self) -> type[SettingsSection] | None:
        """The section that is written for a value of this type; None for other values."""
        if self.is_secret:
            return self.base.written_as  # type: ignore[no-any-return]
        return self.base if isinstance(self.base, type) and issubclass(self.base, SettingsSection) else None

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
    def nested(self) -> tuple[type[SettingsSection] | None, tuple[str, ...]]:
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
    return OptionType(annotation)


class Option(msgspec.Struct, frozen=True):
    """An option of a section."""

    attribute: str
    name: str
    type: OptionType
    default: Any  # `NODEFAULT` where there is none
    group: OptionGroup | None = None

    @property
    def is_required(self) -> bool:
        """Whether the file must have it."""
        return self.default is msgspec.NODEFAULT or Mark.REQUIRED in self.type.marks

    @property
    def dotted(self) -> str:
        """The name after that of the group."""
        return f"{self.group.name}.{self.name}" if self.group else self.name


@cache
def options_of(section: type[SettingsSection]) -> tuple[Option, ...]:
    """The options of a section, in the order of its fields."""
    options, groups = [], {each.name: each for each in section.groups}
    for each in fields(section):
        kind = option_type(each.type)
        if Mark.NO_OPTION not in kind.marks:
            group_name, _, name = each.encode_name.rpartition(".")
            options.append(Option(each.name, name, kind, each.default, groups[group_name] if group_name else None))
    return tuple(options)


@cache
def members_of(section: type[SettingsSection], group: OptionGroup | None = None) -> dict[str, Option | OptionGroup]:
    """The options and groups of a section, or the options of a group, by their names in the order of the fields."""
    members = (each if group else each.group or each for each in options_of(section) if group in (None, each.group))
    return {each.name: each for each in members}


class OptionPath(NamedTuple):
    """An option or a group with its path from the top of the file, `*` for names and items."""

    path: tuple[str, ...]
    option: Option | OptionGroup

    @property
    def dotted(self) -> str:
        """The path in the form for people: `targets.*.bucket.name`."""
        return ".".join(self.path)


@cache
def all_options(
    section: type[SettingsSection], path: tuple[str, ...] = (), group: OptionGroup | None = None
) -> tuple[OptionPath, ...]:
    """Every option and group below a section, in the order of the file's documentation; `path` is the section's own."""
    found: list[OptionPath] = []
    for name, member in members_of(section, group).items():
        here = (*path, name)
        found.append(OptionPath(here, member))
        if isinstance(member, OptionGroup):
            found += all_options(section, here, member)
        elif (nested := member.type.nested)[0]:
            found += all_options(nested[0], (*here, *nested[1]))
    return tuple(found)


def sections(within: SettingsSection, kind: type[_S]) -> Iterator[_S]:
    """Yields the sections of a class at and below one."""
    if isinstance(within, kind):
        yield within
    for option in options_of(type(within)):
        value = getattr(within, option.attribute)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, SettingsSection):
                yield from sections(each, kind)
