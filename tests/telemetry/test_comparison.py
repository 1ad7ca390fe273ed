"""A generation is worse than another only beyond chance."""

from __future__ import annotations

import random

import pytest

from tornado_proxy.telemetry.comparison import CHANCE, FEWEST, Looks, chance_of_more, objections
from tornado_proxy.telemetry.staging import Answers


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
