"""Tests of the activity of processes: requests, hits of rewrites, refused requests, samples."""

import pickle
from dataclasses import replace

import pytest
from msgspec import structs
from serving import rule_set

from tornado_proxy.storage.errors import ConditionIgnored
from tornado_proxy.telemetry import metrics
from tornado_proxy.telemetry.events import Bus, ErrorServed, RequestRecord, S3Called, Served
from tornado_proxy.telemetry.limits import MOST_ERRORS
from tornado_proxy.telemetry.metrics import OWN_FILES, Activity, ActivityHistory, RequestMetrics, Tally

FIRST, SECOND = rule_set('rewrite a `^/a` -> "/x"\nrewrite `^/b` -> "/y"').rewrites


def _request(at=0.0, rewrite=None, path="/a") -> RequestRecord:
    return RequestRecord("id", at, "::1", "GET", "", path, 1, "site", rewrite=rewrite)


def _served(rewrite=None, seconds: float = 0.003) -> Served:
    return Served(_request(0.0, rewrite), 200, 10, 2, seconds)


def _error_served(status: int, at: float = 0.0, path: str = "/a", reason: str = "why") -> ErrorServed:
    return ErrorServed(_request(at, path=path), status, 0, 0, 0.03, reason)


class _Process:
    """A process that counts its requests."""

    def __init__(self) -> None:
        self.bus, self._metrics = Bus(), RequestMetrics(lambda: 3)
        self._metrics.listen(self.bus)

    @property
    def activity(self) -> Activity:
        """Returns the activity of the process."""
        return self._metrics.activity()


@pytest.fixture
def process():
    """A process without any activity."""
    return _Process()


def test_requests_are_counted_by_target_class_and_duration(process):
    """A tally of a target has its requests by status class and duration, and the bytes; requests in flight are counted too."""
    for event in (_served(), _served(seconds=0.4), _error_served(404), _error_served(502)):
        process.bus.emit(event)
    tally = process.activity.targets["site"]
    assert (tally.requests, tally.classes, tally.sent, tally.received) == (4, (0, 2, 0, 1, 1), 20, 4)
    assert (tally.buckets[2], tally.buckets[5], tally.buckets[8]) == (1, 2, 1)
    assert process.activity.in_flight == 3


def test_a_quantile_is_the_bound_of_its_bucket():
    """A quantile is the upper bound of its bucket; beyond the last bound, the quantile is this bound."""
    assert Tally(buckets=(0, 0, 10, *[0] * 13)).quantile(0.5) == 0.005
    assert Tally(buckets=(5, 0, 5, *[0] * 13)).quantile(0.95) == 0.005
    assert Tally(buckets=(*[0] * 15, 1)).quantile(0.99) == 60
    assert Tally().quantile(0.5) is None


def test_the_first_byte_counts_and_not_the_whole_transfer(process):
    """A long download whose first byte came soon is in the bucket of its first byte."""
    process.bus.emit(structs.replace(_served(seconds=60), first_byte=0.0015))
    assert process.activity.targets["site"].buckets[1] == 1


def test_own_files_are_counted_apart(process):
    """Style sheets and scripts of pages count for no target; a missing one is an error like others."""
    own = structs.replace(_request(path="/a/.tornado-proxy/style.css"), target=None)
    process.bus.emit(Served(own, 200, 10, 0, 0.1))
    process.bus.emit(ErrorServed(own, 404, 10, 0, 0.1, "why"))
    assert {name: tally.requests for name, tally in process.activity.targets.items()} == {OWN_FILES: 1, "": 1}


def test_the_hits_of_a_rewrite_are_counted_by_its_texts(process):
    """A rewrite is identified by its source and its template, and not by its name or number."""
    moved = replace(SECOND, name="moved", number=7)
    for event in (_served(SECOND), _served(moved), _served(FIRST), _served()):
        process.bus.emit(event)
    assert process.activity.hits == {("site", "^/a", "/x"): 1, ("site", "^/b", "/y"): 2}


def test_the_number_of_rewrites_with_hits_is_limited(process, monkeypatch):
    """At the limit, the hits of the rewrite that was hit first are removed."""
    monkeypatch.setattr(metrics.limits, "MOST_HIT", 1)
    for event in (_served(FIRST), _served(SECOND), _served(SECOND)):
        process.bus.emit(event)
    assert process.activity.hits == {("site", "^/b", "/y"): 2}


def test_the_last_refused_requests_of_both_kinds_are_kept(process):
    """Many errors with 4xx don't remove those with 5xx, nor vice versa; the oldest comes first."""
    process.bus.emit(_error_served(502, at=1.0))
    for number in range(50):
        process.bus.emit(_error_served(404, at=2.0 + number))
    errors = process.activity.errors
    assert [row.status for row in errors] == [502] + [404] * MOST_ERRORS
    assert [row.at for row in errors][-1] == 51.0


def test_the_texts_of_a_refused_request_are_cut(process):
    """The path and the reason of a refused request are cut after 300 characters."""
    process.bus.emit(_error_served(400, path="/" + "a" * 9000, reason="b" * 9000))
    (row,) = process.activity.errors
    assert (len(row.path), len(row.reason)) == (300, 300)


def test_a_target_whose_s3_ignores_conditions_is_known_until_an_upload_succeeds():
    """An upload that failed for that is known of every process, until the next one or an edit."""
    first, second = _Process(), _Process()
    first.bus.emit(S3Called("site", "put", ConditionIgnored.__name__, 0.1))
    assert (first.activity + second.activity).ignoring == {"site"}
    first.bus.emit(S3Called("site", "remove", "ok", 0.1))
    assert first.activity.ignoring == {"site"}
    first.bus.emit(S3Called("site", "put", "ok", 0.1))
    assert first.activity.ignoring == set()


def test_the_activity_of_processes_is_added_up():
    """The sum of two activities has the requests, the hits, the refused requests and the requests in flight of both."""
    first, second = _Process(), _Process()
    first.bus.emit(_served(FIRST))
    second.bus.emit(_served(FIRST))
    second.bus.emit(_error_served(404, at=5.0))
    total = pickle.loads(pickle.dumps(first.activity)) + second.activity
    assert (total.total.requests, total.in_flight, len(total.errors)) == (3, 6, 1)
    assert total.hits == {("site", "^/a", "/x"): 2}


def _sample(requests: int, in_flight: int = 0) -> Activity:
    return Activity({"site": Tally(classes=(0, requests, 0, 0, 0))}, in_flight=in_flight)


def test_an_interval_is_the_difference_of_two_samples():
    """The requests of an interval are those between two samples."""
    history = ActivityHistory()
    for at, requests in ((100.0, 7), (105.0, 17), (110.5, 17)):
        history.add(at, _sample(requests, in_flight=2))
    intervals = [*history.intervals()]
    assert [
        (interval.end, interval.seconds, interval.tally.requests, interval.in_flight) for interval in intervals
    ] == [(105.0, 5.0, 10, 2), (110.5, 5.5, 0, 2)]


def test_the_number_of_samples_is_limited():
    """A history keeps the intervals of the last 15 minutes."""
    history = ActivityHistory()
    for number in range(1000):
        history.add(5.0 * number, _sample(number))
    assert len([*history.intervals()]) == 180


def test_a_clock_that_is_set_back_restarts_the_history():
    """If the clock is set back, older samples are removed, so no interval is negative."""
    history = ActivityHistory()
    for at in (100.0, 105.0, 50.0, 55.0):
        history.add(at, _sample(1))
    assert [interval.end for interval in history.intervals()] == [55.0]
