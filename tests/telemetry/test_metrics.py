"""Metrics: events are counted, and nothing that a client chooses becomes a label."""

from __future__ import annotations

import pickle

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.storage import errors
from tornado_proxy.storage.cache import CacheCounts
from tornado_proxy.storage.probe import BucketProblem, ProbeResult
from tornado_proxy.telemetry import metrics
from tornado_proxy.telemetry.events import (
    Bus,
    Failed,
    Refused,
    Reloaded,
    ReloadFailed,
    ReloadRefused,
    RequestRecord,
    Restored,
    S3Called,
    Served,
    SignInTried,
)
from tornado_proxy.telemetry.metrics import (
    MOST_RULES,
    ProcessMetrics,
    RequestMetrics,
    ServiceMetrics,
    Totals,
    counts_of,
)


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


@pytest.fixture
def emit(registry):
    """Emits events to the metrics of a service that started at 100 seconds."""
    bus, metrics = Bus(), ServiceMetrics("1.2", "abc", 100.0)
    metrics.listen(bus)
    registry.register(metrics)
    return bus.emit


def _values(registry) -> dict[str, float | None]:
    names = {
        "generation": "tornado_proxy_generation",
        "successful": "tornado_proxy_config_last_reload_successful",
        "at": "tornado_proxy_config_last_reload_success_timestamp_seconds",
    }
    return {word: registry.get_sample_value(name) for word, name in names.items()}


def test_a_start_counts_as_a_success(registry, emit):
    """The first generation is in force since it was loaded."""
    assert _values(registry) == {"generation": 1, "successful": 1, "at": 100}


def test_a_refused_edit_keeps_the_generation(registry, emit):
    """The files on disk are not in force; when the last success was stays."""
    emit(ReloadRefused(1, (Diagnostic("x", "y"),)))
    assert _values(registry) == {"generation": 1, "successful": 0, "at": 100}
    assert registry.get_sample_value("tornado_proxy_reloads_total", {"outcome": "refused"}) == 1


def test_a_defect_of_a_reload_is_counted(registry, emit):
    """It is no success, and counts apart from refused edits."""
    emit(ReloadFailed(1, ValueError()))
    assert _values(registry)["successful"] == 0
    assert registry.get_sample_value("tornado_proxy_reloads_total", {"outcome": "failed"}) == 1


def test_a_reverted_edit_is_a_success(registry, emit):
    """The files on disk are in force again, and nothing was loaded."""
    emit(ReloadRefused(1, ()))
    emit(Restored(1))
    assert _values(registry) == {"generation": 1, "successful": 1, "at": 100}
    assert registry.get_sample_value("tornado_proxy_reloads_total", {"outcome": "loaded"}) == 0


def test_a_new_generation_has_a_digest_of_its_own(registry, emit):
    """The series of the digest before is gone, so that a fleet can be counted by digest."""
    emit(Reloaded(2, 0.1, rewrites=3, at=200.0, digest="def"))
    assert _values(registry) == {"generation": 2, "successful": 1, "at": 200}
    assert registry.get_sample_value("tornado_proxy_generation_info", {"digest": "def"}) == 1
    assert registry.get_sample_value("tornado_proxy_generation_info", {"digest": "abc"}) is None


def test_events_of_requests_change_nothing(registry, emit):
    """A failed request says nothing of the files."""
    before = _values(registry)
    emit(Failed(RequestRecord("id", 0.0, "127.0.0.1", "GET", "", "/a", 1), ValueError()))
    assert _values(registry) == before


def test_the_version_is_a_label(registry, emit):
    """Dashboards show which versions run where."""
    (build,) = (each for each in registry.collect() if each.name == "tornado_proxy_build_info")
    assert build.samples[0].labels["version"] == "1.2"


def test_each_bucket_is_up_or_down(registry):
    """The last probe of each target is shown, and targets without one are not."""
    problem = BucketProblem("no-bucket", "there is no bucket `b`", "create it")
    results = [ProbeResult("site", "a", 0.0, 0.5), ProbeResult("team", "b", 0.0, 0.1, (), problem)]
    registry.register(ServiceMetrics("1.2", "abc", 100.0, lambda: results))
    shown = {name: registry.get_sample_value("tornado_proxy_target_up", {"target": name}) for name in ("site", "team")}
    assert shown == {"site": 1, "team": 0}
    assert registry.get_sample_value("tornado_proxy_target_probe_seconds", {"target": "site"}) == 0.5


def test_a_process_has_metrics_where_proc_stat_is_hidden(registry, monkeypatch):
    """The units show a process nothing of /proc but itself."""
    metrics = ProcessMetrics()
    monkeypatch.setattr("prometheus_client.process_collector.open", _without_stat, raising=False)
    registry.register(ProcessMetrics())
    assert registry.get_sample_value("process_resident_memory_bytes") > 1e6
    assert abs(_start(metrics) - registry.get_sample_value("process_start_time_seconds")) < 1


def _without_stat(path, *more):
    if str(path) == "/proc/stat":
        raise PermissionError(path)
    return open(path, *more)  # noqa: PTH123 - what the library calls


def _start(metrics):
    return next(each.samples[0].value for each in metrics.collect() if each.name == "process_start_time_seconds")


def test_processes_are_added_up_but_for_their_start():
    """Memory adds up; the service started when its first process did."""
    counts, totals = tuple(ProcessMetrics().collect()), Totals()
    totals.take(1, counts)
    totals.take(2, counts)
    one, both = (
        {sample.name: sample.value for metric in metrics for sample in metric.samples}
        for metrics in (counts, totals.collect())
    )
    assert both["process_resident_memory_bytes"] == 2 * one["process_resident_memory_bytes"]
    assert both["process_start_time_seconds"] == one["process_start_time_seconds"]
