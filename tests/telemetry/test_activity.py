"""The activity of processes: requests, hits of rewrites, refused requests, samples."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from serving import rule_set

from tornado_proxy.telemetry import metrics
from tornado_proxy.telemetry.events import Bus, Refused, RequestRecord, Served
from tornado_proxy.telemetry.metrics import (
    MOST_REFUSED,
    Activity,
    ActivityHistory,
    RequestMetrics,
    Tally,
)

FIRST, SECOND = rule_set('rewrite a `^/a` -> "/x"\nrewrite `^/b` -> "/y"').rewrites


def _asked(at=0.0, rewrite=None, path="/a") -> RequestRecord:
    return RequestRecord("id", at, "::1", "GET", "", path, 1, "site", rewrite=rewrite)


def _served(rewrite=None, seconds: float = 0.003) -> Served:
    return Served(_asked(0.0, rewrite), 200, 10, 2, seconds)


def _refused(status: int, at: float = 0.0, path: str = "/a", reason: str = "why") -> Refused:
    return Refused(_asked(at, path=path), status, 0, 0, 0.03, reason)


class _Process:
    """A process that counts."""

    def __init__(self) -> None:
        self.bus, self._metrics = Bus(), RequestMetrics(lambda: 3)
        self._metrics.listen(self.bus)

    @property
    def activity(self) -> Activity:
        """Its activity."""
        return self._metrics.activity()


@pytest.fixture
def process():
    """A process that has done nothing yet."""
    return _Process()


def test_requests_are_counted_by_target_class_and_duration(process):
    """So are bytes, and the requests in flight."""
    for event in (_served(), _served(seconds=0.4), _refused(404), _refused(502)):
        process.bus.emit(event)
    tally = process.activity.targets["site"]
    assert (tally.requests, tally.classes, tally.sent, tally.received) == (4, (0, 2, 0, 1, 1), 20, 4)
    assert (tally.buckets[0], tally.buckets[3], tally.buckets[6]) == (1, 2, 1)
    assert process.activity.in_flight == 3


def test_a_duration_is_known_to_its_bucket():
    """A quantile lies between the bounds of its bucket; beyond the last bound it is that bound."""
    half = Tally(buckets=(0, 0, 10, *[0] * 11))
    assert half.quantile(0.5) == pytest.approx(0.0175)
    assert Tally(buckets=(*[0] * 13, 1)).quantile(0.99) == 600
    assert Tally().quantile(0.5) is None


def test_the_hits_of_a_rewrite_are_counted_by_its_texts(process):
    """A request that no rewrite took counts for none; neither name nor place matters."""
    moved = replace(SECOND, name="moved", number=7)
    for event in (_served(SECOND), _served(moved), _served(FIRST), _served()):
        process.bus.emit(event)
    assert process.activity.hits == {("site", "^/a", "/x"): 1, ("site", "^/b", "/y"): 2}


def test_the_rewrites_with_hits_are_bounded(process, monkeypatch):
    """Edits for years do not grow the counts: those of the rewrite that was hit first go."""
    monkeypatch.setattr(metrics, "MOST_HIT", 1)
    for event in (_served(FIRST), _served(SECOND), _served(SECOND)):
        process.bus.emit(event)
    assert process.activity.hits == {("site", "^/b", "/y"): 2}


def test_the_last_refused_requests_of_both_kinds_are_kept(process):
    """A scanner's many 404s do not hide the 502s, nor the other way round; the oldest comes first."""
    process.bus.emit(_refused(502, at=1.0))
    for number in range(50):
        process.bus.emit(_refused(404, at=2.0 + number))
    found = process.activity.refused
    assert [each.status for each in found] == [502] + [404] * MOST_REFUSED
    assert [each.at for each in found][-1] == 51.0


def test_the_texts_of_a_refused_request_are_bounded(process):
    """A path and a reason may be long."""
    process.bus.emit(_refused(400, path="/" + "a" * 9000, reason="b" * 9000))
    (only,) = process.activity.refused
    assert (len(only.path), len(only.reason)) == (300, 300)


def test_the_activity_of_processes_adds_up():
    """Requests, hits, refused requests, and what is under way."""
    first, second = _Process(), _Process()
    first.bus.emit(_served(FIRST))
    second.bus.emit(_served(FIRST))
    second.bus.emit(_refused(404, at=5.0))
    found = pickle.loads(pickle.dumps(first.activity)) + second.activity
    assert (found.total.requests, found.in_flight, len(found.refused)) == (3, 6, 1)
    assert found.hits == {("site", "^/a", "/x"): 2}


def _sampled(requests: int, in_flight: int = 0) -> Activity:
    return Activity({"site": Tally(classes=(0, requests, 0, 0, 0))}, in_flight=in_flight)


def test_an_interval_has_what_happened_between_two_samples():
    """Numbers since the start become those of a few seconds."""
    history = ActivityHistory()
    for at, requests in ((100.0, 7), (105.0, 17), (110.5, 17)):
        history.add(at, _sampled(requests, in_flight=2))
    intervals = [*history.intervals()]
    assert [(each.end, each.seconds, each.tally.requests, each.in_flight) for each in intervals] == [
        (105.0, 5.0, 10, 2),
        (110.5, 5.5, 0, 2),
    ]


def test_samples_are_bounded():
    """15 minutes of them, and no more."""
    history = ActivityHistory()
    for number in range(1000):
        history.add(5.0 * number, _sampled(number))
    assert len([*history.intervals()]) == 180


def test_a_clock_that_is_set_back_begins_anew():
    """No interval is negative."""
    history = ActivityHistory()
    for at in (100.0, 105.0, 50.0, 55.0):
        history.add(at, _sampled(1))
    assert [each.end for each in history.intervals()] == [55.0]
