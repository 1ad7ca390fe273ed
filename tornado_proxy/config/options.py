"""How an option of the configuration is declared: one field of a frozen dataclass, with its type, default and meaning.

    @dataclass(frozen=True, slots=True)
    class Log:
        \"\"\"The log on standard error.\"\"\"

        level: Literal["debug", "info"] = option("The least severe level that is logged.", default="info")

The reader, the redaction, the JSON Schema and the tables of docs/configuration.md derive everything from these fields.
An option is written in camelCase in the file. Fields that are not made by `option` are not read from the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from types import NoneType
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from tornado_proxy.config.values import InvalidValue, OutOfBounds

_M = TypeVar("_M")

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
DAY = 86400

# The largest first: a quantity is shown in the first unit that divides it.
_BYTES = {
    "TiB": Decimal(1024 * GIB),
    "TB": Decimal(10**12),
    "GiB": Decimal(GIB),
    "GB": Decimal(10**9),
    "MiB": Decimal(MIB),
    "MB": Decimal(10**6),
    "KiB": Decimal(KIB),
    "KB": Decimal(10**3),
    "B": Decimal(1),
}
_SECONDS = {"d": Decimal(DAY), "h": Decimal(3600), "m": Decimal(60), "s": Decimal(1), "ms": Decimal("0.001")}

_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,6})?"
_SIZE = re.compile(rf"({_NUMBER}) ?({'|'.join(_BYTES)})")
_PERIOD = re.compile(rf"({_NUMBER})(ms|[dhms])")
_DURATION = re.compile(rf"(?:{_NUMBER}(?:ms|[dhms]))+")

ANY = "*"
"""Stands in an option's path for a name that the user chooses, or for an item of a list."""


@dataclass(frozen=True, slots=True)
class OptionGroup:
    """A mapping of the file whose options are fields of the section around it, such as `GET.config`."""

    name: str
    description: str
    shape: str | None = None


@dataclass(frozen=True, slots=True)
class Constraint:
    """A mark of a type: `function` returns the value in its final form or raises `InvalidValue`.

    `schema` is the part of the check that JSON Schema can express.
    """

    function: Callable[[Any], Any]
    schema: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Bounds:
    """A mark of an integer: its smallest and largest value."""

    lowest: int
    highest: int


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes within bounds, as a mark of an option's type."""

    lowest: int
    highest: int | None = None

    def read(self, value: object) -> int:
        """The bytes that a value of the file stands for; raises `InvalidValue`."""
        size = _size(value)
        _check_bounds(Decimal(size), self, _BYTES)
        return size

    def json_schema(self) -> dict[str, Any]:
        """A number within the bounds, or one with a unit."""
        return _json_schema("integer", self, _SIZE)


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds within bounds, as a mark of an option's type."""

    lowest: float
    highest: float | None = None

    def read(self, value: object) -> float:
        """The seconds that a value of the file stands for; raises `InvalidValue`."""
        seconds = _duration(value)
        _check_bounds(seconds, self, _SECONDS)
        return float(seconds)

    def json_schema(self) -> dict[str, Any]:
        """A number within the bounds, or one with units."""
        return _json_schema("number", self, _DURATION)


def _json_schema(number: str, bounds: Size | Duration, pattern: re.Pattern[str]) -> dict[str, Any]:
    numeric = {"type": number, "minimum": bounds.lowest}
    if bounds.highest is not None:
        numeric["maximum"] = bounds.highest
    return {"anyOf": [numeric, {"type": "string", "pattern": f"^{pattern.pattern}$"}]}


