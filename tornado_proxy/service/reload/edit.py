"""An edit: what the files on disk say now, and what became of it.

A pure table of steps: the reloader carries them out. Reports, status line, metrics and status page follow the edit.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from tornado_proxy.rules.diagnostic import Diagnostic, errors
from tornado_proxy.service.reload.snapshot import Snapshot
from tornado_proxy.service.reload.trials import BUCKET_DOWN
from tornado_proxy.telemetry.events import ReloadOutcome


class Step(Enum):
    """What is done about a reading of the files."""

    NOTHING = "nothing"  # it is what is in force
    REVERT = "revert"  # the same, after an edit that was refused
    WAIT = "wait"  # the files keep changing
    REPEAT = "repeat"  # it was refused for what has not changed since
    TRY = "try"


class RefusedFor(Enum):
    """The part of an edit that must change until it is tried again."""

    FILES = "files"
    SECRETS = "secrets"  # or the files
    NOTHING = "nothing"  # it may pass by itself: a bucket that is away, a file system that hangs, a defect


class EditState(msgspec.Struct, frozen=True):
    """What the files say: in force, or refused for some reasons. `snapshot` is None if they could not be read."""

    snapshot: Snapshot | None
    reasons: tuple[Diagnostic, ...] = ()
    refused_for: RefusedFor | None = None  # None if it is in force
    outcome: ReloadOutcome = ReloadOutcome.REFUSED
    error: BaseException | None = None  # a defect of ours

    def step(self, reading: Snapshot, in_force: Snapshot) -> Step:
        """Returns what is done about the next reading of the files."""
        if reading.is_as(in_force):
            return Step.REVERT if self.refused_for else Step.NOTHING
        if not reading.settled:
            return Step.WAIT
        return Step.REPEAT if self._refuses(reading) else Step.TRY

    def _refuses(self, reading: Snapshot) -> bool:
        match self.refused_for:
            case RefusedFor.FILES if self.snapshot:
                return self.snapshot.digest == reading.digest
            case RefusedFor.SECRETS:
                return reading.is_as(self.snapshot)
            case _:
                return False


def refused(snapshot: Snapshot, diagnostics: tuple[Diagnostic, ...], news: tuple[Diagnostic, ...]) -> EditState:
    """Returns the edit that is refused because of diagnostics, of which some are news to tell."""
    reasons = errors(diagnostics)
    # The digest covers neither secrets nor what is said of them; a client of a bucket is made with its keys.
    of_secrets = {each.message for each in snapshot.remarks}
    if all(each.code == BUCKET_DOWN for each in reasons):
        return EditState(snapshot, news, RefusedFor.NOTHING)
    by_secrets = any(each.message in of_secrets or each.code == "unusable-bucket" for each in reasons)
    return EditState(snapshot, news, RefusedFor.SECRETS if by_secrets else RefusedFor.FILES)
