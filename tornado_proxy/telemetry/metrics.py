"""Metrics in Prometheus's text format: events are counted, and nothing a client chooses becomes a label."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from tornado_proxy.telemetry.events import (
    Asked,
    Event,
    Failed,
    InFlight,
    Refused,
    Reloaded,
    ReloadFailed,
    ReloadRefused,
    Restored,
    S3Called,
    Served,
)

METHODS = frozenset({"GET", "HEAD", "PUT", "DELETE"})
OTHER = "other"
MOST_RULES = 1000
"""So many rewrites have a series of their own; the hits of any more are counted as `other`."""

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
        """Count an event."""
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
        target, method = event.asked.target or "", event.asked.method
        method = method if method in METHODS else OTHER
        self._requests.labels(target, method, str(event.status)).inc()
        self._seconds.labels(target, method).observe(event.seconds)
        self._sent.labels(target).inc(event.sent)
        self._received.labels(target).inc(event.received)
        if event.asked.rule is not None:
            self._hits.labels(*self._rule(event.asked)).inc()

    def _rule(self, asked: Asked) -> tuple[str, str]:
        """The labels of a rewrite: its own, while there are not too many; edits bring new ones for years."""
        labels = (asked.target or "", asked.rule or "")
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
        """Count an event."""
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
