"""What a conversion writes: YAML, rule files, a report as Markdown, text and JSON, and the files themselves."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never

from tornado_proxy.lang.diagnostic import SourceFile, Span
from tornado_proxy.lang.printer import print_document
from tornado_proxy.lang.tree import Comment, Document, Literal, RewriteStatement, TargetBlock
from tornado_proxy.tools.convert.options import OptionOutcome, Remark
from tornado_proxy.tools.convert.rewrites import ConvertedRewrite, KeysAs, LeftOut, Never, Written

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


@dataclass(frozen=True, slots=True)
class ConversionReport:
    """All remarks, how keys were read, and the targets that nobody may use."""

    keys_as: KeysAs
    remarks: tuple[Remark, ...]
    closed_targets: tuple[str, ...] = ()

    def of(self, *outcomes: OptionOutcome) -> tuple[Remark, ...]:
        """The remarks of some outcomes."""
        return tuple(each for each in self.remarks if each.outcome in outcomes)

    @property
    def complete(self) -> bool:
        """Whether everything was carried over as it was, or as what is proved to be the same."""
        return not self.of(OptionOutcome.CHANGED, OptionOutcome.LEFT_OUT, OptionOutcome.CLOSED)


READINGS: Mapping[KeysAs, str] = {
    KeysAs.ACTUAL: (
        "Sources and targets of `keyRewriteList` were read as s3-proxy's code reads them: the key has the bucket's"
        " prefix in front and no leading slash. Its documentation says otherwise, but what runs is the code; if your"
        " rules follow the documentation and never worked, convert with `--keys-as documented`."
    ),
    KeysAs.DOCUMENTED: (
        "Sources and targets of `keyRewriteList` were read as s3-proxy's documentation describes them: the key has a"
        " leading slash and no prefix, as here, so they are carried over as they are. Its code reads them otherwise;"
        " to keep what runs today, convert with `--keys-as actual`."
    ),
}
"""Which reading of keys was taken, and why."""

_TITLES: Mapping[OptionOutcome, tuple[str, str]] = {
    OptionOutcome.CLOSED: ("Closed", "No equal, and open to nobody until you say who may: look at these first."),
    OptionOutcome.CHANGED: ("Changed in meaning", "Here, but not quite the same."),
    OptionOutcome.LEFT_OUT: ("Left out", "No equal yet, or not proved to be one."),
    OptionOutcome.ADAPTED: ("Written otherwise", "The same on the same requests."),
    OptionOutcome.CARRIED: ("Carried over", "The same."),
}

# What Markdown would read as more than text, outside of `code`.
_MARKUP = re.compile(r"([\\*_<\[\]|#])")
_CODE = re.compile(r"(`[^`]*`)")


def to_markdown(report: ConversionReport) -> str:
    """The report as a page, what needs a look first."""
    lines = ["# From s3-proxy to tornado-proxy", "", READINGS[report.keys_as], ""]
    if report.closed_targets:
        names = ", ".join(f"`{name}`" for name in report.closed_targets)
        lines += [f"**Nobody may use {names} yet:** what s3-proxy keeps closed could not be converted.", ""]
    for outcome, (title, about) in _TITLES.items():
        remarks = report.of(outcome)
        if remarks:
            lines += [f"## {title}", "", about, "", *(_bullet(each) for each in remarks), ""]
    return "\n".join(lines)


def to_text(report: ConversionReport, files: Sequence[str]) -> str:
    """The report for a terminal: what needs a look, and how much does not."""
    lines = [READINGS[report.keys_as], ""]
    for outcome in (OptionOutcome.CLOSED, OptionOutcome.CHANGED, OptionOutcome.LEFT_OUT):
        remarks = report.of(outcome)
        if remarks:
            lines += [f"{_TITLES[outcome][0]}:", *(line for each in remarks for line in _paragraph(each)), ""]
    same, otherwise = len(report.of(OptionOutcome.CARRIED)), len(report.of(OptionOutcome.ADAPTED))
    lines.append(f"{same} carried over, {otherwise} written otherwise; all of it is in the report.")
    lines += [f"wrote {name}" for name in files]
    return "".join(f"{line}\n" for line in lines)


def to_json(report: ConversionReport, files: Sequence[str]) -> dict[str, Any]:
    """The report for programs; `version` changes when a field changes its meaning."""
    return {
        "version": 1,
        "complete": report.complete,
        "keysAs": report.keys_as.value,
        "closedTargets": list(report.closed_targets),
        "files": list(files),
        "remarks": [_fields(each) for each in report.remarks],
    }


def _fields(remark: Remark) -> dict[str, Any]:
    return {
        "outcome": remark.outcome.value,
        "subject": remark.subject,
        "message": remark.message,
        "help": remark.help,
        "file": remark.place.source.name,
        "line": remark.place.first.line,
    }


def _bullet(remark: Remark) -> str:
    advice = f"; {remark.help}" if remark.help else ""
    return f"- {remark.where}, `{remark.subject}`: {_escaped(remark.message + advice)}"


def _escaped(text: str) -> str:
    """A text with nothing in it but code that Markdown reads as markup."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(part if part.startswith("`") else _MARKUP.sub(r"\\\1", part) for part in parts)


def _paragraph(remark: Remark) -> Iterator[str]:
    yield f"  {remark.where}: {remark.subject}: {' '.join(remark.message.split())}"
    if remark.help:
        yield f"    help: {remark.help}"


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
