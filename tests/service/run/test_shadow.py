"""A staged generation decides about requests that were answered, and its new keys are asked for."""

from __future__ import annotations

import asyncio

import pytest
from memory_store import MemoryStore
from rule_sites import site

from tornado_proxy.config.model import Settings
from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.compare import Kind
from tornado_proxy.routing.decide import simulate
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.routing.request import read_request
from tornado_proxy.service.run.shadow import MOST_TIME, HeadSampler, Shadow, canary
from tornado_proxy.storage.errors import Busy
from tornado_proxy.telemetry.events import KeySampled, Shadowed
from tornado_proxy.web.generation import Generation, Parts, Shared


class _Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def _staged(store=None):
    """A generation whose rewrite leads to `/new`, and a decision in force about each path."""
    edited = site('rewrite `^/(?P<name>.*)$` -> "/new/$name"')
    parts = Parts(
        Settings(targets=(edited.target,)), Mounts([edited]), Pages(), {"site": Shared(store or MemoryStore())}
    )
    return Generation(2, parts)


def _store(*keys):
    store = MemoryStore()
    for key in keys:
        store.add(key, b"")
    return store


def _decision(path):
    return simulate(Mounts([site("")]), read_request(path), None)


async def _sampled(store, *paths, rate=1, status=200, clock=None):
    """Has a shadow decide about paths, a second apart; returns the events."""
    events, clock = [], clock or _Clock()
    staged = _staged(store)
    shadow = Shadow(staged, events.append, rate)
    shadow._sampler = HeadSampler(staged, events.append, rate, clock)
    for path in paths:
        shadow(_decision(path), status)
        clock.now += 1
    await asyncio.gather(*shadow._sampler._tasks)
    return events


async def test_a_request_is_decided_again():
    """The difference is an event, and without a budget nothing is asked for."""
    events = []
    Shadow(_staged(), events.append, 0)(_decision("/a"), 200)
    ((generation, difference, status),) = events
    assert (generation, difference.kind, difference.new, status) == (2, Kind.KEY, "/new/a", 200)


async def test_a_defect_of_the_edit_is_an_error(caplog, monkeypatch):
    """The answer in force was given: the staged generation would answer 500."""
    events, staged = [], _staged()
    shadow = Shadow(staged, events.append, 0)
    shadow._mounts = None
    shadow(_decision("/a"), 200)
    assert (events[0].difference.kind, events[0].difference.new) == (Kind.ERROR, "(500)")
    assert "the staged generation failed on a request" in caplog.text


async def test_new_keys_are_asked_for_once():
    """Each with its result; the same key is not asked for again."""
    events = await _sampled(_store("new/a"), "/a", "/b", "/a")
    sampled = [(each.difference.path, each.exists) for each in events if isinstance(each, KeySampled)]
    assert sampled == [("/a", True), ("/b", False)]
    assert sum(isinstance(each, Shadowed) for each in events) == 3


async def test_the_budget_limits_the_calls():
    """Two in three seconds, at one in two seconds."""
    clock = _Clock()
    events = await _sampled(MemoryStore(), "/a", "/b", "/c", rate=0.5, clock=clock)
    assert [each.difference.path for each in events if isinstance(each, KeySampled)] == ["/a", "/c"]


async def test_a_request_that_failed_says_nothing_about_the_new_key():
    """Its object may have been missing before."""
    events = await _sampled(MemoryStore(), "/a", status=404)
    assert not [each for each in events if isinstance(each, KeySampled)]


async def test_a_directory_needs_no_object():
    """It is listed."""
    events = await _sampled(MemoryStore(), "/d/")
    assert not [each for each in events if isinstance(each, KeySampled)]


class _BusyStore(MemoryStore):
    """A store that has no time."""

    async def head(self, key, conditions):
        """Raise `Busy`."""
        raise Busy("slow down")


async def test_a_bucket_that_fails_says_nothing():
    """The key is neither present nor missing."""
    events = await _sampled(_BusyStore(), "/a")
    assert [each.exists for each in events if isinstance(each, KeySampled)] == [None]


@pytest.mark.parametrize("count", [20])
async def test_few_calls_run_at_once(count):
    """More are not asked for: a slow bucket must not collect calls."""
    events = await _sampled(MemoryStore(), *(f"/{number}" for number in range(count)), rate=1000)
    assert sum(isinstance(each, KeySampled) for each in events) == 8


class _SlowClock(_Clock):
    """A clock on which each look takes 5 ms."""

    def __call__(self) -> float:
        """The time, after a look."""
        self.now += 0.005
        return self.now


async def test_deciding_beside_takes_a_small_part_of_the_time():
    """More requests are not compared, so that they are not answered later."""
    events, clock = [], _SlowClock()
    shadow = Shadow(_staged(), events.append, 0, clock)
    for _ in range(4000):
        shadow(_decision("/a"), 200)
    assert len(events) * 0.005 == pytest.approx((clock.now - 100) * MOST_TIME, rel=0.25)


def test_a_share_of_the_clients_gets_the_staged_generation():
    """A client keeps its generation, and stays with it as the share grows."""
    in_force, staged = _staged(), _staged()
    few, more = canary(in_force, staged, 0.05), canary(in_force, staged, 0.25)
    clients = [f"10.0.0.{number}" for number in range(250)]
    first = {client for client in clients if few(client) is staged}
    assert 3 < len(first) < 25
    assert first < {client for client in clients if more(client) is staged}
