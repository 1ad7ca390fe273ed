"""Traces of OpenTelemetry: a span for each request, with child spans for its rewrite and its calls to S3.

Spans are made when a request has ended, so that it does not wait for them. The libraries are the extra `otel`; this
module is imported only if tracing is configured.
"""

from __future__ import annotations

import time
from contextvars import ContextVar

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio
from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from tornado_proxy.config.server import Tracing
from tornado_proxy.telemetry.events import Bus, S3Called, Served

_NANOSECONDS = 1_000_000_000

# Each request is answered in a context of its own, which collects the calls to S3.
_calls: ContextVar[tuple[tuple[S3Called, int], ...]] = ContextVar("calls", default=())


class RequestTracer:
    """Makes spans of events; `close` sends the last ones."""

    def __init__(self, settings: Tracing, exporter: SpanExporter | None = None) -> None:
        if exporter is None:
            headers = {name: value.reveal() for name, value in settings.secret_headers}
            exporter = OTLPSpanExporter(endpoint=settings.endpoint.reveal(), headers=headers, timeout=10)
        resource = Resource.create({"service.name": settings.service_name})
        sampler = ParentBasedTraceIdRatio(settings.sampled_percent / 100)
        self._provider = TracerProvider(resource=resource, sampler=sampler, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("tornado_proxy")

    def listen(self, bus: Bus) -> None:
        """Makes spans of the events of a bus."""
        bus.add(self._note, S3Called)
        bus.add(self._trace, Served)

    def close(self) -> None:
        """Sends the last spans; may take some seconds."""
        self._provider.shutdown()

    def _note(self, event: S3Called) -> None:
        _calls.set((*_calls.get(), (event, time.time_ns())))

    def _trace(self, event: Served) -> None:
        request, calls = event.request, _calls.get()
        _calls.set(())
        start = int(request.at * _NANOSECONDS)
        parent = TraceContextTextMapPropagator().extract(dict(request.trace_context))
        # OpenTelemetry's semantic conventions for HTTP servers.
        attributes: dict[str, str | int] = {
            "http.request.method": request.method,
            "http.response.status_code": event.status,
            "url.path": request.path,
            "server.address": request.host,
            "client.address": request.client,
            "http.response.body.size": event.sent,
            "tornado_proxy.request_id": request.request_id,
        }
        if request.target is not None:
            attributes["tornado_proxy.target"] = request.target
        span = self._tracer.start_span(request.method or "HTTP", parent, SpanKind.SERVER, attributes, start_time=start)
        if event.status >= 500:
            span.set_status(Status(StatusCode.ERROR))
        within = set_span_in_context(span)
        if request.rule is not None:
            rule = {"tornado_proxy.rewrite": request.rule, "tornado_proxy.key": request.key or ""}
            self._tracer.start_span("rewrite", within, attributes=rule, start_time=start).end(start)
        for call, end in calls:
            outcome = {"tornado_proxy.target": call.target, "tornado_proxy.outcome": call.outcome}
            began = end - int(call.seconds * _NANOSECONDS)
            child = self._tracer.start_span(f"s3 {call.call}", within, SpanKind.CLIENT, outcome, start_time=began)
            child.end(end)
        span.end(start + int(event.seconds * _NANOSECONDS))
