"""Tests of metrics as text, and of the sums over several processes."""

import pickle
from platform import python_version

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from tornado_proxy.storage.probe import BucketProblem, ProbeResult
from tornado_proxy.telemetry.exposition import ProcessMetrics, ServiceState, added, as_text, service_metrics


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
    text = as_text(added((*_process(a=2), *_process(a=3, b=1)))).decode()
    lines = text.splitlines()
    assert {'requests_total{target="a"} 5.0', 'requests_total{target="b"} 1.0', "running 2.0"} <= {*lines}
    assert 'seconds_bucket{le="2.0",target="a"} 5.0' in lines


def test_creation_times_are_not_added_up():
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


def _value(name, labels=None, **state) -> float | None:
    """Returns the value of a metric of a service in this state."""
    state = ServiceState(**{"version": "1.2", "digest": "abc", "generation": 1, "loaded_at": 100.0, **state})
    samples = [each for metric in service_metrics(state) for each in metric.samples]
    found = (each.value for each in samples if (each.name, each.labels) == (f"tornado_proxy_{name}", labels or {}))
    return next(found, None)


@pytest.mark.parametrize(
    ("name", "labels", "state", "value"),
    [
        ("generation_info", {"digest": "def"}, {"digest": "def"}, 1),
        ("build_info", {"version": "1.2", "python": python_version()}, {}, 1),
        ("config_last_reload_successful", {}, {"is_current": True}, 1),
        ("config_last_reload_successful", {}, {"is_current": False}, 0),
    ],
)
def test_the_state_of_a_service_has_metrics(name, labels, state, value):
    """A fleet can be counted by digest and by version; files on disk are in force or not."""
    assert _value(name, labels, **state) == value


def test_each_bucket_is_up_or_down():
    """The last probe of each target is exposed; a target without a probe has no series."""
    problem = BucketProblem("no-bucket", "there is no bucket `b`", "create it")
    probes = [ProbeResult("site", "a", 0.0, 0.5), ProbeResult("team", "b", 0.0, 0.1, (), problem)]
    values = {name: _value("target_up", {"target": name}, probes=probes) for name in ("site", "team", "other")}
    assert values == {"site": 1, "team": 0, "other": None}
    assert _value("target_probe_seconds", {"target": "site"}, probes=probes) == 0.5


def test_a_process_has_metrics_without_proc_stat(registry, monkeypatch):
    """The metrics of a process don't need /proc/stat, which the systemd units hide (`ProcSubset=pid`)."""
    metrics = ProcessMetrics()
    monkeypatch.setattr("prometheus_client.process_collector.open", _without_stat, raising=False)
    registry.register(ProcessMetrics())
    assert registry.get_sample_value("process_resident_memory_bytes") > 1e6
    began = next(metric.samples[0].value for metric in metrics.collect() if metric.name == "process_start_time_seconds")
    assert abs(began - registry.get_sample_value("process_start_time_seconds")) < 1


def _without_stat(path, *arguments):
    if str(path) == "/proc/stat":
        raise PermissionError(path)
    return open(path, *arguments)  # noqa: PTH123 - what the library calls


def test_processes_are_added_up_but_for_their_start():
    counts = tuple(ProcessMetrics().collect())
    single, total = _last_values(counts), _last_values(added((*counts, *counts)))
    assert total["process_resident_memory_bytes"] == 2 * single["process_resident_memory_bytes"]
    assert total["process_start_time_seconds"] == single["process_start_time_seconds"]
