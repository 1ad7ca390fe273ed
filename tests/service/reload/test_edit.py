"""The steps of an edit: a table."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tornado_proxy.config.secrets import Reference, Secret
from tornado_proxy.rules.diagnostic import Diagnostic, Severity
from tornado_proxy.rules.loading import Read
from tornado_proxy.service.reload.edit import EditState, RefusedFor, Step, refused
from tornado_proxy.service.reload.snapshot import Snapshot

ORIGIN = Reference("env", "KEY")
IN_FORCE = Snapshot(None, (), Read(()), "in force", (), secrets={ORIGIN: Secret("KEY", "old")})
NEW = replace(IN_FORCE, digest="new")
ROTATED = {ORIGIN: Secret("KEY", "rotated")}
GOOD = EditState(IN_FORCE)


def _edit(refused_for, snapshot=NEW):
    return EditState(snapshot, (Diagnostic("x", "wrong"),), refused_for)


@pytest.mark.parametrize(
    ("edit", "reading", "step"),
    [
        (GOOD, IN_FORCE, Step.NOTHING),
        (GOOD, replace(IN_FORCE, secrets=ROTATED), Step.TRY),
        (GOOD, NEW, Step.TRY),
        (GOOD, replace(NEW, settled=False), Step.WAIT),
        (_edit(RefusedFor.FILES), IN_FORCE, Step.REVERT),
        (_edit(RefusedFor.FILES), NEW, Step.REPEAT),
        (_edit(RefusedFor.FILES), replace(NEW, secrets=ROTATED), Step.REPEAT),
        (_edit(RefusedFor.FILES), replace(NEW, settled=False), Step.WAIT),
        (_edit(RefusedFor.FILES), replace(NEW, digest="newer"), Step.TRY),
        (_edit(RefusedFor.FILES, None), NEW, Step.TRY),
        (_edit(RefusedFor.SECRETS), NEW, Step.REPEAT),
        (_edit(RefusedFor.SECRETS), replace(NEW, secrets=ROTATED), Step.TRY),
        (_edit(RefusedFor.NOTHING), NEW, Step.TRY),
        (_edit(RefusedFor.NOTHING), IN_FORCE, Step.REVERT),
    ],
)
def test_a_reading_has_one_step(edit, reading, step):
    """By what became of the edit, and what changed since."""
    assert edit.step(reading, IN_FORCE) is step


@pytest.mark.parametrize(
    ("diagnostics", "refused_for"),
    [
        ((Diagnostic("bad-source", "unclosed group"),), RefusedFor.FILES),
        ((Diagnostic("bucket-down", "there is no bucket"),), RefusedFor.NOTHING),
        ((Diagnostic("bucket-down", "there is no bucket"), Diagnostic("bad-source", "no")), RefusedFor.FILES),
        ((Diagnostic("unusable-certificate", "the key is another one"),), RefusedFor.SECRETS),
        ((Diagnostic("unusable-bucket", "target `x`: no"),), RefusedFor.SECRETS),
        (
            (Diagnostic("unusable-certificate", "a note", severity=Severity.WARNING), Diagnostic("x", "y")),
            RefusedFor.FILES,
        ),
    ],
)
def test_a_refusal_waits_for_what_it_is_about(diagnostics, refused_for):
    """Only what the reasons depend on makes a refused edit be tried again."""
    snapshot = replace(NEW, remarks=(Diagnostic("unusable-certificate", "the key is another one"),))
    assert refused(snapshot, diagnostics, diagnostics).refused_for is refused_for
