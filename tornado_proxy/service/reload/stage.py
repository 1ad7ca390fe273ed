"""The stage of an edit: what is known of it, and what its counts say when its time is over."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Literal

import msgspec

from tornado_proxy.config.server import PromoteIf, Reload
from tornado_proxy.lang.diagnostic import counted
from tornado_proxy.telemetry.comparison import FEWEST, Looks, objections
from tornado_proxy.telemetry.staging import Answers, StagedCounts

_SECOND_STEP = 0.25  # of the clients


class Stage(msgspec.Struct, frozen=True):
    """The last edit that was staged; `counts` are its final ones, empty while it is staged."""

    number: int  # of the generation
    digest: str
    since: float  # Unix time, seconds
    lasts: float  # seconds of each step
    changes: tuple[str, ...] = ()
    state: Literal["staged", "promoted", "discarded"] = "staged"
    reasons: tuple[str, ...] = ()  # why it was discarded
    counts: StagedCounts = msgspec.field(default_factory=StagedCounts)
    share: float = 0.0  # of the clients that it answers
    step_since: float = 0.0  # Unix time, seconds, at which it began to answer them; 0 if it answers none
    looks: Looks = msgspec.field(default_factory=Looks)

    @property
    def until(self) -> float:
        """The end of the step, as Unix time in seconds."""
        return (self.step_since or self.since) + self.lasts


class StageMark(msgspec.Struct, frozen=True):
    """A stage as a restart must know it: the edit on disk is staged, or was discarded for `reasons`."""

    digest: str
    since: float  # Unix time, seconds
    reasons: tuple[str, ...] = ()


class Wait(msgspec.Struct, frozen=True):
    """The stage goes on."""


class Answer(msgspec.Struct, frozen=True):
    """The edit is to answer a share of the clients."""

    share: float


class Promote(msgspec.Struct, frozen=True):
    """The edit is to be put in force."""


class Discard(msgspec.Struct, frozen=True):
    """The edit is to be discarded, for these reasons."""

    reasons: tuple[str, ...]


def verdict(stage: Stage, counts: StagedCounts, settings: Reload, now: float) -> Wait | Answer | Promote | Discard:
    """Decides about a staged edit at a Unix time in seconds."""
    if not stage.share:
        if now < stage.until:
            return Wait()
        if reasons := tuple(_objections(counts, settings.promote_if)):
            return Discard(reasons)
        return Answer(settings.canary / 100) if settings.canary else Promote()
    new = counts.answers.get(stage.number, Answers())
    old = reduce(Answers.added, (each for number, each in counts.answers.items() if number != stage.number), Answers())
    if stage.looks.are_due(new.requests) and (worse := objections(old, new, stage.looks.number + 1)):
        return Discard(worse)
    # However long a step lasts: nobody can judge an edit that has answered too few requests.
    if now < stage.until or new.requests < FEWEST:
        return Wait()
    return Answer(_SECOND_STEP) if stage.share < _SECOND_STEP else Promote()


def _objections(counts: StagedCounts, conditions: PromoteIf) -> Iterator[str]:
    if counts.requests < conditions.requests:
        yield f"{counted(counts.requests, 'request')} of {conditions.requests} were compared"
    if (failing := counts.kinds["error"]) > conditions.errors:
        yield f"{counted(failing, 'request')} would fail"
    missing, present = counts.samples["missing"], counts.samples["present"]
    if missing and 100 * missing > conditions.missing_percent * (missing + present):
        absent = counted(missing, "does not exist", "do not exist")
        yield f"of {counted(missing + present, 'new key')} asked for, {absent}"
