"""Reads s3-proxy's configuration: its files, merged, with typed access to each option.

A directory is read as s3-proxy reads its `conf/`: every file, by name, without hidden files and directories. Of two
files that differ only in their extension, the one whose extension viper prefers counts for both. JSON is read as the
YAML that it is; viper's other formats are refused.

Values are decoded as s3-proxy's decoder (mapstructure, weakly typed) does: a number may be quoted, a list of one may be
written without brackets, and a text for a list is split at its commas. The table `options.toml` names all options, so
that others can be reported.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from functools import partialmethod, reduce
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeAlias, assert_never

from gotemplate.sprig.dates import parse_duration
from gotemplate.template.values import ExecutionError
from tornado_proxy.config import document, loading
from tornado_proxy.config.document import MappingNode, Node, ScalarKind, ScalarNode, SequenceNode
from tornado_proxy.config.options import Mark, OptionType, SettingsSection, options_of
from tornado_proxy.config.values import Duration
from tornado_proxy.rules.diagnostic import Diagnostic, SourceFile, Span

_READ = (".json", ".yaml", ".yml")  # in viper's order of preference
_OTHERS = (".toml", ".properties", ".props", ".prop", ".hcl", ".tfvars", ".dotenv", ".env", ".ini")


class Unreadable(Exception):
    """Files that cannot be read or understood; s3-proxy would not start with most of them either."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("; ".join(each.message for each in diagnostics))
        self.diagnostics = diagnostics


class NotConvertible(Exception):
    """Something that has no equivalent here, or none that is proved to be one; the text is the reason."""

    def __init__(self, reason: str, help: str | None = None) -> None:
        super().__init__(reason)
        self.help = help


Value: TypeAlias = "str | tuple[Value, ...] | Options | None"


class SourceOption(NamedTuple):
    """An entry of a mapping: its name as written, the place of that name, and the value."""

    name: str
    place: Span
    value: Value


@dataclass(frozen=True, slots=True)
class Options:
    """A mapping by names in lower case, because s3-proxy's reader of files (viper) ignores case."""

    entries: Mapping[str, SourceOption] = field(repr=False)  # may hold secrets
    span: Span = field(repr=False)


def read(places: Sequence[Path]) -> Options:
    """Reads files and directories, and merges them in their order; raises `Unreadable`."""
    sources = [read_source(path) for place in places for path in _files_at(place)]
    if not sources:
        raise Unreadable(Diagnostic("no-files", f"`{places[0]}` has no configuration file"))
    return together(sources)


def read_source(path: Path) -> SourceFile:
    """Returns the text of a file; raises `Unreadable`."""
    source = loading.read(path)
    if isinstance(source, loading.Loaded):
        raise Unreadable(*source.diagnostics)
    return source


def together(sources: Sequence[SourceFile]) -> Options:
    """Parses the texts of files and merges them in their order; raises `Unreadable`."""
    return reduce(_merged, map(_document, sources), Options({}, Span(sources[0], 0, 0)))


def _merged(first: Options, second: Options) -> Options:
    """Merges mappings in depth; of anything else, the second replaces the first.

    As for viper, an option without a value and a mapping without options count as missing; lists are kept as they are.
    """
    entries = dict(first.entries)
    for name, option in second.entries.items():
        base, value = option, option.value
        if isinstance(value, Options):
            if (earlier := entries.get(name)) and isinstance(earlier.value, Options):
                base, value = earlier, _merged(earlier.value, value)
            else:
                value = _merged(Options({}, value.span), value)
        if value is not None and not (isinstance(value, Options) and not value.entries):
            entries[name] = base._replace(value=value)
    return Options(entries, first.span)


