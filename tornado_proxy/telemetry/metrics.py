"""Metrics for Prometheus: of requests, of the service and of processes, which are added up.

No label is chosen by a client.
"""

from __future__ import annotations

import operator
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from platform import python_version
from typing import TypeVar

from prometheus_client import CollectorRegistry, Metric, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from tornado_proxy.storage.cache import CacheCounts
from tornado_proxy.storage.probe import ProbeResult
from tornado_proxy.telemetry.events import (
    Bus,
    Failed,
    Refused,
    Reloaded,
    ReloadFailed,
    ReloadRefused,
    Restored,
    S3Called,
    Served,
    SignInTried,
    WebhookCalled,
)

CACHE_RESULTS = ("hit", "miss", "revalidated")
METHODS = frozenset({"GET", "HEAD", "PUT", "DELETE"})
OTHER = "other"
_REFUSALS = (
    "AccessDenied",
    "NotModified",
    "ObjectExists",
    "ObjectMissing",
    "PreconditionFailed",
    "RangeUnsatisfiable",
    "TooLarge",
)
_S3_CLASSES = {"ok": "ok", "cancelled": "cancelled"} | dict.fromkeys(_REFUSALS, "refused")

MOST_RULES = 1000
"""Rewrites with a series of their own; hits of any more are counted as `other`."""

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600)
"""The upper bounds of a histogram's buckets; there is one more for everything longer."""


Key = TypeVar("Key", bound=tuple[str, ...])


class _Sums:
    """One histogram series, or one pair of byte counters: plain numbers, read at a scrape."""

    __slots__ = ("buckets", "received", "sent", "sum")

    def __init__(self) -> None:
        self.buckets = [0] * (len(SECONDS) + 1)
        self.sum = 0.0
        self.sent = 0
        self.received = 0

    def observe(self, seconds: float) -> None:
        """Adds a duration."""
        self.buckets[bisect_left(SECONDS, seconds)] += 1
        self.sum += seconds


