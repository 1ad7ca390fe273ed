"""Metrics in Prometheus's text format: of the service, and of processes, which are added up."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from platform import python_version
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import msgspec
from prometheus_client import Metric, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from tornado_proxy.storage.probe import ProbeResult

Key = TypeVar("Key", bound=tuple[str, ...])

_Sample = tuple[str, tuple[tuple[str, str], ...]]

# Of these the least counts: when a series or a process began, and the limit of each process.
_NOT_ADDED = ("_created", "process_start_time_seconds", "process_max_fds")
_LARGEST = "tornado_proxy_descriptors_ratio"  # of the process that has fewest left


def as_text(metrics: Iterable[Metric]) -> bytes:
    """Writes metrics in Prometheus's text format."""
    return generate_latest(cast("Collector", SimpleNamespace(collect=lambda: metrics)))


def counter(name: str, text: str, labels: Sequence[str], values: Mapping[Key, int]) -> Metric:
    """A counter by the values of its labels."""
    family = CounterMetricFamily(name, text, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def gauge(name: str, text: str, labels: Sequence[str], values: Mapping[Key, float]) -> Metric:
    """A gauge by the values of its labels."""
    family = GaugeMetricFamily(name, text, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


Observed = tuple[Sequence[int], float]
"""A series of a histogram: its counts by bucket, one more than there are bounds, and the sum."""


def histogram(
    name: str, text: str, labels: Sequence[str], bounds: Sequence[float], values: Mapping[Key, Observed]
) -> Metric:
    """A histogram by the values of its labels."""
    family = HistogramMetricFamily(name, text, labels=labels)
    names = [*map(floatToGoString, bounds), "+Inf"]
    for key, (buckets, total) in values.items():
        family.add_metric(key, [*zip(names, accumulate(buckets), strict=True)], total)
    return family


def added(metrics: Iterable[Metric], covers: Callable[[Mapping[str, str]], bool] = lambda _: True) -> Iterator[Metric]:
    """Adds up the metrics of processes: yields one for each name, in order of first appearance.

    Series are left out unless `covers` is true for their labels.
    """
    sums: dict[str, tuple[Metric, dict[_Sample, float]]] = {}
    for metric in metrics:
        _, values = sums.setdefault(metric.name, (metric, {}))
        for sample in filter(lambda each: covers(each.labels), metric.samples):
            series = sample.name, tuple(sample.labels.items())
            add = min if sample.name.endswith(_NOT_ADDED) else max if sample.name == _LARGEST else operator.add
            values[series] = add(values[series], sample.value) if series in values else sample.value
    for metric, values in sums.values():
        total = Metric(metric.name, metric.documentation, metric.type)
        for (name, labels), value in values.items():
            total.add_sample(name, dict(labels), value)
        yield total


RELOADS = ("loaded", "refused", "failed", "renewed")  # the outcomes of reloads that are counted


class ServiceState(msgspec.Struct, frozen=True):
    """The state of the service at a scrape; times are Unix times in seconds."""

    version: str
    digest: str
    generation: int
    loaded_at: float
    is_current: bool = True  # whether the files on disk are in force
    reloads: Mapping[str, int] = {}  # by outcome
    probes: Collection[ProbeResult] = ()
    not_after: Mapping[tuple[str, str], float] = {}  # of certificates, by listener and name
    worker_ends: int = 0
    last_good_trouble: bool = False


def service_metrics(state: ServiceState) -> Iterator[Metric]:
    """Yields the metrics of the service."""
    reloads = {(outcome,): state.reloads.get(outcome, 0) for outcome in RELOADS}
    yield counter("tornado_proxy_reloads", "Reloads of changed files", ("outcome",), reloads)
    ends = {(): state.worker_ends}
    yield counter("tornado_proxy_worker_ends", "Workers that ended without being asked to", (), ends)
    versions = {(state.version, python_version()): 1}
    up = {(each.target,): each.is_up for each in state.probes}
    seconds = {(each.target,): each.seconds for each in state.probes}
    in_force = "Whether the files on disk are in force (1 or 0)"
    loaded = "When the generation in force was loaded (Unix time)"
    expires = "When a certificate in force expires (Unix time)"
    gauges: list[tuple[str, str, tuple[str, ...], Mapping[Any, float]]] = [
        ("build_info", "Always 1; the labels are versions", ("version", "python"), versions),
        ("generation", "The generation in force", (), {(): state.generation}),
        ("generation_info", "Always 1; the label is the digest of the files", ("digest",), {(state.digest,): 1}),
        ("config_last_reload_successful", in_force, (), {(): state.is_current}),
        ("config_last_reload_success_timestamp_seconds", loaded, (), {(): state.loaded_at}),
        ("target_up", "Whether the last probe could use the bucket (1 or 0)", ("target",), up),
        ("target_probe_seconds", "How long the last probe of the bucket took", ("target",), seconds),
        ("certificate_not_after_seconds", expires, ("listener", "name"), state.not_after),
        ("last_good_trouble", "Whether the last good copy cannot be kept (1 or 0)", (), {(): state.last_good_trouble}),
    ]
    for name, text, labels, values in gauges:
        yield gauge(f"tornado_proxy_{name}", text, labels, values)


class ProcessMetrics(ProcessCollector):
    """The memory, processor time and descriptors of this process, under the names of all Prometheus clients."""

    def __init__(self) -> None:
        super().__init__(registry=None)

    def _boot_time(self) -> float:
        # The library reads /proc/stat, which the units hide (`ProcSubset=pid`), and then has no metrics at all.
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)

    def collect(self) -> Iterator[Metric]:
        """Yields the metrics, and the share of descriptors that is open."""
        families = [*super().collect()]
        yield from families
        counts = {family.name: family.samples[0].value for family in families if family.samples}
        if limit := counts.get("process_max_fds"):
            ratio = {(): counts.get("process_open_fds", 0) / limit}
            yield gauge(_LARGEST, "The share of its descriptors that a process has open, the largest of all", (), ratio)
