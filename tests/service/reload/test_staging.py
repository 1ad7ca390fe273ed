"""The verdict about a staged edit."""

from __future__ import annotations

from collections import Counter

import pytest

from tornado_proxy.config.server import PromoteIf
from tornado_proxy.service.reload.staging import Discard, Promote, Wait, verdict
from tornado_proxy.telemetry.staging import StagedCounts

CONDITIONS = PromoteIf(requests=10, errors=1, missing_percent=10)


def _verdict(elapsed=60.0, samples=None, **kinds):
    return verdict(StagedCounts(2, Counter(kinds), samples=Counter(samples or {})), CONDITIONS, elapsed, 60.0)


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
        ({"key": 10, "samples": {"missing": 1, "present": 8}}, "1 of 9 new keys that were asked for do not exist"),
        ({"key": 10, "samples": {"missing": 1}}, "1 of 1 new key that were asked for do not exist"),
    ],
)
def test_an_edit_that_misses_a_condition_is_discarded(counts, reason):
    """The reason has the figures."""
    assert _verdict(**counts) == Discard((reason,))


def test_keys_that_could_not_be_asked_for_are_not_missing():
    """A bucket that is down says nothing about an edit."""
    assert _verdict(key=10, samples={"unknown": 10}) == Promote()
