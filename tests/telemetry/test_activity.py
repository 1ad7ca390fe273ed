"""What processes did, added up: requests, hits of rewrites, refused requests, samples."""

from __future__ import annotations

import pickle

import pytest
from serving import rule_set

from tornado_proxy.telemetry.activity import (
    MOST_REFUSED,
    Activities,
    Activity,
    ActivityHistory,
    ActivityRecorder,
    RewriteHits,
    Tally,
)
from tornado_proxy.telemetry.events import Bus, Refused, RequestRecord, Served
from tornado_proxy.telemetry.metrics import RequestMetrics

TWO = 'rewrite a `^/a` -> "/x"\nrewrite `^/b` -> "/y"'


def _asked(at: float = 0.0, rewrite: int | None = None, generation: int = 1, path: str = "/a") -> RequestRecord:
    return RequestRecord("id", at, "::1", "GET", "", path, generation, "site", rewrite_number=rewrite)


def _served(rewrite: int | None = None, generation: int = 1, seconds: float = 0.003) -> Served:
    return Served(_asked(0.0, rewrite, generation), 200, 10, 2, seconds)


def _refused(status: int, at: float = 0.0, path: str = "/a", reason: str = "why") -> Refused:
    return Refused(_asked(at, path=path), status, 0, 0, 0.03, reason)


class _Process:
    """A process that records."""

    def __init__(self, rules: str = TWO) -> None:
        self.bus, self._metrics = Bus(), RequestMetrics(lambda: 3)
        self._metrics.listen(self.bus)
        self.hits = RewriteHits(1, {"site": rule_set(rules)})
        self.recorder = ActivityRecorder(self._metrics, self.hits)
        self.recorder.listen(self.bus)

    @property
    def activity(self) -> Activity:
        """What it did."""
        return self.recorder.activity()


@pytest.fixture
def process():
    """A process of two rewrites."""
    return _Process()


def test_requests_are_counted_by_target_class_and_duration(process):
    """Bytes too, and how many are under way."""
    for event in (_served(), _served(seconds=0.4), _refused(404), _refused(502)):
        process.bus.emit(event)
    tally = process.activity.targets["site"]
    assert (tally.requests, tally.classes, tally.sent, tally.received) == (4, (0, 2, 0, 1, 1), 20, 4)
    assert (tally.buckets[0], tally.buckets[3], tally.buckets[6]) == (1, 2, 1)
    assert process.activity.in_flight == 3


def test_a_duration_is_known_to_its_bucket():
    """Between the bounds of a bucket, by the part of it that is wanted; past the last bound, that bound."""
    half = Tally(buckets=(0, 0, 10, *[0] * 11))
    assert half.quantile(0.5) == pytest.approx(0.0175)
    assert Tally(buckets=(*[0] * 13, 1)).quantile(0.99) == 600
    assert Tally().quantile(0.5) is None


def test_the_hits_of_a_rewrite_are_counted_by_its_place(process):
    """A request that no rewrite took counts for none."""
    for event in (_served(2), _served(2), _served(1), _served()):
        process.bus.emit(event)
    assert {target: [*counts] for target, counts in process.activity.hits.items()} == {"site": [1, 2]}


def test_an_unchanged_rewrite_keeps_its_hits_wherever_it_stands():
    """A new rewrite in front moves the others; a changed template counts anew, a changed name does not."""
    hits = RewriteHits(1, {"site": rule_set(TWO)})
    hits.count(1, "site", 0, 5)
    hits.count(1, "site", 1, 7)
    hits.begin(2, {"site": rule_set('rewrite `^/new` -> "/n"\nrewrite `^/b` -> "/y"\nrewrite z `^/a` -> "/x"')})
    assert [*hits.current()["site"]] == [0, 7, 5]
    hits.begin(3, {"site": rule_set('rewrite `^/b` -> "/other"')})
    assert [*hits.current()["site"]] == [0]


def test_two_equal_rewrites_are_two():
    """The second of them is never hit, and takes over no count of the first."""
    hits = RewriteHits(1, {"site": rule_set('rewrite `^/a` -> "/x"\nrewrite `^/a` -> "/x"')})
    hits.count(1, "site", 0)
    hits.begin(2, {"site": rule_set('rewrite `^/a` -> "/x"\nrewrite `^/a` -> "/x"\nrewrite `^/c` -> "/x"')})
    assert [*hits.current()["site"]] == [1, 0, 0]


def test_a_request_that_ends_after_an_edit_counts_for_its_rewrite():
    """A download that began under an older generation is not lost."""
    hits = RewriteHits(1, {"site": rule_set(TWO)})
    hits.begin(2, {"site": rule_set('rewrite `^/new` -> "/n"\nrewrite `^/a` -> "/x"')})
    hits.count(1, "site", 0)
    hits.count(1, "site", 1)  # of a rewrite that is gone
    assert [*hits.current()["site"]] == [0, 1]


def test_generations_of_long_ago_are_forgotten():
    """Edits for years do not grow the counts."""
    hits = RewriteHits(1, {"site": rule_set(TWO)})
    for number in range(2, 15):
        hits.begin(number, {"site": rule_set(TWO)})
    hits.count(1, "site", 0)
    hits.count(13, "site", 0)
    assert [*hits.current()["site"]] == [1, 0]


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
    """Living ones and those that have ended; what a process was doing when it ended is over."""
    first, second = _Process(), _Process()
    first.bus.emit(_served(1))
    second.bus.emit(_served(1))
    second.bus.emit(_refused(404, at=5.0))
    added = Activities(RewriteHits(1, {"site": rule_set(TWO)}))
    added.end(pickle.loads(pickle.dumps(first.activity)))
    found = added.with_living([second.activity])
    assert (found.total.requests, found.in_flight, len(found.refused)) == (3, 3, 1)
    assert [*found.hits["site"]] == [2, 0]


def test_the_hits_of_another_generation_wait_until_the_process_follows():
    """While an edit goes round, a process may still count for the rewrites of before."""
    process, hits = _Process(), RewriteHits(1, {"site": rule_set(TWO)})
    added = Activities(hits)
    process.bus.emit(_served(1))
    rules = {"site": rule_set('rewrite `^/new` -> "/n"\nrewrite `^/a` -> "/x"')}
    hits.begin(2, rules)
    assert [*added.with_living([process.activity]).hits["site"]] == [0, 0]
    process.hits.begin(2, rules)
    assert [*added.with_living([process.activity]).hits["site"]] == [0, 1]


def test_the_hits_of_a_process_that_ended_before_an_edit_are_kept():
    """They belong to rewrites, not to processes."""
    process, hits = _Process(), RewriteHits(1, {"site": rule_set(TWO)})
    added = Activities(hits)
    process.bus.emit(_served(2))
    added.end(process.activity)
    hits.begin(2, {"site": rule_set('rewrite `^/b` -> "/y"')})
    assert [*added.with_living([]).hits["site"]] == [1]


def _sampled(requests: int, in_flight: int = 0) -> Activity:
    return Activity(1, {"site": Tally(classes=(0, requests, 0, 0, 0))}, in_flight=in_flight)


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