def _files_at(place: Path) -> Iterator[Path]:
    if not place.is_dir():
        yield place
        return
    names = sorted((each.name for each in place.iterdir() if each.is_file()), key=os.fsencode)
    visible = [name for name in names if not name.startswith(".")]
    for name in visible:
        stem = Path(name).stem
        preferred = next((stem + extension for extension in _READ if stem + extension in visible), None)
        if preferred is not None:
            yield place / preferred
        elif Path(name).suffix in _OTHERS:
            message = f"`{place / name}` is part of the configuration, but only YAML and JSON are read"
            raise Unreadable(Diagnostic("unknown-format", message, help="rewrite it in YAML"))


def _document(source: SourceFile) -> Options:
    composed = document.compose(source.text)
    # The text at the place of a fault is left out of the message, because it may be a secret.
    faults = []
    for each in composed.faults:
        place, message = source.position(each.start), each.message.replace("`{}`", "this").replace("{}", "…")
        faults.append(Diagnostic(each.code, f"{source.name}:{place.line}:{place.column}: {message}"))
    if faults:
        raise Unreadable(*faults)
    value = _value(composed.root, source) if composed.root else None
    if value is not None and not isinstance(value, Options):
        raise Unreadable(Diagnostic("bad-type", f"{source.name}:1: a configuration is a mapping"))
    return value or Options({}, Span(source, 0, 0))


def _value(node: Node, source: SourceFile) -> Value:
    match node:
        case ScalarNode():
            return None if node.kind is ScalarKind.NOTHING else node.text
        case SequenceNode():
            return tuple(_value(item, source) for item in node.items)
        case MappingNode():
            entries = {}
            for name, entry in node.fields.items():
                place = Span(source, entry.key.start, entry.key.end)
                entries[name.lower()] = SourceOption(name, place, _value(entry.value, source))
            return Options(entries, Span(source, node.start, node.end))
        case _:
            assert_never(node)


WORDS = tomllib.loads((files(__package__) / "options.toml").read_text(encoding="utf-8"))
"""The options of s3-proxy, and what reports say."""

UNKNOWN = "this is not a known option of s3-proxy"


def _expression(paths: str, star: str = "[^.]+") -> re.Pattern[str]:
    meanings = {r"\*": star, r"\+": "[^.]+", r"\|": "|"}
    return re.compile(re.sub(r"\\[*+|]", lambda sign: meanings[sign[0]], re.escape(paths)), re.IGNORECASE)


_NAMES = [(_expression(section, ".*"), names) for section, names in WORDS["options"].items()]
_FATES = [
    (_expression(option), outcome, message)
    for outcome, messages in WORDS["outcome-of"].items()
    for option, message in messages.items()
]


class OptionOutcome(Enum):
    """The outcome of the conversion of an option."""

    CARRIED = "carried"  # the same here
    ADAPTED = "adapted"  # written differently, with the same effect
    CHANGED = "changed"  # here, with a different effect
    LEFT_OUT = "left-out"  # not here
    CLOSED = "closed"  # not here, and the paths that it covered are closed to everyone


@dataclass(frozen=True, slots=True)
class Remark:
    """The outcome for one option: its path in s3-proxy's files, a fact without a full stop, and advice."""

    outcome: OptionOutcome
    subject: str
    message: str
    place: Span = field(repr=False)
    help: str | None = None


def where(place: Span) -> str:
    """Returns a place as `file:line`."""
    return f"{place.source.name}:{place.first.line}"


Setting: TypeAlias = "str | bool | int | Mapping[str, Setting] | Sequence[Setting]"
"""A value of our configuration as plain data."""

# strconv.ParseBool, and the empty text, which mapstructure takes for false
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False", ""})


