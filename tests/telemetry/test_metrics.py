"""Metrics: events are counted, and nothing that a client chooses becomes a label."""

from __future__ import annotations

import asyncio
import pickle

import pytest
from memory_store import MemoryStore
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.storage import errors
from tornado_proxy.storage.cache import CacheCounts
from tornado_proxy.storage.errors import ObjectMissing
from tornado_proxy.storage.store import Write
from tornado_proxy.telemetry import metrics
from tornado_proxy.telemetry.events import (
    Bus,
    Failed,
    ObjectWritten,
    Refused,
    RequestRecord,
    S3Called,
    Served,
    SignInTried,
)
from tornado_proxy.telemetry.metrics import MOST_RULES, MeasuredStore, RequestMetrics, Totals, counts_of


def _asked(method: str = "GET", target: str | None = "site", rule: str | None = None) -> RequestRecord:
    return RequestRecord("id", 0.0, "127.0.0.1", method, "", "/a", 1, target, rule=rule)


@pytest.fixture
def registry():
    """Where metrics are kept."""
    return CollectorRegistry()


@pytest.fixture
def requests(registry):
    """Emits events to what counts requests."""
    bus, metrics = Bus(), RequestMetrics()
    metrics.listen(bus)
    registry.register(metrics)
    return bus.emit


def test_an_answer_is_counted_with_its_bytes_and_time(registry, requests):
    """Status, bytes and duration go to the target."""
    requests(Served(_asked(), 200, sent=7, received=0, seconds=0.5))
    labels = {"target": "site", "method": "GET"}
    assert registry.get_sample_value("tornado_proxy_requests_total", {**labels, "status": "200"}) == 1
    assert registry.get_sample_value("tornado_proxy_sent_bytes_total", {"target": "site"}) == 7
    seconds = {**labels, "class": "2xx"}
    assert registry.get_sample_value("tornado_proxy_request_duration_seconds_sum", seconds) == 0.5


def test_a_method_that_a_client_made_up_is_no_label(registry, requests):
    """Methods that the service does not know are counted together, and so are requests without a target."""
    for method in ("BREW", "STEEP"):
        requests(Refused(_asked(method, None), 405, sent=0, received=0, seconds=0.1, reason="no"))
    labels = {"target": "", "method": "other", "status": "405"}
    assert registry.get_sample_value("tornado_proxy_requests_total", labels) == 2


def test_the_hits_of_a_rewrite_are_counted(registry, requests):
    """A request that a rewrite took counts for it."""
    requests(Served(_asked(rule="press"), 200, sent=0, received=0, seconds=0.1))
    labels = {"target": "site", "rule": "press"}
    assert registry.get_sample_value("tornado_proxy_rewrite_hits_total", labels) == 1


def test_rewrites_beyond_a_bound_are_counted_together(registry, requests):
    """However many rewrites come and go over the years, the series stay bounded."""
    for number in range(MOST_RULES + 5):
        requests(Served(_asked(rule=f"#{number}"), 200, sent=0, received=0, seconds=0.1))
    labels = {"target": "site", "rule": "other"}
    assert registry.get_sample_value("tornado_proxy_rewrite_hits_total", labels) == 5


def test_calls_to_a_bucket_are_counted_by_outcome(registry, requests):
    """The name of a storage error is the outcome."""
    requests(S3Called("site", "open", "TimedOut", 5.0))
    labels = {"target": "site", "call": "open", "outcome": "TimedOut"}
    assert registry.get_sample_value("tornado_proxy_s3_calls_total", labels) == 1


def test_sign_ins_are_counted_by_provider_and_outcome(registry, requests):
    """Each step has series of its own."""
    for event in [SignInTried("staff", "request", "ok")] * 2 + [SignInTried("id", "callback", "refused")]:
        requests(event)
    counted = [
        registry.get_sample_value(
            "tornado_proxy_sign_ins_total", dict(zip(("provider", "step", "outcome"), labels, strict=True))
        )
        for labels in (("staff", "request", "ok"), ("id", "callback", "refused"))
    ]
    assert counted == [2, 1]


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [("ok", "ok"), ("ObjectMissing", "refused"), ("TimedOut", "failed"), ("cancelled", "cancelled")],
)
def test_the_times_of_calls_are_told_apart_by_class(registry, requests, outcome, kind):
    """A time-out does not make the bucket look slow where it answers, nor a missing object make it look fast."""
    requests(S3Called("site", "open", outcome, 5.0))
    labels = {"target": "site", "call": "open", "class": kind}
    assert registry.get_sample_value("tornado_proxy_s3_call_duration_seconds_sum", labels) == 5.0


