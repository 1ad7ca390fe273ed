"""Metrics in Prometheus's text format: events are counted, and nothing a client chooses becomes a label."""

from __future__ import annotations

from typing import assert_never

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from tornado_proxy.telemetry.events import (
    Asked,
    Event,
    Failed,
    Refused,
    Reloaded,
    ReloadRefused,
    Retired,
    S3Called,
    Served,
)

METHODS = frozenset({"GET", "HEAD", "PUT", "DELETE"})
OTHER = "other"
MOST_RULES = 1000
"""So many rewrites have a series of their own; the hits of any more are counted as `other`."""

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600)


class Metrics:
    """The listener that counts; `registry` is what `/metrics` shows."""

    def __init__(self, registry: CollectorRegistry, generation: int = 1, at: float = 0.0) -> None:
        self._rules: set[tuple[str, str]] = set()
        self.requests = Counter(
            "tornado_proxy_requests", "Requests answered", ["target", "method", "status"], registry=registry
        )
        self.seconds = Histogram(
            "tornado_proxy_request_duration_seconds",
            "From a request's head to the end of its answer",
            ["target", "method"],
            registry=registry,
            buckets=_SECONDS,
        )
        self.sent = Counter("tornado_proxy_sent_bytes", "Bytes of bodies sent", ["target"], registry=registry)
        self.received = Counter(
            "tornado_proxy_received_bytes", "Bytes of bodies received", ["target"], registry=registry
        )
        self.hits = Counter(
            "tornado_proxy_rewrite_hits", "Keys that a rewrite took", ["target", "rule"], registry=registry
        )
        self.defects = Counter("tornado_proxy_defects", "Requests that met a defect of the service", registry=registry)
        self.s3_calls = Counter(
            "tornado_proxy_s3_calls", "Calls to a bucket, by outcome", ["target", "call", "outcome"], registry=registry
        )
        self.s3_seconds = Histogram(
            "tornado_proxy_s3_call_duration_seconds",
            "From a call to a bucket to its answer",
            ["target", "call"],
            registry=registry,
            buckets=_SECONDS,
        )
        self.reloads = Counter("tornado_proxy_reloads", "Reloads of changed files", ["outcome"], registry=registry)
        self.generation = _gauge("tornado_proxy_generation", "The generation in force", registry)
        self.last_successful = _gauge(
            "tornado_proxy_config_last_reload_successful", "Whether the last reload was (1 or 0)", registry
        )
        self.last_success = _gauge(
            "tornado_proxy_config_last_reload_success_timestamp_seconds",
            "When the generation in force was loaded (Unix time)",
            registry,
        )
        self._loaded(generation, at)

    def __call__(self, event: Event) -> None:
        """Count an event."""
        match event:
            case Served() | Refused():
                self._count(event)
            case S3Called(target, call, outcome, seconds):
                self.s3_calls.labels(target, call, outcome).inc()
                self.s3_seconds.labels(target, call).observe(seconds)
            case Failed():
                self.defects.inc()
            case Reloaded():
                self.reloads.labels("loaded").inc()
                self._loaded(event.generation, event.at)
            case ReloadRefused():
                self.reloads.labels("refused").inc()
                self.last_successful.set(0)
            case Retired():
                pass
            case _:
                assert_never(event)

    def _loaded(self, generation: int, at: float) -> None:
        self.generation.set(generation)
        self.last_successful.set(1)
        self.last_success.set(at)

    def _count(self, event: Served | Refused) -> None:
        target, method = event.asked.target or "", event.asked.method
        method = method if method in METHODS else OTHER
        self.requests.labels(target, method, str(event.status)).inc()
        self.seconds.labels(target, method).observe(event.seconds)
        self.sent.labels(target).inc(event.sent)
        self.received.labels(target).inc(event.received)
        if event.asked.rule is not None:
            self.hits.labels(*self._rule(event.asked)).inc()

    def _rule(self, asked: Asked) -> tuple[str, str]:
        """The labels of a rewrite: its own, while there are not too many; edits bring new ones for years."""
        labels = (asked.target or "", asked.rule or "")
        if labels not in self._rules:
            if len(self._rules) >= MOST_RULES:
                return labels[0], OTHER
            self._rules.add(labels)
        return labels


def _gauge(name: str, text: str, registry: CollectorRegistry) -> Gauge:
    # Of several processes that serve one port, the latest value counts.
    return Gauge(name, text, registry=registry, multiprocess_mode="mostrecent")