def _size(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise InvalidValue("is not a size", "a number of bytes, or one with a unit: `500KB`, `100MB`, `5GiB`")
    return int(Decimal(found[1]) * _BYTES[found[2]])


def _duration(value: object) -> Decimal:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Decimal(str(value))
    if not isinstance(value, str) or not _DURATION.fullmatch(value):
        raise InvalidValue(
            "is not a duration", "a number of seconds, or one with units: `500ms`, `30s`, `5m`, `1h30m`, `7d`"
        )
    return sum((Decimal(number) * _SECONDS[unit] for number, unit in _PERIOD.findall(value)), Decimal(0))


def _check_bounds(quantity: Decimal, bounds: Size | Duration, units: Mapping[str, Decimal]) -> None:
    if quantity < Decimal(str(bounds.lowest)):
        raise OutOfBounds(f"is less than {_shown(bounds.lowest, units)}")
    if bounds.highest is not None and quantity > Decimal(str(bounds.highest)):
        raise OutOfBounds(f"is more than {_shown(bounds.highest, units)}")


def _shown(quantity: float, units: Mapping[str, Decimal]) -> str:
    """A quantity in the largest unit that divides it, as it could stand in the file."""
    exact = Decimal(str(quantity))
    for unit, factor in units.items():
        if exact and not exact % factor:
            return f"{exact // factor}{unit}"
    return "0"


class Mark(Enum):
    """Marks of a type that have no value."""

    ONE_OR_MANY = "a single string may stand for a list of one"
    NOT_EMPTY = "an empty list or mapping is a mistake"
    BY_NAME = "a tuple of sections, written as a mapping from their `name`"
    PAIRS = "a tuple of names and values, written as a mapping"
    MAY_BE_HASHED = "a secret whose hash may stand in the file"


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
        """Whether the file has a reference where the value is a secret."""
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

    def mark(self, kind: type[_M]) -> _M | None:
        """The mark of a class; None where there is none."""
        return next((each for each in self.marks if isinstance(each, kind)), None)

    @property
    def nested(self) -> tuple[type[Any] | None, tuple[str, ...]]:
        """The section within the type, and the steps that lead to it."""
        if not self.is_list:
            return self.section, ()
        section, steps = self.item.nested
        return section, (ANY, *steps)


def option_type(annotation: Any) -> OptionType:
    """The parts of an annotation."""
    if get_origin(annotation) is Annotated:
        base, *marks = get_args(annotation)
        inner = option_type(base)
        return OptionType(inner.base, (*inner.marks, *marks))
    if NoneType in get_args(annotation):
        return option_type(get_args(annotation)[0])
    return OptionType(annotation)


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a section."""

    attribute: str
    name: str
    type: OptionType
    description: str
    is_required: bool
    default: Any  # `MISSING` where there is none
    example: str | None = None
    group: OptionGroup | None = None


def option(  # noqa: PLR0913 - what there is to say of an option
    description: str,
    *,
    default: Any = MISSING,
    name: str | None = None,
    group: OptionGroup | None = None,
    example: str | None = None,
    required: bool = False,
    show: bool = True,
) -> Any:
    """A field of a dataclass that is an option.

    An option without a default is required, and a text that is required has an `example`, which takes its place while
    the rest of a configuration is checked. `name` is what the file calls it if that is not the attribute in camelCase.
    `required` is for an option that only the file must have. `show` is whether the `repr` has the value.
    """
    told = {"description": description, "name": name, "group": group, "example": example}
    metadata = told | {"required": required or default is MISSING}
    return field(default=default, repr=show, metadata=metadata)


def place_of(name: str) -> Any:
    """A field that is not an option: the place in the file where the option `name` is named."""
    return field(default=None, repr=False, compare=False, metadata={"place_of": name})


_OPTIONS: dict[type[Any], tuple[Option, ...]] = {}


def options_of(section: type[Any]) -> tuple[Option, ...]:
    """The options of a section, in the order of its fields."""
    if section not in _OPTIONS:
        types = get_type_hints(section, include_extras=True)
        declared = (each for each in fields(section) if "description" in each.metadata)
        _OPTIONS[section] = tuple(_option(each, types[each.name]) for each in declared)
    return _OPTIONS[section]


def _option(declared: Field[Any], annotation: Any) -> Option:
    told = declared.metadata
    return Option(
        attribute=declared.name,
        name=told["name"] or camel_case(declared.name),
        type=option_type(annotation),
        description=told["description"],
        is_required=told["required"],
        default=declared.default,
        example=told["example"],
        group=told["group"],
    )


def camel_case(name: str) -> str:
    """A name as the file writes it: `max_size` becomes `maxSize`."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


class OptionPath(NamedTuple):
    """An option or a group with its path from the top of the file, `*` for names and items."""

    path: tuple[str, ...]
    option: Option | OptionGroup

    @property
    def dotted(self) -> str:
        """The path as people write it: `targets.*.bucket.name`."""
        return ".".join(self.path)


def all_options(root: type[Any]) -> tuple[OptionPath, ...]:
    """Every option and group below a section, in the order of the file's documentation."""
    return tuple(_walk(root, ()))


def _walk(section: type[Any], path: tuple[str, ...]) -> Iterator[OptionPath]:
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
            yield from _walk(below, (*here, *steps))