class Section:
    """A mapping, named by its path, with options as s3-proxy names them; false and empty if it is not given."""

    def __init__(
        self, options: Options, path: str = "", parent: Section | None = None, *, is_given: bool = True
    ) -> None:
        self.path = path
        self.remarks: list[Remark] = parent.remarks if parent else []
        self.refusals: list[Diagnostic] = parent.refusals if parent else []
        self._is_given = is_given
        self.options = options

    def place(self, name: str) -> Span:
        """Returns the place of an option's name; of the whole section if the name is empty or not given."""
        option = self.options.entries.get(name.lower())
        return option.place if option else self.options.span

    def __bool__(self) -> bool:
        return self._is_given

    def __contains__(self, name: str) -> bool:
        """Returns whether an option is given."""
        return name.lower() in self.options.entries

    def text(self, name: str, default: str = "") -> str:
        """Returns a text."""
        value = self._value(name)
        if not isinstance(value, str | None):
            raise self._unfit(name, "a single value")
        return default if value is None else value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Returns a boolean."""
        text = self.text(name, str(default))
        if text not in _TRUE | _FALSE:
            raise self._unfit(name, "a boolean", "true or false")
        return text in _TRUE

    def whole(self, name: str, default: int = 0) -> int:
        """Returns a whole number."""
        try:
            return int(self.text(name, str(default)))
        except ValueError:
            raise self._unfit(name, "a whole number") from None

    def duration(self, name: str) -> Setting:
        """Returns a duration, such as `1h30m`, in seconds or as a text with a unit; 0 if it is not given."""
        try:
            seconds = parse_duration(self.text(name) or "0") / 1e9
        except ExecutionError:
            raise self._unfit(name, "a duration", "such as `90s` or `1h30m`") from None
        return int(seconds) if seconds == int(seconds) else f"{seconds * 1000:.0f}ms"

    def texts(self, name: str, default: Sequence[str] = ()) -> list[str]:
        """Returns a list of texts; `default` if it is not given, which differs from an empty one."""
        value = self._value(name)
        if value is None:
            return list(default)
        if isinstance(value, str):
            return value.split(",") if value else []
        if isinstance(value, Options) or any(not isinstance(each, str) for each in value):
            raise self._unfit(name, "a list of texts")
        return [str(each) for each in value]

    def section(self, name: str) -> Section:
        """Returns a mapping."""
        sections = self.sections(name)
        if len(sections) > 1:
            raise self._unfit(name, "a mapping")
        absent = Section(Options({}, self.options.span), self._path(name), self, is_given=False)
        return sections[0] if sections else absent

    def sections(self, name: str) -> list[Section]:
        """Returns a list of mappings."""
        found = []
        for each in _items(self._value(name)):
            if not isinstance(each, Options):
                raise self._unfit(name, "a mapping")
            found.append(Section(each, self._path(name), self))
        return found

    def named(self) -> Iterator[tuple[str, Section]]:
        """Yields the mappings in this one by their names, which users chose; s3-proxy sees them in lower case."""
        for name, option in self.options.entries.items():
            if option.value is not None:
                yield name, self.section(name)

    def translated(self, kind: type[SettingsSection]) -> dict[str, Setting]:
        """Returns the options that have the same name and meaning in a section here, without empty and false ones."""
        own: dict[str, Setting] = {}
        grouped: dict[str, dict[str, Setting]] = {}
        for option in options_of(kind):
            section = self.section(option.group.name) if option.group else self
            if option.name in section and option.name in section.names:
                here = grouped.setdefault(option.group.name, {}) if option.group else own
                here |= present({option.name: section.value(option.name, option.type)})
        return present({**own, **grouped})

    def value(self, name: str, kind: OptionType) -> Setting | None:
        """Returns the value of an option that has a type here; None for a secret that is none."""
        if kind.is_secret:
            text = self._value(name)
            return {"value": text} if isinstance(text, str) else reference(self.section(name))
        if Mark.PAIRS in kind.marks:
            inner = self.section(name)
            return present({each: inner.value(each, kind.item) for each in inner.options.entries})
        if kind.is_list and kind.item.section:
            return [each.translated(kind.item.section) for each in self.sections(name)]
        if kind.section:
            return self.section(name).translated(kind.section)
        if isinstance(kind.bounds, Duration):
            return self.duration(name)
        readers: dict[Any, Callable[[str], Setting]] = {bool: self.flag, int: self.whole}
        return (self.texts if kind.is_list else readers.get(kind.base, self.text))(name)

    @property
    def names(self) -> Sequence[str]:
        """The names of the options that it may have; `*` if users choose them."""
        return next((names for pattern, names in _NAMES if pattern.fullmatch(self.path)), ["*"])

    def remark(
        self, outcome: OptionOutcome, name: str, message: str, help: str | None = None, *, place: Span | None = None
    ) -> None:
        """Records what became of an option, or of the whole section if the name is empty."""
        subject = self._path(name) if name else self.path
        self.remarks.append(Remark(outcome, subject, message, place or self.place(name), help))

    carried = partialmethod(remark, OptionOutcome.CARRIED)
    adapted = partialmethod(remark, OptionOutcome.ADAPTED)
    changed = partialmethod(remark, OptionOutcome.CHANGED)
    left_out = partialmethod(remark, OptionOutcome.LEFT_OUT)
    closed = partialmethod(remark, OptionOutcome.CLOSED)

    def refused(self, name: str, message: str) -> None:
        """Records why s3-proxy does not start; the name is empty for the section as a whole."""
        fact = f"{where(self.place(name))}: {message}, so s3-proxy does not start"
        self.refusals.append(Diagnostic("refused-by-s3-proxy", fact))

    def remark_on_the_rest(self) -> None:
        """Records, here and below, the options that the table says something about, and those that it does not know."""
        names = self.names
        for name, option in self.options.entries.items():
            if _is_off(option.value):
                continue
            path = self._path(option.name)
            if fate := next((words for pattern, *words in _FATES if pattern.fullmatch(path)), None):
                self.remark(OptionOutcome(fate[0]), option.name, *fate[1])
                if fate[0] == OptionOutcome.LEFT_OUT.value:
                    continue
            elif "*" not in names and name not in map(str.lower, names):
                near = get_close_matches(name, names, 1)
                self.left_out(option.name, UNKNOWN, f"did you mean `{near[0]}`?" if near else None)
                continue
            if any(isinstance(each, Options) for each in _items(option.value)):
                for section in self.sections(name if "*" in names else option.name):
                    section.remark_on_the_rest()

    def _value(self, name: str) -> Value:
        option = self.options.entries.get(name.lower())
        return option.value if option else None

    def _path(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def _unfit(self, name: str, expected: str, help: str | None = None) -> Unreadable:
        # Without a span: an excerpt could show a secret.
        message = f"{where(self.place(name))}: `{self._path(name)}` is not {expected}"
        return Unreadable(Diagnostic("bad-type", message, help=help))


def _items(value: Value) -> tuple[Value, ...]:
    """Returns the items of a list, or a single value as a list of one."""
    return value if isinstance(value, tuple) else (value,) if value is not None else ()


def _is_off(value: Value) -> bool:
    """Returns whether an option has no effect: `false`, an empty value, or a section that is not enabled."""
    if isinstance(value, Options):
        enabled = value.entries.get("enabled")
        return (enabled and _is_off(enabled.value)) or all(_is_off(each.value) for each in value.entries.values())
    if isinstance(value, tuple):
        return all(map(_is_off, value))
    return value is None or value in _FALSE


def present(settings: Mapping[str, Setting | None]) -> dict[str, Setting]:
    """Returns the settings that are neither empty nor false."""
    return {name: value for name, value in settings.items() if value}


def remark_on_relative(section: Section, name: str) -> None:
    """Adds a remark on a file whose path is relative: it starts from another directory here."""
    path = section.text(name)
    if path and "://" not in path and not path.startswith("arn:") and not PurePosixPath(path).is_absolute():
        message = f"`{path}` is relative to the configuration file here, not to the working directory"
        section.changed(name, message, "write it as an absolute path")


def reference(section: Section) -> dict[str, Setting] | None:
    """Returns the reference to a secret, the one that s3-proxy takes first; None if none can be converted."""
    path, variable, value = section.text("path"), section.text("env"), section.text("value")
    if path:
        remark_on_relative(section, "path")
        return {"path": path}
    if variable:
        return {"env": variable}
    return {"value": value} if value else None
