"""Metrics as text, and those of several processes added up."""

from __future__ import annotations

import pickle

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from tornado_proxy.storage.probe import BucketProblem, ProbeResult
from tornado_proxy.telemetry.events import Bus, Failed, ReloadOutcome, ReloadReport, RequestRecord
from tornado_proxy.telemetry.exposition import ProcessMetrics, ServiceMetrics, added, as_text


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
    return pickle.loads(pickle.dumps(tuple(registry.collect())))


def test_what_several_count_is_added_up():
    """Series that only one process has stand beside the sums."""
    text = as_text(added((*_process(a=2), *_process(a=3, b=1)))).decode()
    lines = text.splitlines()
    assert {'requests_total{target="a"} 5.0', 'requests_total{target="b"} 1.0', "running 2.0"} <= {*lines}
    assert 'seconds_bucket{le="2.0",target="a"} 5.0' in lines


def test_a_series_began_when_the_first_process_began_it():
    """Times are not added up."""
    first = _process(a=1)
    began, sums = _values_of(first)["requests_created"], _values_of(added((*first, *_process(a=1))))
    assert (sums["requests_created"], sums["requests_total"]) == (began, 2)


def _values_of(metrics) -> dict[str, float]:
    """The last value of each name."""
    return {sample.name: sample.value for metric in metrics for sample in metric.samples}


@pytest.fixture
def registry():
    """Where metrics are kept."""
    return CollectorRegistry()


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
    emit(ReloadReport(ReloadOutcome.REFUSED, 1, since=100.0))
    assert _values(registry) == {"generation": 1, "successful": 0, "at": 100}
    assert registry.get_sample_value("tornado_proxy_reloads_total", {"outcome": "refused"}) == 1


def test_a_defect_of_a_reload_is_counted(registry, emit):
    """It is no success, and counts apart from refused edits."""
    emit(ReloadReport(ReloadOutcome.FAILED, 1, since=100.0))
    assert _values(registry)["successful"] == 0
    assert registry.get_sample_value("tornado_proxy_reloads_total", {"outcome": "failed"}) == 1


def test_a_reverted_edit_is_a_success(registry, emit):
    """The files on disk are in force again, and nothing was loaded."""
    emit(ReloadReport(ReloadOutcome.REFUSED, 1, since=100.0))
    emit(ReloadReport(ReloadOutcome.REVERTED, 1, since=100.0))
    assert _values(registry) == {"generation": 1, "successful": 1, "at": 100}
    assert registry.get_sample_value("tornado_proxy_reloads_total", {"outcome": "loaded"}) == 0


def test_a_new_generation_has_a_digest_of_its_own(registry, emit):
    """The series of the digest before is gone, so that a fleet can be counted by digest."""
    emit(ReloadReport(ReloadOutcome.LOADED, 2, "def", since=200.0))
    assert _values(registry) == {"generation": 2, "successful": 1, "at": 200}
    assert registry.get_sample_value("tornado_proxy_generation_info", {"digest": "def"}) == 1
    assert registry.get_sample_value("tornado_proxy_generation_info", {"digest": "abc"}) is None


def test_events_of_requests_change_nothing(registry, emit):
    """A failed request says nothing of the files."""
    before = _values(registry)
    emit(Failed(RequestRecord("id", 0.0, "127.0.0.1", "GET", "", "/a", 1), ValueError()))
    assert _values(registry) == before


def test_the_version_is_a_label(registry, emit):
    """Dashboards can show the version of each machine."""
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
    """The units hide /proc/stat (`ProcSubset=pid`)."""
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
    counts = tuple(ProcessMetrics().collect())
    one, both = _values_of(counts), _values_of(added((*counts, *counts)))
    assert both["process_resident_memory_bytes"] == 2 * one["process_resident_memory_bytes"]
    assert both["process_start_time_seconds"] == one["process_start_time_seconds"]