class RequestMetrics(Collector):
    """Counts requests and calls to buckets in the process that answers them.

    A request only adds to numbers, which prometheus_client reads at a scrape. Its own counters look labels up under a
    lock each time, which costs a request ten times as much. `in_flight` is asked how many requests are being answered,
    `caches` are counted by their targets.
    """

    def __init__(self, in_flight: Callable[[], int] = int, caches: Mapping[str, CacheCounts] | None = None) -> None:
        self._caches = {} if caches is None else caches  # it fills up later
        self._requests: dict[tuple[str, str, int], int] = defaultdict(int)
        self._seconds: dict[tuple[str, str, int], _Sums] = defaultdict(_Sums)
        self._bytes: dict[str, _Sums] = defaultdict(_Sums)
        self._hits: dict[tuple[str, str], int] = {}
        self._s3_calls: dict[tuple[str, str, str], int] = defaultdict(int)
        self._s3_seconds: dict[tuple[str, str, str], _Sums] = defaultdict(_Sums)
        self._webhooks: dict[tuple[str, str, str], int] = defaultdict(int)
        self._sign_ins: dict[tuple[str, str, str], int] = defaultdict(int)
        self._defects = 0
        self._in_flight = in_flight

    def listen(self, bus: Bus) -> None:
        """Counts the events of a bus."""
        bus.add(self._count, Served, Refused)
        bus.add(self._count_call, S3Called)
        bus.add(self._count_webhook, WebhookCalled)
        bus.add(self._count_sign_in, SignInTried)
        bus.add(self._count_defect, Failed)

    def describe(self) -> Iterator[Metric]:
        """The metrics without values; called by prometheus_client."""
        return RequestMetrics().collect()

    def collect(self) -> Iterator[Metric]:
        """The metrics; called by prometheus_client."""
        yield counter(
            "tornado_proxy_requests",
            "Requests answered",
            ("target", "method", "status"),
            {(target, method, str(status)): count for (target, method, status), count in self._requests.items()},
        )
        yield _histogram(
            "tornado_proxy_request_duration_seconds",
            "From a request's head to the end of its answer",
            ("target", "method", "class"),
            {(target, method, f"{first}xx"): series for (target, method, first), series in self._seconds.items()},
        )
        sent = {(target,): series.sent for target, series in self._bytes.items()}
        received = {(target,): series.received for target, series in self._bytes.items()}
        yield counter("tornado_proxy_sent_bytes", "Bytes of bodies sent", ("target",), sent)
        yield counter("tornado_proxy_received_bytes", "Bytes of bodies received", ("target",), received)
        yield counter("tornado_proxy_rewrite_hits", "Keys that a rewrite took", ("target", "rule"), self._hits)
        yield counter("tornado_proxy_defects", "Requests that met a defect", (), {(): self._defects})
        yield counter(
            "tornado_proxy_s3_calls", "Calls to a bucket, by outcome", ("target", "call", "outcome"), self._s3_calls
        )
        yield _histogram(
            "tornado_proxy_s3_call_duration_seconds",
            "From a call to a bucket to its answer",
            ("target", "call", "class"),
            self._s3_seconds,
        )
        yield counter(
            "tornado_proxy_webhooks", "Webhooks called, by outcome", ("target", "method", "outcome"), self._webhooks
        )
        yield from self._of_caches()
        yield counter(
            "tornado_proxy_sign_ins", "Steps of sign-ins, by outcome", ("provider", "step", "outcome"), self._sign_ins
        )
        yield GaugeMetricFamily("tornado_proxy_requests_in_flight", "Requests being answered", self._in_flight())

    def _of_caches(self) -> Iterator[Metric]:
        caches = [*self._caches.items()]
        results = {(target, name): getattr(each, name) for target, each in caches for name in CACHE_RESULTS}
        yield counter(
            "tornado_proxy_cache_requests", "GET and HEAD of objects, by result", ("target", "result"), results
        )
        evictions = {(target,): each.evictions for target, each in caches}
        yield counter("tornado_proxy_cache_evictions", "Objects that made way for others", ("target",), evictions)
        size = GaugeMetricFamily("tornado_proxy_cache_bytes", "Memory that cached objects take", labels=["target"])
        for target, each in caches:
            size.add_metric([target], each.bytes)
        yield size

    @property
    def in_flight(self) -> int:
        """The number of requests being answered."""
        return self._in_flight()

    def by_target(self) -> Iterator[tuple[str, list[int], list[int], int, int]]:
        """Yields each target with its answers by class (1xx to 5xx), durations by bucket, bytes sent and received."""
        classes: dict[str, list[int]] = {target: [0] * 5 for target in self._bytes}
        buckets = {target: [0] * (len(SECONDS) + 1) for target in self._bytes}
        for (target, _, status), count in self._requests.items():
            classes[target][status // 100 - 1] += count
        for (target, _, _), series in self._seconds.items():
            buckets[target] = [*map(operator.add, buckets[target], series.buckets)]
        for target, volume in self._bytes.items():
            yield target, classes[target], buckets[target], volume.sent, volume.received

    def _count(self, event: Served | Refused) -> None:
        request = event.request
        target, method = request.target or "", request.method
        if method not in METHODS:
            method = OTHER
        self._requests[target, method, event.status] += 1
        self._seconds[target, method, event.status // 100].observe(event.seconds)
        volume = self._bytes[target]
        volume.sent += event.sent
        volume.received += event.received
        if request.rule is not None:
            hit = (target, request.rule)
            # Bounded, since edits bring new rewrites for years.
            if hit not in self._hits and len(self._hits) >= MOST_RULES:
                hit = (target, OTHER)
            self._hits[hit] = self._hits.get(hit, 0) + 1

    def _count_call(self, event: S3Called) -> None:
        self._s3_calls[event.target, event.call, event.outcome] += 1
        self._s3_seconds[event.target, event.call, _S3_CLASSES.get(event.outcome, "failed")].observe(event.seconds)

    def _count_webhook(self, event: WebhookCalled) -> None:
        self._webhooks[event.target, event.method, event.outcome] += 1

    def _count_sign_in(self, event: SignInTried) -> None:
        self._sign_ins[event.provider, event.step, event.outcome] += 1

    def _count_defect(self, _event: Failed) -> None:
        self._defects += 1


def counter(name: str, text: str, labels: Sequence[str], values: Mapping[Key, int]) -> Metric:
    """A counter by the values of its labels."""
    family = CounterMetricFamily(name, text, labels=labels)
    for key, value in [*values.items()]:
        family.add_metric(key, value)
    return family


def _histogram(name: str, text: str, labels: Sequence[str], values: Mapping[Key, _Sums]) -> Metric:
    family = HistogramMetricFamily(name, text, labels=labels)
    bounds = [*map(floatToGoString, SECONDS), "+Inf"]
    for key, series in [*values.items()]:
        family.add_metric(key, [*zip(bounds, accumulate(series.buckets), strict=True)], series.sum)
    return family


class ServiceMetrics(Collector):
    """Counts reloads, in the process that reads the files.

    `at` is the Unix time in seconds at which the first generation was loaded; `probes` is asked for the last probe of
    each bucket.
    """

    def __init__(
        self, version: str, digest: str, at: float, probes: Callable[[], Iterable[ProbeResult]] = tuple
    ) -> None:
        self._version = version
        self._digest = digest
        self._loaded_at = at
        self._generation = 1
        self._is_successful = True
        self._reloads = dict.fromkeys(("loaded", "refused", "failed"), 0)
        self._probes = probes

    def listen(self, bus: Bus) -> None:
        """Counts the events of a bus."""
        bus.add(self._count, Reloaded, ReloadRefused, Restored, ReloadFailed)

    def collect(self) -> Iterator[Metric]:
        """The metrics; called by prometheus_client."""
        versions = {"version": self._version, "python": python_version()}
        yield _gauge("tornado_proxy_build_info", "Always 1; the labels are versions", versions, 1)
        reloads = {(outcome,): count for outcome, count in self._reloads.items()}
        yield counter("tornado_proxy_reloads", "Reloads of changed files", ("outcome",), reloads)
        yield _gauge("tornado_proxy_generation", "The generation in force", {}, self._generation)
        digest = {"digest": self._digest}
        yield _gauge("tornado_proxy_generation_info", "Always 1; the label is the digest of the files", digest, 1)
        yield _gauge(
            "tornado_proxy_config_last_reload_successful",
            "Whether the files on disk are in force (1 or 0)",
            {},
            self._is_successful,
        )
        yield _gauge(
            "tornado_proxy_config_last_reload_success_timestamp_seconds",
            "When the generation in force was loaded (Unix time)",
            {},
            self._loaded_at,
        )
        yield from self._of_probes()

    def _of_probes(self) -> Iterator[Metric]:
        up = GaugeMetricFamily(
            "tornado_proxy_target_up", "Whether the last probe could use the bucket (1 or 0)", labels=("target",)
        )
        seconds = GaugeMetricFamily(
            "tornado_proxy_target_probe_seconds", "How long the last probe of the bucket took", labels=("target",)
        )
        for result in self._probes():
            up.add_metric((result.target,), result.is_up)
            seconds.add_metric((result.target,), result.seconds)
        yield from (up, seconds)

    def _count(self, event: Reloaded | ReloadRefused | Restored | ReloadFailed) -> None:
        match event:
            case Reloaded():
                self._reloads["loaded"] += 1
                self._generation, self._digest, self._loaded_at = event.generation, event.digest, event.at
            case ReloadRefused():
                self._reloads["refused"] += 1
            case ReloadFailed():
                self._reloads["failed"] += 1
        self._is_successful = isinstance(event, Reloaded | Restored)


class ProcessMetrics(ProcessCollector):
    """The memory, processor time and descriptors of this process, under the names of all Prometheus clients."""

    def __init__(self) -> None:
        super().__init__(registry=None)

    def _boot_time(self) -> float:
        # The library reads /proc/stat, which the units hide (`ProcSubset=pid`), and then has no metrics at all.
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


def _gauge(name: str, text: str, labels: dict[str, str], value: float) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[*labels])
    family.add_metric([*labels.values()], value)
    return family


Counts = tuple[Metric, ...]
"""Everything that a process has counted; can be pickled."""

_Series = tuple[str, tuple[tuple[str, str], ...]]

# Of these the least counts: when a series or a process began, and the limit of each process.
_NOT_ADDED = ("_created", "process_start_time_seconds", "process_max_fds")


def counts_of(registry: CollectorRegistry) -> Counts:
    """The current values of a registry."""
    return tuple(registry.collect())


class Totals(Collector):
    """Adds up processes; counters of ended processes stay, their gauges go."""

    def __init__(self) -> None:
        self._living: dict[Hashable, Counts] = {}
        self._ended: Counts = ()

    def __repr__(self) -> str:
        return f"<Totals of {len(self._living)}>"

    def take(self, process: Hashable, counts: Counts) -> None:
        """Replaces the counts of a process."""
        self._living[process] = counts

    def end(self, process: Hashable) -> None:
        """Keeps the counters of a process that has ended."""
        counts = self._living.pop(process, ())
        self._ended = tuple(_added((*self._ended, *(each for each in counts if each.type != "gauge"))))

    def collect(self) -> Iterator[Metric]:
        """The sums; called by prometheus_client."""
        return _added((*self._ended, *(each for counts in self._living.values() for each in counts)))


def _added(metrics: Iterable[Metric]) -> Iterator[Metric]:
    """One metric for each name, in order of first appearance."""
    sums: dict[str, tuple[Metric, dict[_Series, float]]] = {}
    for metric in metrics:
        _, values = sums.setdefault(metric.name, (metric, {}))
        for sample in metric.samples:
            series = sample.name, tuple(sample.labels.items())
            add = min if sample.name.endswith(_NOT_ADDED) else operator.add
            values[series] = add(values[series], sample.value) if series in values else sample.value
    for metric, values in sums.values():
        total = Metric(metric.name, metric.documentation, metric.type)
        for (name, labels), value in values.items():
            total.add_sample(name, dict(labels), value)
        yield total
