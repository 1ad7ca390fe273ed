"""The options of s3-proxy's configuration with their places, typed access to them, and remarks on what became of them.

Values are decoded as s3-proxy's decoder (mapstructure, weakly typed) does: a number may be quoted, a list of one may be
written without brackets, and a text for a list is split at its commas. A `Section` remembers which options were read,
so that the rest can be reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import NamedTuple, assert_never

from tornado_proxy.config.document import ScalarKind
from tornado_proxy.config.values import VARIABLE
from tornado_proxy.lang.diagnostic import Diagnostic, Span


class Unreadable(Exception):
    """Files that cannot be read or understood: mostly, s3-proxy would not start with them either."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("; ".join(each.message for each in diagnostics))
        self.diagnostics = diagnostics


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value as written; its text may be a secret and stays out of the `repr`."""

    text: str = field(repr=False)
    kind: ScalarKind
    span: Span = field(repr=False)


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    items: tuple[Value, ...]
    span: Span = field(repr=False)


class SourceOption(NamedTuple):
    """An entry of a mapping: its name as written, the place of that name, and the value."""

    name: str
    place: Span
    value: Value


@dataclass(frozen=True, slots=True)
class Options:
    """A mapping, by names in lower case: s3-proxy's reader of files (viper) ignores case."""

    entries: Mapping[str, SourceOption]
    span: Span = field(repr=False)


Value = Scalar | Items | Options


# strconv.ParseBool
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False", ""})


class OptionOutcome(Enum):
    """What became of an option."""

    CARRIED = "carried"  # the same here
    ADAPTED = "adapted"  # written otherwise, proved to do the same
    CHANGED = "changed"  # here, but not quite the same
    LEFT_OUT = "left-out"  # not here
    CLOSED = "closed"  # not here, and what it spoke of is open to nobody


@dataclass(frozen=True, slots=True)
class Remark:
    """What became of one option: its path in s3-proxy's files, a fact without a full stop, and what to do about it."""

    outcome: OptionOutcome
    subject: str
    message: str
    place: Span = field(repr=False)
    help: str | None = None

    @property
    def where(self) -> str:
        """The place as `file:line`."""
        return f"{self.place.source.name}:{self.place.first.line}"


class Remarks:
    """The remarks of a conversion while it is made."""

    def __init__(self) -> None:
        self._made: list[Remark] = []

    def add(self, outcome: OptionOutcome, subject: str, place: Span, message: str, help: str | None = None) -> None:
        """Make one more remark."""
        self._made.append(Remark(outcome, subject, message, place, help))

    def all(self) -> tuple[Remark, ...]:
        """All of them by file and line; those of one line as they were made."""
        return tuple(sorted(self._made, key=lambda each: (each.place.source.name, each.place.first.line)))


class Leftover(NamedTuple):
    """An option that nobody asked for: its path from the root, without indices of lists, and its place."""

    path: str
    place: Span


class PlacedText(NamedTuple):
    """A text of a list, with its place."""

    value: str
    place: Span


