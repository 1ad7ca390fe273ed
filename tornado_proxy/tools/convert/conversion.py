"""Reads configurations of s3-proxy, and makes a configuration, rule files and a report of what they say together.

A directory is read as s3-proxy reads its `conf/`: every file in it, by name, hidden ones and directories left out; of
two files that differ in their extension only, the one whose extension viper prefers counts for both. JSON is read as
the YAML that it is; the other formats of viper are not read here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from secrets import token_urlsafe
from typing import assert_never

from tornado_proxy.config.document import Fault, MappingNode, Node, ScalarKind, ScalarNode, SequenceNode, compose
from tornado_proxy.config.document import merged as merge_sources
from tornado_proxy.lang.diagnostic import Diagnostic, SourceFile, Span
from tornado_proxy.tools.convert.options import (
    Items,
    OptionOutcome,
    Options,
    Remark,
    Scalar,
    Section,
    SourceOption,
    Unreadable,
    Value,
    refusal,
)
from tornado_proxy.tools.convert.output import ConversionReport, Noted, OneLine, Setting, configuration_text, rule_text
from tornado_proxy.tools.convert.pages import PageConversion, ReadFile, no_file
from tornado_proxy.tools.convert.resources import Providers, closed, providers, single_resource, trusted_proxies
from tornado_proxy.tools.convert.rewrites import KeysAs
from tornado_proxy.tools.convert.servers import fate, limits, listener, log
from tornado_proxy.tools.convert.targets import Conversion, ConvertedTarget, mount, target

LARGEST = 8 * 1024 * 1024
"""The most bytes that a file may have."""

READ = (".json", ".yaml", ".yml")
"""The extensions that are read, the preferred first."""

_OTHERS = (".toml", ".properties", ".props", ".prop", ".hcl", ".tfvars", ".dotenv", ".env", ".ini")


def read(places: Sequence[Path]) -> Options:
    """What files and directories say together, later ones before earlier ones; raises `Unreadable`."""
    try:
        paths = [path for place in places for path in _files_at(place)]
        sources = [SourceFile(str(path), _text(path)) for path in paths]
    except OSError as error:
        message = f"`{error.filename}` cannot be read: {error.strerror}"
        raise Unreadable(Diagnostic("unreadable-file", message)) from None
    if not sources:
        raise Unreadable(Diagnostic("no-files", f"`{places[0]}` holds no configuration file"))
    return together(sources)


def together(sources: Sequence[SourceFile]) -> Options:
    """What the texts of files say together, later ones before earlier ones; raises `Unreadable`."""
    return reduce(merged, (without_nothing(_document(source)) for source in sources))


def merged(first: Options, second: Options) -> Options:
    """Two mappings as one: mappings within are merged, of anything else the second counts, whole."""
    entries = dict(first.entries)
    for name, option in second.entries.items():
        known = entries.get(name)
        if known and isinstance(known.value, Options) and isinstance(option.value, Options):
            entries[name] = known._replace(value=merged(known.value, option.value))
        else:
            entries[name] = option
    return Options(entries, first.span)


def without_nothing(options: Options) -> Options:
    """A mapping as viper hands it on: an option that says nothing, or holds no option that does, was never given.

    Lists are kept as they are.
    """
    kept = {}
    for name, option in options.entries.items():
        value = option.value
        if isinstance(value, Options):
            value = without_nothing(value)
            if not value.entries:
                continue
        if not (isinstance(value, Scalar) and value.kind is ScalarKind.NOTHING):
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
        found = next((stem + extension for extension in READ if stem + extension in visible), None)
        if found is not None:
            yield place / found
        elif Path(name).suffix in _OTHERS:
            message = f"`{place / name}` is part of the configuration, and only YAML and JSON are read"
            raise Unreadable(Diagnostic("unknown-format", message, help="rewrite it in YAML"))


def _document(source: SourceFile) -> Options:
    source = SourceFile(source.name, source.text.removeprefix("\ufeff"))
    composed = compose(source.text)
    if composed.faults:
        raise Unreadable(*(_told(fault, source) for fault in composed.faults))
    if composed.root is None:
        return Options({}, Span(source, 0, 0))
    value = _value(composed.root, source)
    if isinstance(value, Options):
        return value
    if isinstance(value, Scalar) and value.kind is ScalarKind.NOTHING:
        return Options({}, value.span)
    raise Unreadable(Diagnostic("bad-type", "a configuration is a mapping", value.span))


def _text(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise Unreadable(Diagnostic("unreadable-file", f"`{path}` is larger than {LARGEST} bytes"))
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        message = f"`{path}` is not UTF-8: the byte 0x{content[error.start]:02X} at offset {error.start}"
        raise Unreadable(Diagnostic("unreadable-file", message)) from None


def _told(fault: Fault, source: SourceFile) -> Diagnostic:
    # Without the text at the place, which may be a secret: its line and column say enough.
    place = source.position(fault.start)
    where = f"{source.name}:{place.line}:{place.column}"
    return Diagnostic(fault.code, f"{where}: {fault.message.replace('`{}`', 'what stands there').replace('{}', '…')}")


def _value(node: Node, source: SourceFile) -> Value:
    span = Span(source, node.start, node.end)
    match node:
        case ScalarNode():
            return Scalar(node.text, node.kind, span)
        case SequenceNode():
            return Items(tuple(_value(item, source) for item in node.items), span)
        case MappingNode():
            return Options(dict(_entries(node, source)), span)
        case _:
            assert_never(node)


def _entries(node: MappingNode, source: SourceFile) -> Iterable[tuple[str, SourceOption]]:
    """The entries by name in lower case, those last that count: what `<<` brings in comes first."""
    for entry in node.entries:
        for mapping in reversed(merge_sources(entry)):
            yield from _entries(mapping, source)
    for entry in node.entries:
        if isinstance(entry.key, ScalarNode) and entry.key.kind is not ScalarKind.MERGE:
            place = Span(source, entry.key.start, entry.key.end)
            yield entry.key.text.lower(), SourceOption(entry.key.text, place, _value(entry.value, source))


CONFIGURATION = "tornado-proxy.yaml"
REPORT = "report.md"

_OPENING = (
    "Made from a configuration of s3-proxy; what became of each option stands in report.md.",
    "Lines that begin with a file and a line number say what to look at.",
)


@dataclass(frozen=True, slots=True)
class Converted:
    """The files by their names within the directory they are written to, and the report."""

    files: Mapping[str, str] = field(repr=False)
    report: ConversionReport


def convert(
    options: Options,
    keys_as: KeysAs = KeysAs.ACTUAL,
    new_key: Callable[[], str] = token_urlsafe,
    read_file: ReadFile = no_file,
) -> Converted:
    """Convert a configuration; raises `Unreadable` where nothing can be made of it.

    `new_key` makes random secrets, `read_file` reads the template files that the configuration names.
    """
    root = Section(options)
    pages = PageConversion(read_file)
    templates = pages.general(root.section("templates"))
    conversion = Conversion(providers(root, new_key), keys_as, pages)
    section = root.section("targets")
    named = section.named() if section else ()
    targets = [each for name, inner in named if (each := target(name, inner, conversion))]
    files: dict[str, str] = {}
    settings = _settings(root, conversion.providers, files)
    if templates:
        settings["templates"] = templates
    for leftover in root.leftovers():
        outcome, message = fate(leftover.path)
        root.remarks.add(outcome, leftover.path, leftover.place, message)
    report = ConversionReport(keys_as, root.remarks.all(), tuple(each.name for each in targets if each.closed))
    return Converted({**_files(settings, targets, report), **files, **pages.files}, report)


def _settings(root: Section, given: Providers, files: dict[str, str]) -> dict[str, Setting | Noted | OneLine]:
    settings: dict[str, Setting | Noted | OneLine] = {
        "server": OneLine({**listener("server", root, files), **trusted_proxies(given, root)}),
        "internalServer": OneLine(listener("internalServer", root, files)),
        "log": log(root),
    }
    if (page := root.section("listTargets")) is not None and page.flag("enabled"):
        settings["listTargets"] = _target_list(page, given)
    if bounds := limits(root):
        settings["limits"] = bounds
    if given.settings:
        settings["authProviders"] = given.settings
    for name in ("server", "internalServer", "log", "authProviders"):
        if name in root:
            root.remark(OptionOutcome.CARRIED, name, f"as `{name}`")
    return settings


def _target_list(section: Section, providers: Providers) -> Setting:
    """The page of all targets; closed to everyone where its resource has no equivalent."""
    where = section.section("mount")
    if where is None:
        raise refusal(section.span, "`listTargets` has no `mount`, so that s3-proxy does not start")
    settings: dict[str, Setting] = {"enabled": True, "mount": mount(where)}
    given = section.section("resource")
    if given is not None:
        paths = [each.value for each in where.texts("path")]
        settings["resource"] = single_resource(given, paths, providers) or closed("/", ())[0]
    section.remark(OptionOutcome.CARRIED, "", "as `listTargets`")
    return settings


def _files(
    settings: dict[str, Setting | Noted | OneLine], targets: Sequence[ConvertedTarget], report: ConversionReport
) -> dict[str, str]:
    with_rules = {each.name: place for each, place in zip(targets, _rule_places(targets), strict=True) if each.entries}
    if with_rules:
        # One by one: a directory may hold what an earlier conversion left.
        settings["rules"] = list(with_rules.values())
    if targets:
        settings["targets"] = {each.name: Noted(each.settings, tuple(_notes(each, report))) for each in targets}
    files = {CONFIGURATION: configuration_text(settings, _OPENING)}
    for each in targets:
        if each.name in with_rules:
            files[with_rules[each.name]] = rule_text(each.name, each.entries)
    return files


def _rule_places(targets: Sequence[ConvertedTarget]) -> Iterator[str]:
    """A name for the rule file of each target, unique even where case is ignored."""
    taken: set[str] = set()
    for each in targets:
        stem = re.sub(r"[^A-Za-z0-9_-]", "_", each.name)
        name = next(found for number in range(len(targets) + 1) if (found := _numbered(stem, number)) not in taken)
        taken.add(name)
        yield f"rules/{name}.rules"


def _numbered(stem: str, number: int) -> str:
    return f"{stem}-{number + 1}" if number else stem


def _notes(each: ConvertedTarget, report: ConversionReport) -> Iterator[str]:
    """What there is to look at in a target, but for its rules: those stand in its rule file."""
    subject = f"targets.{each.name}"
    for remark in report.of(OptionOutcome.CHANGED, OptionOutcome.LEFT_OUT, OptionOutcome.CLOSED):
        if _is_about(remark, subject) and ".keyRewriteList" not in remark.subject:
            yield f"{remark.where}: {remark.message}"


def _is_about(remark: Remark, subject: str) -> bool:
    return remark.subject.lower() == subject or remark.subject.lower().startswith(f"{subject}.")
