"""Reads s3-proxy's configuration: its files, merged, with typed access to each option.

A directory is read as s3-proxy reads its `conf/`: every file, by name, without hidden files and directories. Of two
files that differ only in their extension, the one whose extension viper prefers counts for both. JSON is read as the
YAML that it is; viper's other formats are refused.

Values are decoded as s3-proxy's decoder (mapstructure, weakly typed) does: a number may be quoted, a list of one may be
written without brackets, and a text for a list is split at its commas. A `Section` remembers which options were read,
so that the rest can be reported.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partialmethod, reduce
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import NamedTuple, TypeAlias, assert_never

from gotemplate.sprig.dates import parse_duration
from gotemplate.template.values import ExecutionError
from tornado_proxy.config import document, values
from tornado_proxy.config.document import MappingNode, Node, ScalarKind, ScalarNode, SequenceNode
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.rules.diagnostic import Diagnostic, SourceFile, Span

_READ = (".json", ".yaml", ".yml")  # in viper's order of preference
_OTHERS = (".toml", ".properties", ".props", ".prop", ".hcl", ".tfvars", ".dotenv", ".env", ".ini")


class Unreadable(Exception):
    """Files that cannot be read or understood; s3-proxy would not start with most of them either."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("; ".join(each.message for each in diagnostics))
        self.diagnostics = diagnostics


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
    try:
        paths = [path for place in places for path in _files_at(place)]
        sources = [SourceFile(str(path), _text(path)) for path in paths]
    except OSError as error:
        message = f"`{error.filename}` cannot be read: {error.strerror}"
        raise Unreadable(Diagnostic("unreadable-file", message)) from None
    if not sources:
        raise Unreadable(Diagnostic("no-files", f"`{places[0]}` has no configuration file"))
    return together(sources)


def together(sources: Sequence[SourceFile]) -> Options:
    """Parses the texts of files and merges them in their order; raises `Unreadable`."""
    return reduce(_merged, (_without_nothing(_document(source)) for source in sources))


def _merged(first: Options, second: Options) -> Options:
    """Merges mappings in depth; of anything else, the second replaces the first."""
    entries = dict(first.entries)
    for name, option in second.entries.items():
        earlier = entries.get(name)
        if earlier and isinstance(earlier.value, Options) and isinstance(option.value, Options):
            entries[name] = earlier._replace(value=_merged(earlier.value, option.value))
        else:
            entries[name] = option
    return Options(entries, first.span)


def _without_nothing(options: Options) -> Options:
    """Removes options without a value and mappings without options, as viper does; lists are kept as they are."""
    kept = {}
    for name, option in options.entries.items():
        value = _without_nothing(option.value) if isinstance(option.value, Options) else option.value
        if value is not None and not (isinstance(value, Options) and not value.entries):
            kept[name] = option._replace(value=value)
    return Options(kept, options.span)


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


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"`{path}` is not UTF-8: the byte 0x{error.object[error.start]:02X} at offset {error.start}"
        raise Unreadable(Diagnostic("unreadable-file", message)) from None


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
    if value is None:
        return Options({}, Span(source, 0, 0))
    if isinstance(value, Options):
        return value
    raise Unreadable(Diagnostic("bad-type", f"{source.name}:1: a configuration is a mapping"))


def _value(node: Node, source: SourceFile) -> Value:
    match node:
        case ScalarNode():
            return None if node.kind is ScalarKind.NOTHING else node.text
        case SequenceNode():
            return tuple(_value(item, source) for item in node.items)
        case MappingNode():
            return Options(dict(_entries(node, source)), Span(source, node.start, node.end))
        case _:
            assert_never(node)


def _entries(node: MappingNode, source: SourceFile) -> Iterator[tuple[str, SourceOption]]:
    """Yields the entries by name in lower case; of equal names the last counts, so entries of `<<` are first."""
    for entry in node.entries:
        for mapping in reversed(document.merged(entry)):
            yield from _entries(mapping, source)
    for entry in node.entries:
        if isinstance(entry.key, ScalarNode) and entry.key.kind is not ScalarKind.MERGE:
            place = Span(source, entry.key.start, entry.key.end)
            yield entry.key.text.lower(), SourceOption(entry.key.text, place, _value(entry.value, source))


