"""The verdict about a staged edit: its conditions, worse answers beyond chance, and the clients that it answers."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tornado_proxy.config.server import PromoteIf, Reload
from tornado_proxy.service.reload.stage import (
    CHANCE,
    FEWEST,
    PROMOTE,
    WAIT,
    Looks,
    Stage,
    StageVerdict,
    chance_of_more,
    objections,
    place_of,
    verdict,
)
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
    assert _verdict(59.9, error=1000) == WAIT


def test_an_edit_that_meets_the_conditions_is_promoted():
    """The most errors and the largest part of missing keys are allowed."""
    assert _verdict(same=8, key=1, error=1, samples={"missing": 1, "present": 9}) == PROMOTE


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
    assert _verdict(**counts) == StageVerdict(reasons=(reason,))


def test_keys_that_could_not_be_asked_for_are_not_missing():
    """An edit is promoted even if a bucket that is down cannot tell whether its keys exist."""
    assert _verdict(key=10, samples={"unknown": 10}) == PROMOTE


def test_an_edit_answers_some_clients_first():
    """With a canary, only after it met the conditions."""
    assert _verdict(same=10, canary=5) == StageVerdict(0.05)
    assert _verdict(same=9, canary=5) == StageVerdict(reasons=("9 requests of 10 were compared",))


def test_a_canary_grows_in_steps():
    """Each lasts as long as the stage, and then until the edit has answered enough requests."""
    good = Answers(100)
    assert _of_canary(good, elapsed=59.9) == WAIT
    assert _of_canary(Answers(19)) == WAIT
    assert _of_canary(Answers()) == WAIT
    assert _of_canary(good) == StageVerdict(0.25)
    assert _of_canary(good, share=0.25) == PROMOTE
    assert _of_canary(good, share=0.5) == PROMOTE


def test_a_worse_canary_is_discarded_at_once():
    """It does not wait for the end of the step, but for enough requests, and for more of them after each look."""
    worse = Answers(20, missing=20)
    assert _of_canary(worse, elapsed=1.0) == StageVerdict(
        reasons=("20 of 20 answers with 404, 0 of 1000 without the edit",)
    )
    assert _of_canary(worse._replace(requests=19), elapsed=1.0) == WAIT
    assert _of_canary(worse, elapsed=1.0, looks=Looks(1, 20)) == WAIT


@pytest.mark.parametrize(
    ("old", "new", "chance"),
    [
        ((1, 4), (3, 4), 0.242857),  # the lady who tastes tea: 17 of 70
        ((0, 10), (0, 10), 1.0),
        ((0, 10), (1, 10), 0.5),
        ((5, 10), (10, 10), 0.016254),
        ((0, 0), (3, 3), 1.0),
    ],
)
def test_the_chance_is_that_of_the_exact_test(old, new, chance):
    """The values are those of Fisher's exact test, one-sided."""
    assert chance_of_more(old, new) == pytest.approx(chance, abs=1e-6)


def test_a_wrong_edit_is_found_at_the_first_look():
    """Each of its first answers is a 404, and few others are."""
    reasons = objections(Answers(400, missing=8), Answers(FEWEST, missing=FEWEST), 1)
    assert reasons == ("20 of 20 answers with 404, 8 of 400 without the edit",)


def test_an_edit_that_is_better_has_no_objection():
    """The test is one-sided."""
    assert objections(Answers(400, missing=400), Answers(400, server_errors=0), 1) == ()


def test_each_rate_is_compared():
    """404, other 4xx and 5xx apart: one must not hide in another."""
    worse = Answers(300, client_errors=100, missing=100, server_errors=100)
    assert len(objections(Answers(1000), worse, 1)) == 3


def test_an_edit_that_is_no_worse_is_rarely_found_worse():
    """Over all looks of 300 stages with equal rates, fewer are discarded than the chance that is allowed, thrice."""
    chosen, discarded = random.Random(1), 0
    for _ in range(300):
        looks, old, new = Looks(), [0, 0], [0, 0]
        for _ in range(60):
            for side, size in ((old, 95), (new, 5)):
                side[0] += size
                side[1] += sum(chosen.random() < 0.05 for _ in range(size))
            if looks.are_due(new[0]):
                looks = Looks(looks.number + 1, new[0])
                if objections(Answers(old[0], missing=old[1]), Answers(new[0], missing=new[1]), looks.number):
                    discarded += 1
                    break
    assert discarded <= 3 * CHANCE * 300


def test_looks_are_due_as_requests_grow():
    """The first after the fewest requests, the next after a quarter more."""
    assert [Looks().are_due(19), Looks().are_due(20)] == [False, True]
    assert [Looks(1, 100).are_due(124), Looks(1, 100).are_due(125)] == [False, True]


@given(st.text(), st.text())
def test_a_place_is_a_part_of_one(client, digest):
    """The whole share, 1, covers every client, and an empty one none."""
    assert 0 <= place_of(client, digest) < 1


def test_a_share_has_about_its_part_of_the_clients():
    """A client keeps its place for an edit, and gets another for the next."""
    clients = [f"10.0.{number // 250}.{number % 250}" for number in range(5000)]
    first = {client for client in clients if place_of(client, "one") < 0.05}
    other = {client for client in clients if place_of(client, "two") < 0.05}
    assert 180 < len(first) < 320
    assert len(first & other) < 60
    assert first == {client for client in clients if place_of(client, "one") < 0.05}
