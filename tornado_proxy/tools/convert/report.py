"""The report of a conversion: one remark per option, rendered as Markdown, text and JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tornado_proxy.lang.diagnostic import Span


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


class KeysAs(Enum):
    """Which keys the sources and targets of a `keyRewriteList` are taken to be about."""

    ACTUAL = "actual"  # the prefix in front, no leading slash: s3-proxy's code
    DOCUMENTED = "documented"  # a leading slash, no prefix: s3-proxy's documentation, and this project


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
            lines += [f"## {title}", "", about, "", *(_item(each) for each in remarks), ""]
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


def _item(remark: Remark) -> str:
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
