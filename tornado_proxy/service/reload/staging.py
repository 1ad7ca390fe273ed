"""The stage of an edit: what is known of it, and what its counts say when its time is over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from tornado_proxy.config.server import PromoteIf
from tornado_proxy.lang.diagnostic import counted
from tornado_proxy.telemetry.staging import StagedCounts


@dataclass(frozen=True, slots=True)
class Stage:
    """The last edit that was staged; `counts` are its final ones, empty while it is staged."""

    number: int  # of the generation
    digest: str
    since: float  # Unix time, seconds
    lasts: float  # seconds
    changes: tuple[str, ...] = ()
    state: Literal["staged", "promoted", "discarded"] = "staged"
    reasons: tuple[str, ...] = ()  # why it was discarded
    counts: StagedCounts = field(default_factory=StagedCounts)


@dataclass(frozen=True, slots=True)
class StageMark:
    """A stage as a restart must know it: the edit on disk is staged, or was discarded for `reasons`."""

    digest: str
    since: float  # Unix time, seconds
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """The stage goes on."""


@dataclass(frozen=True, slots=True)
class Promote:
    """The edit is to be put in force."""


@dataclass(frozen=True, slots=True)
class Discard:
    """The edit is to be discarded, for these reasons."""

    reasons: tuple[str, ...]


def verdict(counts: StagedCounts, conditions: PromoteIf, elapsed: float, lasts: float) -> Wait | Promote | Discard:
    """Decides about a staged edit after `elapsed` of the `lasts` seconds of its stage."""
    if elapsed < lasts:
        return Wait()
    reasons = tuple(_objections(counts, conditions))
    return Discard(reasons) if reasons else Promote()


def _objections(counts: StagedCounts, conditions: PromoteIf) -> Iterator[str]:
    if counts.requests < conditions.requests:
        yield f"{counted(counts.requests, 'request')} of {conditions.requests} were compared"
    if (failing := counts.kinds["error"]) > conditions.errors:
        yield f"{counted(failing, 'request')} would fail"
    missing, present = counts.samples["missing"], counts.samples["present"]
    if missing and 100 * missing > conditions.missing_percent * (missing + present):
        yield f"{missing} of {counted(missing + present, 'new key')} that were asked for do not exist"
