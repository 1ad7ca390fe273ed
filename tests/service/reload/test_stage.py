"""The verdict about a staged edit."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from tornado_proxy.config.server import PromoteIf, Reload
from tornado_proxy.service.reload.stage import Answer, Discard, Promote, Stage, Wait, verdict
from tornado_proxy.telemetry.comparison import Looks
from tornado_proxy.telemetry.staging import Answers, StagedCounts

CONDITIONS = PromoteIf(requests=10, errors=1, missing_percent=10)
STAGE = Stage(2, "abc", 1000.0, 60.0)


def _verdict(elapsed=60.0, samples=None, canary=None, **kinds):
    counts = StagedCounts(2, Counter(kinds), samples=Counter(samples or {}))
    return verdict(STAGE, counts, Reload(promote_if=CONDITIONS, canary=canary), 1000.0 + elapsed)


def _of_canary(new, elapsed=60.0, share=0.05, looks=None):
    stage = replace(STAGE, share=share, step_since=2000.0, looks=looks or Looks())
    counts = StagedCounts(2, answers={1: Answers(1000), 2: new})
    return verdict(stage, counts, Reload(canary=5), 2000.0 + elapsed)


def test_a_stage_lasts_its_time():
    """However bad the counts are: the edit has no effect meanwhile."""
    assert _verdict(59.9, error=1000) == Wait()


def test_an_edit_that_meets_the_conditions_is_promoted():
    """The most errors and the largest part of missing keys are allowed."""
    assert _verdict(same=8, key=1, error=1, samples={"missing": 1, "present": 9}) == Promote()


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ({}, "0 requests of 10 were compared"),
        ({"same": 9}, "9 requests of 10 were compared"),
        ({"same": 8, "error": 2}, "2 requests would fail"),
        ({"key": 10, "samples": {"missing": 1, "present": 8}}, "of 9 new keys asked for, 1 does not exist"),
        ({"key": 10, "samples": {"missing": 1}}, "of 1 new key asked for, 1 does not exist"),
    ],
)
def test_an_edit_that_misses_a_condition_is_discarded(counts, reason):
    """The reason has the figures."""
    assert _verdict(**counts) == Discard((reason,))


def test_keys_that_could_not_be_asked_for_are_not_missing():
    """An edit is promoted even if a bucket that is down cannot tell whether its keys exist."""
    assert _verdict(key=10, samples={"unknown": 10}) == Promote()


def test_an_edit_answers_some_clients_first():
    """With a canary, only after it met the conditions."""
    assert _verdict(same=10, canary=5) == Answer(0.05)
    assert _verdict(same=9, canary=5) == Discard(("9 requests of 10 were compared",))


def test_a_canary_grows_in_steps():
    """Each lasts as long as the stage, and then until the edit has answered enough requests."""
    good = Answers(100)
    assert _of_canary(good, elapsed=59.9) == Wait()
    assert _of_canary(Answers(19)) == Wait()
    assert _of_canary(Answers()) == Wait()
    assert _of_canary(good) == Answer(0.25)
    assert _of_canary(good, share=0.25) == Promote()
    assert _of_canary(good, share=0.5) == Promote()


def test_a_worse_canary_is_discarded_at_once():
    """It does not wait for the end of the step, but for enough requests, and for more of them after each look."""
    worse = Answers(20, missing=20)
    assert _of_canary(worse, elapsed=1.0) == Discard(("20 of 20 answers with 404, 0 of 1000 without the edit",))
    assert _of_canary(worse._replace(requests=19), elapsed=1.0) == Wait()
    assert _of_canary(worse, elapsed=1.0, looks=Looks(1, 20)) == Wait()
