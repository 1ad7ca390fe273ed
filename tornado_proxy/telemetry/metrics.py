"""Counts of requests and of calls to buckets, in the process that answers them; no label is chosen by a client."""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tornado_proxy.storage.cache import CacheCounts
from tornado_proxy.telemetry.events import (
    Bus,
    Failed,
    Refused,
    S3Called,
    Served,
    SignInTried,
    WebhookCalled,
)

if TYPE_CHECKING:
    from prometheus_client import Metric

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

    @property
    def told(self) -> tuple[list[int], float]:
        """The counts by bucket, and the sum."""
        return self.buckets, self.sum


class RequestMetrics:
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

    def collect(self) -> Iterator[Metric]:
        """The metrics."""
        # prometheus_client comes with a web server and more; nobody scrapes before the service is ready.
        from tornado_proxy.telemetry.exposition import counter, gauge, histogram  # noqa: PLC0415

        for each in self._counters():
            yield counter(*each)
        yield histogram(
            "tornado_proxy_request_duration_seconds",
            "From a request's head to the end of its answer",
            ("target", "method", "class"),
            SECONDS,
            {(target, method, f"{first}xx"): series.told for (target, method, first), series in self._seconds.items()},
        )
        yield histogram(
            "tornado_proxy_s3_call_duration_seconds",
            "From a call to a bucket to its answer",
            ("target", "call", "class"),
            SECONDS,
            {key: series.told for key, series in self._s3_seconds.items()},
        )
        sizes = {(target,): each.bytes for target, each in [*self._caches.items()]}
        yield gauge("tornado_proxy_cache_bytes", "Memory that cached objects take", ("target",), sizes)
        yield gauge("tornado_proxy_requests_in_flight", "Requests being answered", (), {(): self._in_flight()})

    def _counters(self) -> Iterator[tuple[str, str, tuple[str, ...], Mapping[Any, int]]]:
        """The name, the meaning, the labels and the values of each counter."""
        caches = [*self._caches.items()]
        requests = {(target, method, str(status)): count for (target, method, status), count in self._requests.items()}
        sent = {(target,): series.sent for target, series in self._bytes.items()}
        received = {(target,): series.received for target, series in self._bytes.items()}
        results = {(target, name): getattr(each, name) for target, each in caches for name in CACHE_RESULTS}
        evictions = {(target,): each.evictions for target, each in caches}
        yield "tornado_proxy_requests", "Requests answered", ("target", "method", "status"), requests
        yield "tornado_proxy_sent_bytes", "Bytes of bodies sent", ("target",), sent
        yield "tornado_proxy_received_bytes", "Bytes of bodies received", ("target",), received
        yield "tornado_proxy_rewrite_hits", "Keys that a rewrite took", ("target", "rule"), {**self._hits}
        yield "tornado_proxy_defects", "Requests that met a defect", (), {(): self._defects}
        calls, webhooks, sign_ins = {**self._s3_calls}, {**self._webhooks}, {**self._sign_ins}
        yield "tornado_proxy_s3_calls", "Calls to a bucket, by outcome", ("target", "call", "outcome"), calls
        yield "tornado_proxy_webhooks", "Webhooks called, by outcome", ("target", "method", "outcome"), webhooks
        yield "tornado_proxy_cache_requests", "GET and HEAD of objects, by result", ("target", "result"), results
        yield "tornado_proxy_cache_evictions", "Objects that made way for others", ("target",), evictions
        yield "tornado_proxy_sign_ins", "Steps of sign-ins, by outcome", ("provider", "step", "outcome"), sign_ins

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
