"""Metrics in Prometheus's text format: counted per process, added up over processes; no label is chosen by a client."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.registry import Collector

from tornado_proxy.routing.keys import ObjectKey
from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.semantics.ranges import ByteRange
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.storage.store import ObjectInfo, Opened, Page, Store, Stored, Write
from tornado_proxy.telemetry.events import (
    Event,
    Failed,
    InFlight,
    Refused,
    Reloaded,
    ReloadFailed,
    ReloadRefused,
    RequestRecord,
    Restored,
    S3Called,
    Served,
)

METHODS = frozenset({"GET", "HEAD", "PUT", "DELETE"})
OTHER = "other"
MOST_RULES = 1000
"""Rewrites with a series of their own; hits of any more are counted as `other`."""

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600)


class RequestMetrics:
    """The listener that counts requests and calls to buckets, in the process that answers them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._rules: set[tuple[str, str]] = set()
        self._requests = Counter(
            "tornado_proxy_requests", "Requests answered", ["target", "method", "status"], registry=registry
        )
        self._seconds = Histogram(
            "tornado_proxy_request_duration_seconds",
            "From a request's head to the end of its answer",
            ["target", "method"],
            registry=registry,
            buckets=_SECONDS,
        )
        self._sent = Counter("tornado_proxy_sent_bytes", "Bytes of bodies sent", ["target"], registry=registry)
        self._received = Counter(
            "tornado_proxy_received_bytes", "Bytes of bodies received", ["target"], registry=registry
        )
        self._hits = Counter(
            "tornado_proxy_rewrite_hits", "Keys that a rewrite took", ["target", "rule"], registry=registry
        )
        self._defects = Counter("tornado_proxy_defects", "Requests that met a defect", registry=registry)
        self._s3_calls = Counter(
            "tornado_proxy_s3_calls", "Calls to a bucket, by outcome", ["target", "call", "outcome"], registry=registry
        )
        self._s3_seconds = Histogram(
            "tornado_proxy_s3_call_duration_seconds",
            "From a call to a bucket to its answer",
            ["target", "call"],
            registry=registry,
            buckets=_SECONDS,
        )
        self._in_flight = Gauge("tornado_proxy_requests_in_flight", "Requests being answered", registry=registry)

    def __call__(self, event: Event) -> None:
        """Counts an event."""
        match event:
            case Served() | Refused():
                self._count(event)
            case S3Called(target, call, outcome, seconds):
                self._s3_calls.labels(target, call, outcome).inc()
                self._s3_seconds.labels(target, call).observe(seconds)
            case InFlight(requests):
                self._in_flight.set(requests)
            case Failed():
                self._defects.inc()
            case _:
                pass

    def _count(self, event: Served | Refused) -> None:
        target, method = event.request.target or "", event.request.method
        method = method if method in METHODS else OTHER
        self._requests.labels(target, method, str(event.status)).inc()
        self._seconds.labels(target, method).observe(event.seconds)
        self._sent.labels(target).inc(event.sent)
        self._received.labels(target).inc(event.received)
        if event.request.rule is not None:
            self._hits.labels(*self._rule(event.request)).inc()

    def _rule(self, request: RequestRecord) -> tuple[str, str]:
        """The labels of a rewrite; bounded, since edits bring new ones for years."""
        labels = (request.target or "", request.rule or "")
        if labels not in self._rules:
            if len(self._rules) >= MOST_RULES:
                return labels[0], OTHER
            self._rules.add(labels)
        return labels


class ReloadMetrics:
    """The listener that counts reloads, in the process that reads the files; `at` is Unix time, seconds."""

    def __init__(self, registry: CollectorRegistry, generation: int, at: float) -> None:
        self._reloads = Counter("tornado_proxy_reloads", "Reloads of changed files", ["outcome"], registry=registry)
        self._generation = Gauge("tornado_proxy_generation", "The generation in force", registry=registry)
        self._successful = Gauge(
            "tornado_proxy_config_last_reload_successful", "Whether the last reload was (1 or 0)", registry=registry
        )
        self._success = Gauge(
            "tornado_proxy_config_last_reload_success_timestamp_seconds",
            "When the generation in force was loaded (Unix time)",
            registry=registry,
        )
        self._loaded(generation, at)

    def __call__(self, event: Event) -> None:
        """Counts an event."""
        match event:
            case Reloaded():
                self._reloads.labels("loaded").inc()
                self._loaded(event.generation, event.at)
            case ReloadRefused():
                self._reloads.labels("refused").inc()
                self._successful.set(0)
            case Restored():
                self._successful.set(1)
            case ReloadFailed():
                self._reloads.labels("failed").inc()
                self._successful.set(0)
            case _:
                pass

    def _loaded(self, generation: int, at: float) -> None:
        self._generation.set(generation)
        self._successful.set(1)
        self._success.set(at)


Result = TypeVar("Result")


class MeasuredStore:
    """Passes every call on to a store, and emits how it went."""

    def __init__(self, store: Store, target: str, emit: Callable[[Event], None]) -> None:
        self._store = store
        self._target = target
        self._emit = emit

    def __repr__(self) -> str:
        return f"<MeasuredStore {self._store!r}>"

    async def open(self, key: ObjectKey, conditions: Conditions, part: ByteRange | None = None) -> Opened:
        """The object's info and its body, or a part of it."""
        return await self._timed("open", self._store.open(key, conditions, part))

    async def head(self, key: ObjectKey, conditions: Conditions) -> ObjectInfo:
        """The object's info."""
        return await self._timed("head", self._store.head(key, conditions))

    async def list(self, prefix: ObjectKey, token: str | None = None, limit: int = 1000) -> Page:
        """A page of what lies directly below a prefix."""
        return await self._timed("list", self._store.list(prefix, token, limit))

    async def put(self, key: ObjectKey, chunks: AsyncIterator[bytes], write: Write) -> Stored:
        """Stores the chunks as an object."""
        return await self._timed("put", self._store.put(key, chunks, write))

    async def remove(self, key: ObjectKey) -> None:
        """Removes an object."""
        await self._timed("remove", self._store.remove(key))

    async def sign(self, key: ObjectKey, expires: int) -> str:
        """A URL that fetches the object; makes no call to the bucket."""
        return await self._store.sign(key, expires)

    async def close(self) -> None:
        """Closes the connections."""
        await self._store.close()

    async def _timed(self, call: str, awaited: Awaitable[Result]) -> Result:
        began, outcome = time.perf_counter(), "cancelled"
        try:
            result = await awaited
        except StorageError as error:
            outcome = type(error).__name__
            raise
        else:
            outcome = "ok"
            return result
        finally:
            self._emit(S3Called(self._target, call, outcome, time.perf_counter() - began))


Counts = tuple[Metric, ...]
"""Everything that a process has counted; can be pickled."""

_Series = tuple[str, tuple[tuple[str, str], ...]]


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
            # The time when a series began cannot be added.
            add = min if sample.name.endswith("_created") else float.__add__
            values[series] = add(values[series], sample.value) if series in values else sample.value
    for metric, values in sums.values():
        total = Metric(metric.name, metric.documentation, metric.type)
        for (name, labels), value in values.items():
            total.add_sample(name, dict(labels), value)
        yield total