WORDS = tomllib.loads((files(__package__) / "report.toml").read_text(encoding="utf-8"))
"""What reports say."""


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
        self._is_given = is_given
        self.remarks: list[Remark] = parent.remarks if parent else []
        self.mistakes: list[Diagnostic] = parent.mistakes if parent else []
        self.mounted: set[tuple[str, str]] = parent.mounted if parent else set()  # hosts and paths
        self._options = options
        self._asked: dict[str, list[Section]] = {}
        self._is_settled = False

    def place(self, name: str) -> Span:
        """Returns the place of an option's name; of the whole section if the name is empty or not given."""
        option = self._options.entries.get(name.lower())
        return option.place if option else self._options.span

    def __bool__(self) -> bool:
        return self._is_given

    def __contains__(self, name: str) -> bool:
        """Returns whether an option is given; this does not count as reading it."""
        return name.lower() in self._options.entries

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

    def whole(self, name: str, default: int) -> int:
        """Returns a whole number."""
        try:
            return int(self.text(name, str(default)))
        except ValueError:
            raise self._unfit(name, "a whole number") from None

    def seconds(self, name: str) -> float:
        """Returns the seconds of a duration, such as `1h30m`; 0 if it is not given."""
        try:
            return parse_duration(self.text(name) or "0") / 1e9
        except ExecutionError:
            raise self._unfit(name, "a duration", "such as `90s` or `1h30m`") from None

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
        return sections[0] if sections else self._absent(name)

    def enabled(self, name: str) -> Section:
        """Returns a mapping whose `enabled` is true; the options of one that is off need no remark."""
        section = self.section(name)
        if section.flag("enabled"):
            return section
        section.settle()
        return self._absent(name)

    def sections(self, name: str) -> list[Section]:
        """Returns a list of mappings, the same ones each time."""
        value = self._value(name)
        asked = self._asked[name.lower()]
        if not asked and value is not None:
            for each in value if isinstance(value, tuple) else (value,):
                if not isinstance(each, Options):
                    raise self._unfit(name, "a mapping")
                asked.append(Section(each, self._path(name), self))
        return asked

    def named(self) -> Iterator[tuple[str, Section]]:
        """Yields the mappings in this one by their names, which users chose; s3-proxy sees them in lower case."""
        for name in self._options.entries:
            if self._value(name) is not None:
                yield name, self.section(name)

    def pairs(self) -> dict[str, str]:
        """Returns the texts in this mapping by their names."""
        return {name: self.text(name) for name in self._options.entries}

    def copied(self, *, texts: str = "", flags: str = "", lists: str = "") -> dict[str, Setting]:
        """Returns the named options that are neither empty nor false; names and meanings are the same here."""
        settings: dict[str, Setting] = {name: self.text(name) for name in texts.split()}
        settings.update((name, self.flag(name)) for name in flags.split())
        settings.update((name, self.texts(name)) for name in lists.split())
        return present(settings)

    def kept(self, name: str, check: Callable[[str], Setting]) -> dict[str, Setting]:
        """Returns an option with its checked value; nothing, and a remark, if the check raises `InvalidValue`."""
        text = self.text(name)
        try:
            return {name: check(text)} if text else {}
        except InvalidValue as misfit:
            self.left_out(name, f"`{text}` {misfit.message}", misfit.help)
            return {}

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

    def refused(self, name: str, message: str, consequence: str = "s3-proxy does not start") -> None:
        """Records a mistake with which s3-proxy fails; the name is empty for the section as a whole."""
        fact = f"{where(self.place(name))}: {message}, so {consequence}"
        self.mistakes.append(Diagnostic("refused-by-s3-proxy", fact))

    def required(self, name: str, check: Callable[[str], object], consequence: str = "s3-proxy does not start") -> bool:
        """Returns whether an option is given and valid; records a mistake if not."""
        text = self.text(name)
        try:
            if text:
                check(text)
                return True
            self.refused(name, f"`{self.path}.{name}` is missing", consequence)
        except InvalidValue as misfit:
            self.refused(name, f"`{self.path}.{name}` {misfit.message}", consequence)
        return False

    def settle(self) -> None:
        """Marks all options as read, because a remark covers the whole section."""
        self._is_settled = True

    def leftovers(self) -> Iterator[tuple[str, Span]]:
        """Yields the paths and places of the options that were not read, here and below."""
        for name, option in () if self._is_settled else self._options.entries.items():
            if name not in self._asked and not _is_off(option.value):
                yield self._path(option.name), option.place
            for section in self._asked.get(name, ()):
                yield from section.leftovers()

    def _value(self, name: str) -> Value:
        self._asked.setdefault(name.lower(), [])
        option = self._options.entries.get(name.lower())
        return option.value if option else None

    def _absent(self, name: str) -> Section:
        return Section(Options({}, self._options.span), self._path(name), self, is_given=False)

    def _path(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def _unfit(self, name: str, expected: str, help: str | None = None) -> Unreadable:
        # Without a span: an excerpt could show a secret.
        message = f"{where(self.place(name))}: `{self._path(name)}` is not {expected}"
        return Unreadable(Diagnostic("bad-type", message, help=help))


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
        return section.kept("env", values.variable) or None
    return {"value": value} if value else None


def key_pair(section: Section) -> dict[str, Setting] | None:
    """Returns the references to the two keys of AWS credentials; None if one is missing."""
    access, secret = reference(section.section("accessKey")), reference(section.section("secretKey"))
    return {"accessKey": access, "secretKey": secret} if access and secret else None
