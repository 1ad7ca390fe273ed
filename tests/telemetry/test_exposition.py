"""Tests of metrics as text, and of the sums over several processes."""

from __future__ import annotations

import pickle

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from tornado_proxy.storage.probe import BucketProblem, ProbeResult
from tornado_proxy.telemetry.events import Bus, Failed, ReloadOutcome, ReloadReport, RequestRecord
from tornado_proxy.telemetry.exposition import ProcessMetrics, Readings, ServiceMetrics, added, as_text


def _process(**requests_by_target):
    """Returns the metrics of a process with these numbers of requests by target, and one request in flight."""
    registry = CollectorRegistry()
    requests = Counter("requests", "Requests", ["target"], registry=registry)
    seconds = Histogram("seconds", "Times", ["target"], registry=registry, buckets=(1, 2))
    Gauge("running", "Requests that run", registry=registry).set(1)
    for target, count in requests_by_target.items():
        for _ in range(count):
            requests.labels(target).inc()
            seconds.labels(target).observe(1.5)
    return pickle.loads(pickle.dumps(tuple(registry.collect())))


def test_metrics_of_processes_are_added_up():
    """The text has the sums over all processes, and the series that only one process has."""
    text = as_text(added((*_process(a=2), *_process(a=3, b=1)))).decode()
    lines = text.splitlines()
    assert {'requests_total{target="a"} 5.0', 'requests_total{target="b"} 1.0', "running 2.0"} <= {*lines}
    assert 'seconds_bucket{le="2.0",target="a"} 5.0' in lines


def test_creation_times_are_not_added_up():
    """The creation time of a series is that of the first process."""
    first = _process(a=1)
    created, sums = _last_values(first)["requests_created"], _last_values(added((*first, *_process(a=1))))
    assert (sums["requests_created"], sums["requests_total"]) == (created, 2)


def _last_values(metrics) -> dict[str, float]:
    """Returns the last value of each metric."""
    return {sample.name: sample.value for metric in metrics for sample in metric.samples}


@pytest.fixture
def registry():
    """A registry of metrics."""
    return CollectorRegistry()


@pytest.fixture
def emit(registry):
    """Emits events to the metrics of a service that started at 100 seconds."""
    bus, metrics = Bus(), ServiceMetrics("1.2", "abc", 100.0)
    metrics.listen(bus)
    registry.register(metrics)
    return bus.emit


def _reload_values(registry) -> dict[str, float | None]:
    names = {
        "generation": "tornado_proxy_generation",
        "successful": "tornado_proxy_config_last_reload_successful",
        "at": "tornado_proxy_config_last_reload_success_timestamp_seconds",
    }
    return {key: registry.get_sample_value(name) for key, name in names.items()}


def test_a_start_counts_as_a_success(registry, emit):
    """The first generation counts as a successful reload at the time of the start."""
    assert _reload_values(registry) == {"generation": 1, "successful": 1, "at": 100}


def test_a_refused_edit_keeps_the_generation(registry, emit):
    """After a refused edit, the generation and the time of the last success stay."""
    emit(ReloadReport(ReloadOutcome.REFUSED, 1, since=100.0))
    assert _reload_values(registry) == {"generation": 1, "successful": 0, "at": 100}
    assert registry.get_sample_value("tornado_proxy_reloads_total", {"outcome": "refused"}) == 1


def test_a_defect_of_a_reload_is_counted(registry, emit):
    """A reload that fails with a defect is counted apart from refused edits."""
    emit(ReloadReport(ReloadOutcome.FAILED, 1, since=100.0))
    assert _reload_values(registry)["successful"] == 0
    assert registry.get_sample_value("tornado_proxy_reloads_total", {"outcome": "failed"}) == 1


def test_a_reverted_edit_is_a_success(registry, emit):
    """If a refused edit is reverted, the files on disk are in force again without a load."""
    emit(ReloadReport(ReloadOutcome.REFUSED, 1, since=100.0))
    emit(ReloadReport(ReloadOutcome.REVERTED, 1, since=100.0))
    assert _reload_values(registry) == {"generation": 1, "successful": 1, "at": 100}
    assert registry.get_sample_value("tornado_proxy_reloads_total", {"outcome": "loaded"}) == 0


def test_a_new_generation_replaces_the_digest(registry, emit):
    """The series of the previous digest ends, so a fleet can be counted by digest."""
    emit(ReloadReport(ReloadOutcome.LOADED, 2, "def", since=200.0))
    assert _reload_values(registry) == {"generation": 2, "successful": 1, "at": 200}
    assert registry.get_sample_value("tornado_proxy_generation_info", {"digest": "def"}) == 1
    assert registry.get_sample_value("tornado_proxy_generation_info", {"digest": "abc"}) is None


def test_a_failed_request_does_not_change_the_metrics_of_reloads(registry, emit):
    """A failed request doesn't affect the metrics of reloads."""
    values = _reload_values(registry)
    emit(Failed(RequestRecord("id", 0.0, "127.0.0.1", "GET", "", "/a", 1), ValueError()))
    assert _reload_values(registry) == values


def test_the_version_is_a_label(registry, emit):
    """The metric of the build has the version as a label."""
    (build,) = (metric for metric in registry.collect() if metric.name == "tornado_proxy_build_info")
    assert build.samples[0].labels["version"] == "1.2"


def test_each_bucket_is_up_or_down(registry):
    """The last probe of each target is exposed; a target without a probe has no series."""
    problem = BucketProblem("no-bucket", "there is no bucket `b`", "create it")
    results = [ProbeResult("site", "a", 0.0, 0.5), ProbeResult("team", "b", 0.0, 0.1, (), problem)]
    registry.register(ServiceMetrics("1.2", "abc", 100.0, Readings(lambda: results)))
    values = {name: registry.get_sample_value("tornado_proxy_target_up", {"target": name}) for name in ("site", "team")}
    assert values == {"site": 1, "team": 0}
    assert registry.get_sample_value("tornado_proxy_target_probe_seconds", {"target": "site"}) == 0.5


def test_a_process_has_metrics_without_proc_stat(registry, monkeypatch):
    """The metrics of a process don't need /proc/stat, which the systemd units hide (`ProcSubset=pid`)."""
    metrics = ProcessMetrics()
    monkeypatch.setattr("prometheus_client.process_collector.open", _without_stat, raising=False)
    registry.register(ProcessMetrics())
    assert registry.get_sample_value("process_resident_memory_bytes") > 1e6
    assert abs(_start_time(metrics) - registry.get_sample_value("process_start_time_seconds")) < 1


def _without_stat(path, *arguments):
    if str(path) == "/proc/stat":
        raise PermissionError(path)
    return open(path, *arguments)  # noqa: PTH123 - what the library calls


def _start_time(metrics):
    return next(metric.samples[0].value for metric in metrics.collect() if metric.name == "process_start_time_seconds")


def test_processes_are_added_up_but_for_their_start():
    """The memory of processes is added up; the start of the service is that of its first process."""
    counts = tuple(ProcessMetrics().collect())
    single, total = _last_values(counts), _last_values(added((*counts, *counts)))
    assert total["process_resident_memory_bytes"] == 2 * single["process_resident_memory_bytes"]
    assert total["process_start_time_seconds"] == single["process_start_time_seconds"]
