"""The process: its listeners and their answers, limits, calls to S3, reloads, logs; sections of the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, get_args

from tornado_proxy.config import values
from tornado_proxy.config.actions import MediaType
from tornado_proxy.config.options import DAY, GIB, KIB, MIB, Bounds, Constraint, Duration, Mark, Size, option
from tornado_proxy.config.providers import HeaderName, Line, Url
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.tls import Ssl

Network = Annotated[str, Constraint(values.network)]
Address = Annotated[str, Constraint(values.listen_address)]
Port = Annotated[int, Bounds(0, 65535)]
Timeout = Annotated[float, Duration(0.1, DAY)]
LogLevel = Literal["debug", "info", "warning", "error"]
LOG_LEVELS = get_args(LogLevel)


Origin = Annotated[str, Constraint(values.origin)]


@dataclass(frozen=True, slots=True)
class Cors:
    """Cross-origin requests: which pages of other origins may read answers (Fetch, 3.2)."""

    shape: ClassVar[str] = "such as `{enabled: true, allowOrigins: [https://app.example.org]}`"

    enabled: bool = option("Whether answers have CORS headers.", default=False)
    allow_all: bool = option(
        "Whether pages of any origin have full access without credentials. Overrides the other options.", default=False
    )
    allow_origins: tuple[Origin, ...] = option(
        "The origins that have access; one `*` matches any text. The default is every origin.", default=()
    )
    allow_methods: tuple[Line, ...] = option(
        "The methods that they may use. The default is GET, POST and HEAD.", default=()
    )
    allow_headers: tuple[Annotated[str, Constraint(values.line)], ...] = option(
        "The headers that they may send; `*` is any. The default is Origin, Accept and Content-Type.", default=()
    )
    expose_headers: tuple[HeaderName, ...] = option("The headers of answers that they may read.", default=())
    max_age: Annotated[int, Bounds(0, 86400)] = option(
        "How many seconds a browser may cache the answer to a preflight; 0 leaves it to the browser.", default=0
    )
    allow_credentials: bool = option(
        "Whether they may send cookies and passwords. Requires `allowOrigins`.", default=False
    )
    options_passthrough: bool = option(
        "Whether a preflight is also handled as an ordinary OPTIONS request.",
        default=False,
    )


@dataclass(frozen=True, slots=True)
class CacheHeaders:
    """Headers about caching, for answers that are no errors. An object's own Cache-Control and Expires come first."""

    shape: ClassVar[str] = "such as `{cacheControl: 'max-age=3600'}`"

    no_cache_enabled: bool = option("Whether caching is forbidden. Overrides the other options.", default=False)
    expires: Line | None = option("The Expires header.", default=None)
    cache_control: Line | None = option("The Cache-Control header.", default=None)
    pragma: Line | None = option("The Pragma header.", default=None)
    x_accel_expires: Line | None = option("The X-Accel-Expires header, which nginx reads.", default=None)


COMPRESSED_TYPES = (
    "text/html",
    "text/css",
    "text/plain",
    "text/javascript",
    "application/javascript",
    "application/x-javascript",
    "application/json",
    "application/atom+xml",
    "application/rss+xml",
    "image/svg+xml",
)


@dataclass(frozen=True, slots=True)
class Compress:
    """Compression of answers, by gzip or deflate, for clients that accept it."""

    shape: ClassVar[str] = "such as `{level: 5, types: [text/*, application/json]}`"

    enabled: bool = option("Whether answers are compressed.", default=True)
    level: Annotated[int, Bounds(1, 9)] = option("The level of compression, from 1 (fast) to 9 (small).", default=5)
    types: Annotated[tuple[MediaType, ...], Mark.NOT_EMPTY] = option(
        "The types of answers that are compressed, such as `text/*`.", default=COMPRESSED_TYPES
    )
    min_size: Annotated[int, Size(0, GIB)] = option("The size of the smallest answer that is compressed.", default=1024)


@dataclass(frozen=True, slots=True)
class Listener:
    """Where a server listens."""

    address: Address = option(
        "The address. An empty string listens on every interface.", default="127.0.0.1", name="listenAddr"
    )
    port: Port = option("The port; 0 is any free one.", default=8080)
    ssl: Ssl | None = option("TLS; without it, the listener speaks plain HTTP.", default=None)

    @property
    def speaks_tls(self) -> bool:
        """Whether it speaks TLS."""
        return self.ssl is not None and self.ssl.enabled