def test_every_refusal_of_a_store_is_known():
    """Each is the name of a storage error."""
    assert all(hasattr(errors, name) for name in metrics._REFUSALS)


def test_defects_and_requests_in_flight_are_shown(registry, requests):
    """A defect is counted; what is in flight is asked for when somebody wants to know."""
    requests(Failed(_asked(), ValueError()))
    other = CollectorRegistry()
    other.register(RequestMetrics(lambda: 2))
    assert registry.get_sample_value("tornado_proxy_defects_total") == 1
    assert other.get_sample_value("tornado_proxy_requests_in_flight") == 2


async def _chunks():
    yield b"content"


async def _use(store: MeasuredStore) -> bytes:
    await store.put("a", _chunks(), Write())
    await store.head("a", Conditions())
    await store.list("")
    opened = await store.open("a", Conditions())
    content = b"".join([chunk async for chunk in opened.chunks()])
    await opened.close()
    assert await store.presign("a", 60)
    assert await store.presign_upload("a", Write(max_size=1), 60)
    await store.remove("a")
    await store.close()
    return content


def test_calls_are_passed_on_and_told():
    """Each call to the bucket is told with its target and outcome; a signed URL asks nobody."""
    events = []
    assert asyncio.run(_use(MeasuredStore(MemoryStore(), "site", events.append))) == b"content"
    calls = [event for event in events if isinstance(event, S3Called)]
    assert [(event.target, event.call, event.outcome) for event in calls] == [
        ("site", call, "ok") for call in ("put", "head", "list", "open", "remove")
    ]
    assert [event for event in events if event not in calls] == [ObjectWritten("site", "a")] * 2


def test_caches_are_counted_by_target():
    """Results, evictions and bytes of each target that has a cache; without one there is no series."""
    registry = CollectorRegistry()
    caches = {"site": CacheCounts(hit=5, miss=2, revalidated=1, evictions=3, bytes=4096)}
    registry.register(RequestMetrics(caches=caches))
    results = {
        result: registry.get_sample_value("tornado_proxy_cache_requests_total", {"target": "site", "result": result})
        for result in ("hit", "miss", "revalidated")
    }
    assert results == {"hit": 5, "miss": 2, "revalidated": 1}
    assert registry.get_sample_value("tornado_proxy_cache_evictions_total", {"target": "site"}) == 3
    assert registry.get_sample_value("tornado_proxy_cache_bytes", {"target": "site"}) == 4096


def test_a_failure_is_told_and_raised():
    """The outcome is the error's name, and the error is the store's own."""
    events = []
    store = MeasuredStore(MemoryStore(), "site", events.append)
    with pytest.raises(ObjectMissing):
        asyncio.run(store.head("missing", Conditions()))
    assert events[0].outcome == "ObjectMissing"


class _Stuck(MemoryStore):
    async def head(self, key, conditions):
        await asyncio.Event().wait()


async def _cancelled(events) -> None:
    store = MeasuredStore(_Stuck(), "site", events.append)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await store.head("a", Conditions())


def test_a_call_that_is_cancelled_is_told_as_such():
    """A client that leaves in the middle is neither a success nor an error of the bucket."""
    events = []
    asyncio.run(_cancelled(events))
    assert events[0].outcome == "cancelled"


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


def test_the_requests_of_processes_are_added_up(registry, requests):
    """Numbers and histograms of two processes are one view."""
    requests(Served(_asked(), 200, sent=7, received=0, seconds=0.5))
    totals, sums = Totals(), CollectorRegistry()
    sums.register(totals)
    for process in (1, 2):
        totals.take(process, pickle.loads(pickle.dumps(counts_of(registry))))
    labels = {"target": "site", "method": "GET", "class": "2xx"}
    assert sums.get_sample_value("tornado_proxy_sent_bytes_total", {"target": "site"}) == 14
    assert sums.get_sample_value("tornado_proxy_request_duration_seconds_bucket", {**labels, "le": "0.5"}) == 2
