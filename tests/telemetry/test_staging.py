"""Counts of a staged generation: bounded, added up over processes, and without secrets."""

from __future__ import annotations

import pickle

import pytest

from tornado_proxy.routing.compare import Difference, Kind, Pair
from tornado_proxy.telemetry.events import Bus, ErrorServed, KeySampled, RequestRecord, Served, Shadowed
from tornado_proxy.telemetry.staging import MOST_EXAMPLES, MOST_PAIRS, OTHER, Answers, StagedCounts, StagingCounter


def _difference(kind: Kind = Kind.KEY, rule: str = "new", path: str = "/a") -> Difference:
    return Difference(kind, Pair("site", "old", rule), "GET", path, "/old", "/new")


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def counter(bus):
    """A counter for generation 2, staged beside generation 1."""
    counter = StagingCounter()
    counter.listen(bus)
    counter.begin(2, 1)
    return counter


def test_differences_are_counted_by_kind_and_pair(bus, counter):
    """A request that is decided alike has neither a pair nor an example."""
    for kind in (Kind.SAME, Kind.KEY, Kind.KEY):
        bus.emit(Shadowed(2, _difference(kind), 200))
    counts = counter.counts()
    assert (counts.requests, dict(counts.kinds)) == (3, {"same": 1, "key": 2})
    assert dict(counts.pairs) == {("key", Pair("site", "old", "new")): 2}
    assert [each.path for each in counts.examples] == ["/a"]


def test_sampled_keys_are_counted(bus, counter):
    """A missing key is an example; a late answer about an earlier stage is not counted."""
    for generation, exists in ((2, True), (2, False), (2, None), (1, False)):
        bus.emit(KeySampled(generation, _difference(), exists))
    counts = counter.counts()
    assert dict(counts.samples) == {"present": 1, "missing": 1, "unknown": 1}
    assert [each.kind for each in counts.examples] == ["missing"]


def test_counts_are_bounded(bus, counter):
    """Further pairs are counted together, and further examples are not kept."""
    for number in range(MOST_PAIRS + 50):
        bus.emit(Shadowed(2, _difference(rule=str(number), path=f"/{number}" + "x" * 1000), 200))
    counts = counter.counts()
    assert (counts.pairs["key", OTHER], len(counts.pairs)) == (50, MOST_PAIRS + 1)
    assert len(counts.examples) == MOST_EXAMPLES
    assert len(counts.examples[0].path) == 300
    doubled = counts + counts
    assert (doubled.requests, len(doubled.examples)) == (2 * counts.requests, MOST_EXAMPLES)


def test_answers_are_counted_by_generation(bus, counter):
    """Other generations, which have their last requests, are not counted, and none until clients get the staged one."""
    bus.emit(Served(RequestRecord("id", 0.0, "127.0.0.1", "GET", "", "/a", 1), 200, 0, 0, 0.5))
    assert counter.counts().answers == {}
    counter.compare_answers()
    for generation, status in ((1, 200), (2, 404), (2, 403), (2, 503), (3, 500)):
        request = RequestRecord("id", 0.0, "127.0.0.1", "GET", "", "/a", generation)
        if status == 200:
            bus.emit(Served(request, status, 0, 0, 0.5))
        else:
            bus.emit(ErrorServed(request, status, 0, 0, 0.25, "no"))
    assert counter.counts().answers == {1: Answers(1, 0, 0, 0, 0.5), 2: Answers(3, 1, 1, 1, 0.75)}


def test_counts_of_processes_add_up(bus, counter):
    """Values travel between processes; the counts of an earlier stage are left out."""
    counter.compare_answers()
    bus.emit(Shadowed(2, _difference(), 200))
    bus.emit(Served(RequestRecord("id", 0.0, "127.0.0.1", "GET", "", "/a", 1), 200, 0, 0, 0.5))
    counts = pickle.loads(pickle.dumps(counter.counts()))
    both = counts + counts
    assert (both.generation, both.requests, both.answers[1].requests) == (2, 2, 2)
    assert counts + StagedCounts(1) == StagedCounts(1) + counts == counts


def test_nothing_is_counted_without_a_stage(bus, counter):
    """Neither before a stage nor after it."""
    counter.end()
    bus.emit(KeySampled(2, _difference(), exists=True))
    bus.emit(Served(RequestRecord("id", 0.0, "127.0.0.1", "GET", "", "/a", 1), 200, 0, 0, 0.5))
    assert counter.counts() is None
