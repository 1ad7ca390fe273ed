"""s3-proxy's configuration read: which files, in which order, and what they say together.

A directory is read as s3-proxy reads its `conf/`: every file in it, by name, hidden ones and directories left out; of
two files that differ in their extension only, the one whose extension viper prefers counts for both. JSON is read as
the YAML that it is; the other formats of viper are not read here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import assert_never

from tornado_proxy.config.composer import Fault, compose
from tornado_proxy.config.nodes import MappingNode, Node, ScalarKind, ScalarNode, SequenceNode
from tornado_proxy.config.nodes import merged as merge_sources
from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.source import SourceFile, Span
from tornado_proxy.tools.convert.options import (
    Items,
    Options,
    Scalar,
    SourceOption,
    Unreadable,
    Value,
    merged,
    without_nothing,
)

LARGEST = 8 * 1024 * 1024
"""The most bytes that a file may have."""

READ = (".json", ".yaml", ".yml")
"""The extensions that are read, the preferred first."""

_OTHERS = (".toml", ".properties", ".props", ".prop", ".hcl", ".tfvars", ".dotenv", ".env", ".ini")


def read(places: Sequence[Path]) -> Options:
    """What files and directories say together, later ones before earlier ones; raises `Unreadable`."""
    try:
        paths = [path for place in places for path in _files(place)]
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


def _files(place: Path) -> Iterator[Path]:
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