class Section:
    """One mapping, named by its path from the root; names are asked for as s3-proxy documents them."""

    def __init__(self, options: Options, path: str = "", remarks: Remarks | None = None) -> None:
        self.path = path
        self.remarks = remarks or Remarks()
        self._options = options
        self._asked: dict[str, list[Section]] = {}
        self._is_settled = False

    @property
    def span(self) -> Span:
        """The place of the whole."""
        return self._options.span

    def place(self, name: str) -> Span:
        """Where an option is given; the whole section where it is not."""
        option = self._options.entries.get(name.lower())
        return option.place if option else self.span

    def __contains__(self, name: str) -> bool:
        """Whether an option is given; asking this does not count as reading it."""
        return name.lower() in self._options.entries

    def text(self, name: str, default: str = "") -> str:
        """A text."""
        value = self._value(name)
        return default if value is None else self._scalar(value, name).text

    def flag(self, name: str, *, default: bool = False) -> bool:
        """A boolean."""
        value = self._value(name)
        if value is None:
            return default
        scalar = self._scalar(value, name)
        if scalar.text not in _TRUE | _FALSE:
            raise _unfit(scalar, f"`{self._path(name)}` is not a boolean that s3-proxy would read", "true or false")
        return scalar.text in _TRUE

    def whole(self, name: str, default: int) -> int:
        """A whole number."""
        value = self._value(name)
        if value is None:
            return default
        scalar = self._scalar(value, name)
        try:
            return int(scalar.text)
        except ValueError:
            raise _unfit(scalar, f"`{self._path(name)}` is not a whole number") from None

    def texts(self, name: str) -> list[PlacedText]:
        """A list of texts."""
        value = self._value(name)
        if value is None:
            return []
        if isinstance(value, Scalar):
            return [PlacedText(each, value.span) for each in value.text.split(",") if value.text]
        if isinstance(value, Options):
            raise _unfit(value, f"`{self._path(name)}` is a list of texts")
        scalars = (self._scalar(each, name) for each in value.items)
        return [PlacedText(each.text, each.span) for each in scalars]

    def section(self, name: str) -> Section | None:
        """A mapping; None where it is not given."""
        found = self._sections(name, lambda value: (value,))
        return found[0] if found else None

    def sections(self, name: str) -> list[Section]:
        """A list of mappings."""
        return self._sections(name, lambda value: value.items if isinstance(value, Items) else (value,))

    def named(self) -> Iterator[tuple[str, Section]]:
        """The mappings in this one by their names, which are the user's: s3-proxy sees them in lower case."""
        for name in self._options.entries:
            section = self.section(name)
            assert section is not None, "what is given is found"
            yield name, section

    def pairs(self) -> dict[str, str]:
        """The texts in this mapping by their names."""
        return {name: self.text(name) for name in self._options.entries}

    def remark(
        self, outcome: OptionOutcome, name: str, message: str, help: str | None = None, *, place: Span | None = None
    ) -> None:
        """Say what became of an option, or of the whole where no option is named."""
        subject = self._path(name) if name else self.path
        self.remarks.add(outcome, subject, place or (self.place(name) if name else self.span), message, help)

    def settle(self) -> None:
        """Marks all options as used, because a remark covers the whole."""
        self._is_settled = True

    def leftovers(self) -> Iterator[Leftover]:
        """What nobody has asked for, here and below."""
        if self._is_settled:
            return
        for name, option in self._options.entries.items():
            if name not in self._asked and not _is_off(option.value):
                yield Leftover(self._path(option.name), option.place)
            for section in self._asked.get(name, ()):
                yield from section.leftovers()

    def _value(self, name: str) -> Value | None:
        self._asked.setdefault(name.lower(), [])
        option = self._options.entries.get(name.lower())
        return option.value if option else None

    def _path(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def _scalar(self, value: Value, name: str) -> Scalar:
        if not isinstance(value, Scalar):
            raise _unfit(value, f"`{self._path(name)}` is a single value")
        return value

    def _sections(self, name: str, items: Callable[[Value], Sequence[Value]]) -> list[Section]:
        """The sections of an option, the same ones whenever it is asked for."""
        known = self._asked.get(name.lower())
        if known:
            return known
        value = self._value(name)
        found = [] if value is None else [self._section(each, name) for each in items(value)]
        self._asked[name.lower()] = found
        return found

    def _section(self, value: Value, name: str) -> Section:
        if not isinstance(value, Options):
            raise _unfit(value, f"`{self._path(name)}` is a mapping")
        return Section(value, self._path(name), self.remarks)


def _is_off(value: Value) -> bool:
    """Whether an option asks for nothing: `false`, an empty value, or a section that is not enabled."""
    match value:
        case Scalar(text=text):
            return text in _FALSE
        case Items(items=items):
            return all(map(_is_off, items))
        case Options(entries=entries):
            enabled = entries.get("enabled")
            disabled = enabled is not None and _is_off(enabled.value)
            return disabled or all(_is_off(each.value) for each in entries.values())
        case _:
            assert_never(value)


def _unfit(value: Value, message: str, help: str | None = None) -> Unreadable:
    return _unreadable("bad-type", value.span, message, help)


def refusal(place: Span, message: str, help: str | None = None) -> Unreadable:
    """What s3-proxy refuses too."""
    return _unreadable("bad-value", place, message, help)


def _unreadable(code: str, place: Span, message: str, help: str | None) -> Unreadable:
    return Unreadable(Diagnostic(code, f"{place.source.name}:{place.first.line}: {message}", help=help))


_UNITS = {
    "h": Decimal(3600),
    "m": Decimal(60),
    "s": Decimal(1),
    "ms": Decimal("1e-3"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "μs": Decimal("1e-6"),
    "ns": Decimal("1e-9"),
}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ms|us|µs|μs|ns|h|m|s)")


def seconds(section: Section, name: str) -> Decimal:
    """The seconds of an option that is a duration; raises `Unreadable` for an invalid one."""
    text = section.text(name)
    found = parsed_duration(text)
    if found is None:
        raise refusal(section.place(name), f"`{text}` is not a duration, so that s3-proxy does not start")
    return found


def parsed_duration(text: str) -> Decimal | None:
    """The seconds of a duration, as Go's time.ParseDuration reads it; None for an invalid one."""
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    if unsigned == "0":
        return Decimal(0)
    parts = _PART.findall(unsigned)
    if not parts or "".join(number + unit for number, unit in parts) != unsigned:
        return None
    total = sum((Decimal(number.rstrip(".")) * _UNITS[unit] for number, unit in parts), Decimal(0))
    return -total if text.startswith("-") else total


_VARIABLE = re.compile(VARIABLE)
_LIKE_A_HASH = re.compile(r"\$(?:2[abxy]?|argon2(?:id|i|d))\$")


def reference(section: Section | None) -> Mapping[str, str] | None:
    """The reference to a secret; None without one that can be converted.

    Of several, s3-proxy takes a file first, then the environment.
    """
    if section is None:
        return None
    path, variable, value = section.text("path"), section.text("env"), section.text("value")
    if path:
        _remark_on_path(path, section)
        return {"path": path}
    if variable:
        if _VARIABLE.fullmatch(variable):
            return {"env": variable}
        section.remark(
            OptionOutcome.LEFT_OUT, "", "this is not the name of a variable here", place=section.place("env")
        )
        return None
    return {"value": value} if value else None


def _remark_on_path(path: str, section: Section) -> None:
    if not PurePosixPath(path).is_absolute():
        message = f"`{path}` starts from the directory of the configuration file, not from the working directory"
        section.remark(OptionOutcome.CHANGED, "path", message, "write it in full")


def password(section: Section | None) -> Mapping[str, str] | None:
    """The reference to a password; None too where its text would be taken for a hash: s3-proxy knows no hashes."""
    found = reference(section)
    if section is not None and found and _LIKE_A_HASH.match(found.get("value", "")):
        message = "the password looks like a hash, and would be taken for one"
        section.remark(OptionOutcome.LEFT_OUT, "", message, "write its hash instead", place=section.place("value"))
        return None
    return found