@dataclass(frozen=True, slots=True)
class Server(Listener):
    """The server for clients."""

    grace_period: Annotated[float, Duration(0, DAY)] = option(
        "How long running requests may take to finish when the service stops.", default=30.0
    )
    event_loop: Literal["auto", "asyncio", "uvloop"] = option(
        "The event loop. `auto` is uvloop if it is installed, else asyncio.", default="auto"
    )
    generation_header: bool = option(
        "Whether answers name the files in force, as `X-Tornado-Proxy-Generation`.", default=True
    )
    trusted_proxies: tuple[Network, ...] = option(
        "Addresses and networks of proxies whose headers about the client are trusted.", default=()
    )
    proxy_protocol: bool = option(
        "Whether connections from `trustedProxies` begin with a header of the PROXY protocol, version 1 or 2.",
        default=False,
    )
    cors: Cors | None = option("Access for pages of other origins (CORS).", default=None)
    cache: CacheHeaders | None = option("Headers about caching.", default=None)
    compress: Compress = option("Compression of answers.", default=Compress())


@dataclass(frozen=True, slots=True)
class InternalServer(Listener):
    """The admin listener: health, metrics, status. Keep it away from clients."""

    port: Port = option("The port; 0 is any free one.", default=9090)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on everything that a client can make large or slow."""

    max_header_size: Annotated[int, Size(KIB, 16 * MIB)] = option(
        "The size of the request line and headers.", default=64 * KIB
    )
    max_form_field_size: Annotated[int, Size(KIB, 64 * MIB)] = option(
        "The size of an upload's form without its file.", default=64 * KIB
    )
    idle_timeout: Timeout = option("How long a connection may be idle between requests.", default=75.0)
    header_timeout: Timeout = option("How long a client may take to send the request line and headers.", default=60.0)
    body_timeout: Timeout = option("How long a client may pause while it sends a body.", default=60.0)
    send_timeout: Timeout = option("How long a client may pause while it reads an answer.", default=60.0)


@dataclass(frozen=True, slots=True)
class S3Pool:
    """How the bucket of a target is called."""

    threads: Annotated[int, Bounds(1, 1024)] = option(
        "How many calls of boto3 run at once for a target; each has a thread and a connection.", default=32
    )
    queue: Annotated[int, Bounds(0, 1_000_000)] = option(
        "How many calls of a target wait for a thread, or for a connection; further ones are answered with 503.",
        default=1000,
    )
    upload_memory: Annotated[int, Size(5 * MIB, 1024 * GIB)] = option(
        "The memory for uploads of all targets in a process; further uploads wait.",
        default=128 * MIB,
    )
    reads: Literal["loop", "executor"] = option(
        "Whether objects are read on the event loop, or by boto3 in threads.", default="loop"
    )
    connections: Annotated[int, Bounds(1, 65_536)] = option(
        "How many connections the event loop uses to read from a target; further requests wait.", default=512
    )
    probe_interval: Annotated[float, Duration(0, DAY)] = option(
        "How long after a probe of the buckets the next one follows, give or take a tenth; 0 turns probes off.",
        default=60.0,
    )
    ready_needs_bucket: bool = option(
        "Whether `/-/ready` answers 503 until the last probe of at least one bucket succeeded.", default=False
    )


@dataclass(frozen=True, slots=True)
class Reload:
    """How an edit is tested before it is put in force."""

    tests: Literal["refuse", "warn", "off"] = option(
        "What happens where a rule test of a changed target fails: the edit is refused, or a warning is logged. `off` "
        "runs no tests.",
        default="warn",
    )
    test_timeout: Timeout = option(
        "How long the tests may run; what is not tested by then counts as failed.", default=10.0
    )


@dataclass(frozen=True, slots=True)
class Log:
    """The log on standard error."""

    level: LogLevel = option("The least severe level that is logged.", default="info")
    format: Literal["text", "json"] = option("Whether lines are text or JSON.", default="text")
    access: bool = option("Whether each request is logged.", default=True)


@dataclass(frozen=True, slots=True)
class Tracing:
    """Traces of OpenTelemetry, sent by OTLP over HTTP; needs the extra `otel`."""

    shape: ClassVar[str] = "such as `{endpoint: http://127.0.0.1:4318/v1/traces}`"

    endpoint: Url = option("The URL that traces are sent to.")
    secret_headers: Annotated[tuple[tuple[str, Secret], ...], Mark.PAIRS, Constraint(values.header_pairs)] = option(
        "Headers of the calls, by name.", default=()
    )
    service_name: Line = option("The name of the service in traces.", default="tornado-proxy")
    sampled_percent: Annotated[int, Bounds(0, 100)] = option(
        "The percentage of requests that are traced, unless their `traceparent` header decides.", default=100
    )
