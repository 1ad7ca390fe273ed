"""Writes the converted configuration: YAML and rule files as text, and the files themselves."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from tornado_proxy.lang.diagnostic import SourceFile, Span
from tornado_proxy.lang.printer import print_document
from tornado_proxy.lang.tree import Comment, Document, Literal, RewriteStatement, TargetBlock
from tornado_proxy.tools.convert.rewrites import ConvertedRewrite, LeftOut, Never, Written

Plain = str | bool | int
Setting = Plain | Mapping[str, "Setting | Noted"] | Sequence["Setting"]

# What YAML 1.1 reads as the text that it is, in every reader; a single word might be a boolean, so it is looked up.
_BARE = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")
_NOT_BARE = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Noted:
    """A setting with comments above it."""

    setting: Setting
    comments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OneLine:
    """A setting that is written on one line, however long."""

    setting: Setting


def configuration_text(settings: Mapping[str, Setting | Noted | OneLine], opening: Sequence[str]) -> str:
    """The text of a configuration, with comments at its top."""
    head = [f"# {line}".rstrip() for line in opening]
    body = list(_mapping(settings, ""))
    return "\n".join([*head, "", *body]) + "\n"


def _mapping(settings: Mapping[str, Setting | Noted | OneLine], indent: str) -> Iterator[str]:
    for name, value in settings.items():
        if isinstance(value, OneLine):
            yield f"{indent}{_scalar(name)}: {_flow(value.setting)}"
            continue
        setting = value.setting if isinstance(value, Noted) else value
        if isinstance(value, Noted):
            yield from (f"{indent}# {_line(comment)}" for comment in value.comments)
        yield from _entry(f"{indent}{_scalar(name)}:", setting, indent)


def _entry(head: str, setting: Setting, indent: str) -> Iterator[str]:
    if _is_short(setting):
        yield f"{head} {_flow(setting)}"
        return
    yield head
    if isinstance(setting, Mapping):
        yield from _mapping(setting, indent + _INDENT)
    else:
        assert not isinstance(setting, Plain)
        for item in setting:
            yield from _item(item, indent + _INDENT)


def _item(item: Setting, indent: str) -> Iterator[str]:
    """An item of a list, whose first line begins with a dash."""
    if _is_short(item) or not isinstance(item, Mapping):
        yield f"{indent}- {_flow(item)}"
        return
    first, *rest = _mapping(item, indent + _INDENT)
    yield f"{indent}- {first.removeprefix(indent + _INDENT)}"
    yield from rest


def _is_short(setting: Setting) -> bool:
    """Whether a setting reads well on one line: a scalar, some scalars, or two entries that do."""
    if isinstance(setting, Plain):
        return True
    if isinstance(setting, Mapping):
        return len(setting) <= 2 and all(isinstance(each, Plain) for each in setting.values())
    return all(isinstance(each, Plain) for each in setting)


def _flow(setting: Setting | Noted) -> str:
    assert not isinstance(setting, Noted)
    if isinstance(setting, Plain):
        return _scalar(setting)
    if isinstance(setting, Mapping):
        return "{" + ", ".join(f"{_scalar(name)}: {_flow(each)}" for name, each in setting.items()) + "}"
    return "[" + ", ".join(_flow(each) for each in setting) + "]"


def _scalar(value: Plain) -> str:
    if isinstance(value, bool | int):
        return json.dumps(value)
    if _BARE.fullmatch(value) and value.lower() not in _NOT_BARE:
        return value
    # A JSON string is a YAML one, but for what YAML takes only escaped.
    return re.sub(
        "[\x7f-\x9f\ufeff\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False)
    )


def _line(comment: str) -> str:
    return " ".join(comment.split())


_SOURCE = SourceFile("", "")
_NOWHERE = Span(_SOURCE, 0, 0)
# What a comment may not hold, since a reader of the file would not see it.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")


def rule_text(target: str, entries: Sequence[ConvertedRewrite]) -> str:
    """The text of a rule file, in its canonical layout."""
    statements: list[RewriteStatement] = []
    waiting: list[Comment] = []
    for entry in entries:
        waiting += _comments(entry, first=not statements and not waiting)
        if isinstance(entry.result, Written):
            statements.append(_statement(entry.result, waiting))
            waiting = []
    block = TargetBlock(_literal(target), tuple(statements), _NOWHERE, closing=tuple(waiting))
    return print_document(Document(_SOURCE, (block,)))


def _statement(written: Written, comments: Sequence[Comment]) -> RewriteStatement:
    source, template = _literal(written.source, raw=True), _literal(written.template)
    return RewriteStatement(None, source, written.dialect, template, _NOWHERE, tuple(comments))


def _literal(text: str, *, raw: bool = False) -> Literal:
    return Literal(text, _NOWHERE, raw)


def _comments(entry: ConvertedRewrite, *, first: bool) -> Iterator[Comment]:
    for number, line in enumerate(_lines(entry)):
        yield Comment(f"# {_UNSEEN.sub(' ', line).rstrip()}", _NOWHERE, blank_before=not number and not first)


def _lines(entry: ConvertedRewrite) -> Iterator[str]:
    given = entry.given
    place = f"{given.place.source.name}:{given.place.first.line}"
    match entry.result:
        case Written():
            yield f"From {place}."
            if (entry.result.source, entry.result.template) != (given.source, given.target):
                yield f"It was: {given.source} -> {given.target}"
        case LeftOut(reason, help, _):
            yield f"LEFT OUT, {place}: {reason}" + (f" ({help})" if help else "")
            yield f"It was: {given.source} -> {given.target}"
        case Never(reason):
            yield f"Not needed, {place}: {reason}"
            yield f"It was: {given.source} -> {given.target}"
        case _:
            assert_never(entry.result)


class Unsaved(Exception):
    """Files that were not written; the text says why."""


def save(files: Mapping[str, str], directory: Path, *, force: bool = False) -> None:
    """Write files by their relative names; raises `Unsaved`, before anything has changed but for missing directories.

    Every file is written beside its place first, and put there when all have been. They may hold secrets, so only
    their owner may read them.
    """
    places = {directory / name: text for name, text in files.items()}
    present = [place for place in places if os.path.lexists(place)]
    if present and not force:
        raise Unsaved(f"`{present[0]}` exists; `--force` replaces it")
    staged: dict[Path, Path] = {}
    try:
        for place, text in places.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            staged[_staged(place, text)] = place
        for name, place in staged.items():
            name.replace(place)
    except OSError as error:
        raise Unsaved(f"`{error.filename or directory}` cannot be written: {error.strerror}") from None
    finally:
        for name in staged:
            name.unlink(missing_ok=True)


def _staged(place: Path, text: str) -> Path:
    """The text in a new file beside its place, whose name no reader of rules takes for a rule file."""
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(handle)
    return Path(name)
