"""Tracing: a section of the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from tornado_proxy.config import values
from tornado_proxy.config.options import Bounds, Constraint, Mark, option
from tornado_proxy.config.providers import Line, Url
from tornado_proxy.config.secrets import Secret


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
