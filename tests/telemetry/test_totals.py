"""The metrics of several processes, added up."""

from __future__ import annotations

import pickle

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tornado_proxy.telemetry.totals import Totals, counts_of


def _process(**asked):
    """What a process has counted that was asked for some targets so often, and has one request in flight."""
    registry = CollectorRegistry()
    requests = Counter("requests", "Requests", ["target"], registry=registry)
    seconds = Histogram("seconds", "Times", ["target"], registry=registry, buckets=(1, 2))
    Gauge("running", "Requests that run", registry=registry).set(1)
    for target, times in asked.items():
        for _ in range(times):
            requests.labels(target).inc()
            seconds.labels(target).observe(1.5)
    return pickle.loads(pickle.dumps(counts_of(registry)))


def _text(totals):
    registry = CollectorRegistry()
    registry.register(totals)
    return [
        line for line in generate_latest(registry).decode().splitlines() if "_created" not in line and line[0] != "#"
    ]


def test_what_several_count_is_added_up():
    """Series that only one process has stand beside the sums."""
    totals = Totals()
    totals.take(1, _process(a=2))
    totals.take(2, _process(a=3, b=1))
    lines = _text(totals)
    assert {'requests_total{target="a"} 5.0', 'requests_total{target="b"} 1.0', "running 2.0"} <= {*lines}
    assert 'seconds_bucket{le="2.0",target="a"} 5.0' in lines


def test_what_is_taken_later_takes_the_place():
    """A process tells everything that it has counted, each time."""
    totals = Totals()
    totals.take(1, _process(a=2))
    totals.take(1, _process(a=3))
    assert 'requests_total{target="a"} 3.0' in _text(totals)


def test_a_process_that_ended_is_not_forgotten():
    """What it counted stays; what it was doing is done no more."""
    totals = Totals()
    totals.take(1, _process(a=2))
    totals.end(1)
    totals.take(2, _process(a=1))
    assert {'requests_total{target="a"} 3.0', "running 1.0"} <= {*_text(totals)}


def test_a_process_that_never_told_anything_may_end():
    """It leaves nothing."""
    totals = Totals()
    totals.end(1)
    assert _text(totals) == []


def test_a_series_began_when_the_first_process_began_it():
    """Times are not added up."""
    totals, first = Totals(), _process(a=1)
    (began,) = (each.value for metric in first for each in metric.samples if each.name == "requests_created")
    totals.take(1, first)
    totals.take(2, _process(a=1))
    values = [each.value for metric in totals.collect() for each in metric.samples if each.name == "requests_created"]
    assert values == [began]
