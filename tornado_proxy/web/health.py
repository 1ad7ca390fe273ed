"""The health path: what load balancers ask on the port of requests."""

from __future__ import annotations

from collections.abc import Awaitable
from http import HTTPStatus

from tornado.httputil import HTTPHeaders, HTTPMessageDelegate, HTTPServerRequest, RequestStartLine, ResponseStartLine

from tornado_proxy.wire.headers import Fields

_BODY = b"healthy\n"
_HEADERS = Fields(
    (
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Cache-Control", "no-store"),
        ("Content-Length", str(len(_BODY))),
    )
)


def is_health_check(request: HTTPServerRequest, health_path: str) -> bool:
    """Whether a request is for the health path, which is empty if there is none."""
    return request.uri == health_path and request.method in ("GET", "HEAD") and health_path != ""


class HealthCheck(HTTPMessageDelegate):
    """Answers a health check with 200.

    It emits no event: several balancers that check each second would fill the access log and flatter the metrics.
    """

    def __init__(self, request: HTTPServerRequest) -> None:
        self._request = request

    def headers_received(
        self,
        start_line: RequestStartLine | ResponseStartLine,  # noqa: ARG002 - the interface
        headers: HTTPHeaders,  # noqa: ARG002 - the interface
    ) -> Awaitable[None] | None:
        """Waits for the end of the request, whose body means nothing."""
        return None

    def finish(self) -> None:
        """Answers."""
        connection = self._request.connection
        assert connection is not None
        body = _BODY if self._request.method == "GET" else None
        connection.write_headers(ResponseStartLine("HTTP/1.1", 200, HTTPStatus.OK.phrase), _HEADERS, body)
        connection.finish()
