"""Calls to other services: webhooks after requests, and traces; sections of the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from tornado_proxy.config import values
from tornado_proxy.config.options import Bounds, Constraint, Mark, option
from tornado_proxy.config.providers import Line, Url
from tornado_proxy.config.quantities import DAY, Duration
from tornado_proxy.config.secrets import Secret

_HEADERS = Constraint(values.header_pairs)
_Wait = Annotated[float, Duration(0, DAY)]


@dataclass(frozen=True, slots=True)
class Webhook:
    """A request that is made after each request of the action that succeeded; nobody waits for it."""

    shape: ClassVar[str] = "such as `{url: https://hooks.example.org/files}`"

    url: Url = option("The URL that is called.", example="https://hooks.example.org/files")
    method: Literal["POST", "PUT", "PATCH", "DELETE"] = option("The method.", default="POST")
    headers: Annotated[tuple[tuple[str, str], ...], Mark.PAIRS, _HEADERS, Constraint(values.header_values)] = option(
        "Headers by name.", default=()
    )
    secret_headers: Annotated[tuple[tuple[str, Secret], ...], Mark.PAIRS, _HEADERS] = option(
        "Headers whose values are secrets, by name.", default=()
    )
    retry_count: Annotated[int, Bounds(0, 100)] = option(
        "How often a failed call is repeated: one without an answer, or with 429 or 5xx.", default=0
    )
    default_wait_time: _Wait = option(
        "How long the first repetition waits; each further one waits twice as long.", default=0.1
    )
    max_wait_time: _Wait = option("How long a repetition waits at most.", default=2.0)
    timeout: Annotated[float, Duration(0.1, 3600)] = option("How long one call may take.", default=10.0)


@dataclass(frozen=True, slots=True)
class Tracing:
    """Traces of OpenTelemetry, sent by OTLP over HTTP; needs the extra `otel`."""

    shape: ClassVar[str] = "such as `{endpoint: http://127.0.0.1:4318/v1/traces}`"

    endpoint: Url = option("The URL that traces are sent to.", example="http://127.0.0.1:4318/v1/traces")
    secret_headers: Annotated[tuple[tuple[str, Secret], ...], Mark.PAIRS, Constraint(values.header_pairs)] = option(
        "Headers of the calls, by name.", default=()
    )
    service_name: Line = option("The name of the service in traces.", default="tornado-proxy")
    sampled_percent: Annotated[int, Bounds(0, 100)] = option(
        "The percentage of requests that are traced, unless their `traceparent` header decides.", default=100
    )
