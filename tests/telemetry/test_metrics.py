"""Metrics: events are counted, and nothing that a client chooses becomes a label."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry
from serving import rule_set

from tornado_proxy.storage import errors
from tornado_proxy.storage.cache import CacheCounts
from tornado_proxy.telemetry import metrics
from tornado_proxy.telemetry.events import (
    Bus,
    Failed,
    Refused,
    RequestRecord,
    S3Called,
    Served,
    SignInTried,
)
from tornado_proxy.telemetry.exposition import added
from tornado_proxy.telemetry.metrics import MOST_RULES, RequestMetrics

REWRITE = rule_set('rewrite press `^/a` -> "/x"').rewrites[0]


def _asked(method: str = "GET", target: str | None = "site", rule: str | None = None) -> RequestRecord:
    rewrite = replace(REWRITE, name=rule) if rule else None
    return RequestRecord("id", 0.0, "127.0.0.1", method, "", "/a", 1, target, rewrite=rewrite)


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
def test_the_times_of_calls_are_distinguished_by_class(registry, requests, outcome, kind):
    """A time-out does not make the bucket look slow where it answers, nor a missing object make it look fast."""
    requests(S3Called("site", "open", outcome, 5.0))
    labels = {"target": "site", "call": "open", "class": kind}
    assert registry.get_sample_value("tornado_proxy_s3_call_duration_seconds_sum", labels) == 5.0


def test_every_refusal_of_a_store_is_known():
    """Each is the name of a storage error."""
    assert all(hasattr(errors, name) for name in metrics._CAUSED_BY_CLIENTS)


def test_defects_and_requests_in_flight_are_shown(registry, requests):
    """A defect is counted; what is in flight is asked for when somebody wants to know."""
    requests(Failed(_asked(), ValueError()))
    other = CollectorRegistry()
    other.register(RequestMetrics(lambda: 2))
    assert registry.get_sample_value("tornado_proxy_defects_total") == 1
    assert other.get_sample_value("tornado_proxy_requests_in_flight") == 2


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


def test_the_requests_of_processes_are_added_up(registry, requests):
    """Numbers and histograms of two processes are one view."""
    requests(Served(_asked(), 200, sent=7, received=0, seconds=0.5))
    counts = pickle.loads(pickle.dumps([*registry.collect()]))
    samples = [sample for metric in added((*counts, *counts)) for sample in metric.samples]
    sums = {(each.name, each.labels.get("le")): each.value for each in samples}
    assert sums["tornado_proxy_sent_bytes_total", None] == 14
    assert sums["tornado_proxy_request_duration_seconds_bucket", "0.5"] == 2
