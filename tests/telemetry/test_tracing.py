import asyncio

import pytest

from tornado_proxy.config.server import Tracing
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.telemetry.events import Bus, RequestRecord, S3Called, Served
from tornado_proxy.telemetry.tracing import RequestTracer

export = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")

PARENT = ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
NOT_SAMPLED = ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")


def _record(**fields):
    return RequestRecord("id", 1000.0, "192.0.2.1", "GET", "files.test", "/a", 1, "site", **fields)


def _spans(*events, **settings):
    """Returns the spans of events that are emitted in one task, by name."""
    exporter, bus = export.InMemorySpanExporter(), Bus()
    tracer = RequestTracer(Tracing(GuardedUrl("http://x/"), **settings), exporter)
    tracer.listen(bus)

    async def emit_events():
        for event in events:
            bus.emit(event)

    asyncio.run(emit_events())
    tracer.close()
    return {span.name: span for span in exporter.get_finished_spans()}


def test_a_request_is_a_span_with_its_rewrite_and_its_calls():
    spans = _spans(S3Called("site", "open", "ok", 0.5), Served(_record(rule="press", key="/b"), 200, 5, 0, 2.0))
    request = spans["GET"]
    assert {*spans} == {"GET", "rewrite", "s3 open"}
    assert (request.start_time, request.end_time) == (1000 * 10**9, 1002 * 10**9)
    assert request.attributes["http.response.status_code"] == 200
    assert all(spans[name].parent.span_id == request.context.span_id for name in ("rewrite", "s3 open"))
    assert spans["s3 open"].end_time - spans["s3 open"].start_time == 5 * 10**8
    assert request.resource.attributes["service.name"] == "tornado-proxy"


def test_an_incoming_trace_is_continued():
    """The span that `traceparent` names is the parent, and decides whether the request is sampled."""
    span = _spans(Served(_record(trace_context=(PARENT,)), 200, 5, 0, 2.0))["GET"]
    assert f"{span.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert f"{span.parent.span_id:016x}" == "b7ad6b7169203331"
    assert _spans(Served(_record(trace_context=(NOT_SAMPLED,)), 200, 5, 0, 2.0)) == {}


def test_a_request_that_is_not_sampled_has_no_span():
    assert _spans(Served(_record(), 200, 5, 0, 2.0), sampled_percent=0) == {}


@pytest.mark.parametrize(("status", "failed"), [(404, False), (502, True)])
def test_a_server_error_marks_the_span(status, failed):
    span = _spans(Served(_record(), status, 5, 0, 2.0, reason="why", is_error=True))["GET"]
    assert (span.status.status_code.name == "ERROR") is failed


def test_calls_belong_to_the_request_that_made_them():
    first_request = S3Called("site", "head", "ok", 0.1), Served(_record(), 200, 5, 0, 2.0)
    spans = _spans(*first_request, Served(_record(rule="x"), 200, 5, 0, 2.0))
    assert spans["rewrite"].parent.span_id == spans["GET"].context.span_id
    assert spans["s3 head"].parent.span_id != spans["GET"].context.span_id
