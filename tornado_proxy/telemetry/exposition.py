"""Metrics in Prometheus's text format: of the service, and of processes, which are added up."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from platform import python_version
from types import SimpleNamespace
from typing import TypeVar, cast

import msgspec
from prometheus_client import Metric, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from tornado_proxy.routing.compare import Kind
from tornado_proxy.storage.probe import ProbeResult
from tornado_proxy.telemetry.events import Bus, ReloadReport
from tornado_proxy.telemetry.staging import SAMPLES, StagedCounts

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


class Readings(msgspec.Struct, frozen=True):
    """Functions that are called when the metrics are asked for.

    They return the last probe of each bucket, the ends of the certificates by listener and name, how many workers have
    ended by themselves, whether the last good copy cannot be kept, and of each place of rules in a bucket whether the
    last poll succeeded.
    """

    probes: Callable[[], Collection[ProbeResult]] = tuple
    not_after: Callable[[], Mapping[tuple[str, str], float]] = dict
    worker_ends: Callable[[], int] = int
    has_trouble: Callable[[], bool] = bool
    rules_up: Callable[[], Mapping[str, bool]] = dict

    def collect(self) -> Iterator[Metric]:
        """Yields the metrics."""
        probes = self.probes()
        up = {(each.target,): each.is_up for each in probes}
        yield gauge("tornado_proxy_target_up", "Whether the last probe could use the bucket (1 or 0)", ("target",), up)
        seconds = {(each.target,): each.seconds for each in probes}
        yield gauge(
            "tornado_proxy_target_probe_seconds", "How long the last probe of the bucket took", ("target",), seconds
        )
        yield gauge(
            "tornado_proxy_certificate_not_after_seconds",
            "When a certificate in force expires (Unix time)",
            ("listener", "name"),
            self.not_after(),
        )
        ends = {(): self.worker_ends()}
        yield counter("tornado_proxy_worker_ends", "Workers that ended without being asked to", (), ends)
        trouble = {(): self.has_trouble()}
        yield gauge(
            "tornado_proxy_last_good_trouble", "Whether the last good copy cannot be kept (1 or 0)", (), trouble
        )
        rules_up = {(place,): is_up for place, is_up in self.rules_up().items()}
        yield gauge(
            "tornado_proxy_rules_up",
            "Whether the last poll of rules in a bucket succeeded (1 or 0)",
            ("place",),
            rules_up,
        )


class ServiceMetrics:
    """Counts reloads, and shows the generation and the readings.

    `at` is the Unix time in seconds of the first generation.
    """

    def __init__(self, version: str, digest: str, at: float, readings: Readings | None = None) -> None:
        self._version = version
        self._digest = digest
        self._loaded_at = at
        self._generation = 1
        self._is_successful = True
        self._reloads = dict.fromkeys(("loaded", "refused", "failed", "staged", "promoted", "discarded"), 0)
        self._readings = readings or Readings()

    def listen(self, bus: Bus) -> None:
        """Counts the events of a bus."""
        bus.add(self._count, ReloadReport)

    def collect(self) -> Iterator[Metric]:
        """Yields the metrics."""
        versions = {(self._version, python_version()): 1}
        yield gauge("tornado_proxy_build_info", "Always 1; the labels are versions", ("version", "python"), versions)
        reloads = {(outcome,): count for outcome, count in self._reloads.items()}
        yield counter("tornado_proxy_reloads", "Reloads of changed files", ("outcome",), reloads)
        yield gauge("tornado_proxy_generation", "The generation in force", (), {(): self._generation})
        digest = {(self._digest,): 1}
        yield gauge(
            "tornado_proxy_generation_info", "Always 1; the label is the digest of the files", ("digest",), digest
        )
        yield gauge(
            "tornado_proxy_config_last_reload_successful",
            "Whether the files on disk are in force (1 or 0)",
            (),
            {(): self._is_successful},
        )
        yield gauge(
            "tornado_proxy_config_last_reload_success_timestamp_seconds",
            "When the generation in force was loaded (Unix time)",
            (),
            {(): self._loaded_at},
        )
        yield from self._readings.collect()

    def _count(self, report: ReloadReport) -> None:
        if report.outcome.value in self._reloads:
            self._reloads[report.outcome.value] += 1
        self._is_successful = report.is_in_force
        self._generation, self._loaded_at = report.generation, report.since
        if report.is_in_force:
            self._digest = report.digest


def staged_metrics(counts: StagedCounts | None) -> Iterator[Metric]:
    """Yields the metrics of the staged generation; they are not there if nothing is staged."""
    if counts is not None:
        kinds = {(kind.value,): counts.kinds[kind.value] for kind in Kind}
        text = "Requests that were decided with the staged generation too"
        yield gauge("tornado_proxy_staged_requests", text, ("kind",), kinds)
        samples = {(result,): counts.samples[result] for result in SAMPLES}
        yield gauge("tornado_proxy_staged_keys", "New keys that were asked for by HEAD", ("result",), samples)


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
