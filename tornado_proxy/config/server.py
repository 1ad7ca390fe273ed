"""The process: its listeners and their answers, limits, calls to S3, reloads, logs; sections of the configuration."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, get_args

from tornado_proxy.config import values
from tornado_proxy.config.actions import MediaType, SecretHeaders
from tornado_proxy.config.options import Mark, flag, option, optional, several, values_of
from tornado_proxy.config.providers import HeaderName, Line, PagePath
from tornado_proxy.config.quantities import DAY, GIB, KIB, MIB, Bounds, Duration, Size
from tornado_proxy.config.secrets import Credentials, Secret, document_url
from tornado_proxy.config.values import GuardedUrl, InvalidValue
from tornado_proxy.lang.diagnostic import Span

VERSIONS = ("TLSv1.0", "TLSv1.1", "TLSv1.2", "TLSv1.3")

CIPHER_SUITES = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
}
"""OpenSSL's names of the suites of TLS 1.2 and earlier, by the names of IANA and of Go's crypto/tls."""

SUITES_OF_TLS13 = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
"""The suites of TLS 1.3, which are always offered: neither Go nor Python lets a program choose among them."""

_VERSION = re.compile(r"(?:tlsv|tls[-_ ]?)?1[._-]([0-3])", re.IGNORECASE)


def tls_version(text: str) -> str:
    """A version of TLS, as in `1.2`, `TLSv1.2` or `tls-1_2`, in the form `TLSv1.2`."""
    match = _VERSION.fullmatch(text)
    if match is None:
        raise InvalidValue("is not a version of TLS", "such as `TLSv1.2` or `TLSv1.3`")
    return VERSIONS[int(match[1])]


def cipher_suite(text: str) -> str:
    """The name of a cipher suite in Go's crypto/tls."""
    if text not in CIPHER_SUITES and text not in SUITES_OF_TLS13:
        raise InvalidValue(f"cannot be `{text}`", f"one of {', '.join((*CIPHER_SUITES, *SUITES_OF_TLS13))}")
    return text


Network = Annotated[str, values.network]
Address = Annotated[str, values.listen_address]
Port = Annotated[int, Bounds(0, 65535)]
Timeout = Annotated[float, Duration(0.1, DAY)]
LogLevel = Literal["debug", "info", "warning", "error"]
LOG_LEVELS = get_args(LogLevel)


Origin = Annotated[str, values.origin]
DocumentUrl = Annotated[GuardedUrl, document_url]
BareUrl = Annotated[GuardedUrl, values.bare_url]
TlsVersion = Annotated[str, tls_version]
CipherSuite = Annotated[str, cipher_suite]


@dataclass(frozen=True, slots=True)
class UrlConfig:
    """The options for fetching a certificate or key."""

    http_timeout: Annotated[float, Duration(0.001, 300)] = option("How long fetching may take.", default=5.0)
    aws_region: Annotated[str, values.region] | None = optional(
        "The AWS region. The default is the region of the ARN, or else the one that boto3 finds."
    )
    aws_endpoint: Annotated[str, values.endpoint] | None = optional("The URL of a server that is not AWS.")
    aws_disable_ssl: bool = flag("Whether to use HTTP if `awsEndpoint` has no scheme.", name="awsDisableSSL")
    aws_credentials: Credentials | None = optional("The key pair. Without one, boto3 looks for credentials.")


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate with its chain and private key, each in PEM."""

    shape: ClassVar[str] = "such as `{certificateUrl: files.crt, privateKeyUrl: files.key}`"

    certificate: str | None = optional("The certificate and its chain, the certificate first.")
    certificate_url: DocumentUrl | None = optional(
        "The location: a file, relative to the configuration, or a URL with `file:`, `http:`, `https:`, "
        "`s3:` or `arn:` (S3, Secrets Manager, SSM)."
    )
    certificate_url_config: UrlConfig = option("How `certificateUrl` is fetched.", default=UrlConfig())
    private_key: Secret | None = optional("The private key, without a passphrase.")
    private_key_url: DocumentUrl | None = optional("The location of the private key, as for `certificateUrl`.")
    private_key_url_config: UrlConfig = option("How `privateKeyUrl` is fetched.", default=UrlConfig())
    spans: tuple[Span, ...] = values_of("certificateUrl")
    key_spans: tuple[Span, ...] = values_of("privateKeyUrl")
    # The documents, after they have been read.
    chain: Secret | None = field(default=None, repr=False)
    key: Secret | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Ssl:
    """TLS of a listener."""

    enabled: bool = option("Whether the listener speaks TLS only.", default=True)
    certificates: tuple[Certificate, ...] = several(
        "The certificates. A client gets the first one for the host that it requests, or else the first of all."
    )
    self_signed_hostnames: tuple[Annotated[str, values.host, values.line], ...] = several(
        "Host names of a self-signed certificate for tests, which is made at start and comes first."
    )
    min_version: TlsVersion = option(
        "The oldest version of TLS that is accepted.", default="TLSv1.2", name="minTLSVersion"
    )
    max_version: TlsVersion = option(
        "The newest version of TLS that is accepted.", default="TLSv1.3", name="maxTLSVersion"
    )
    cipher_suites: tuple[CipherSuite, ...] = several(
        "The cipher suites of TLS 1.2 by their IANA names; those of TLS 1.3 are fixed, and a list of no others allows "
        "TLS 1.3 only. The default is every suite with ECDHE and AEAD."
    )
    client_auth: Literal["none", "request", "require"] = option(
        "Whether clients are asked for a certificate, and whether those without one are turned away.", default="none"
    )
    client_cas: Annotated[tuple[DocumentUrl, ...], Mark.ONE_OR_MANY] = several(
        "The locations of the CA certificates that sign client certificates, as for `certificateUrl`.", name="clientCAs"
    )
    spans: tuple[Span, ...] = values_of("clientCAs")
    # The self-signed certificate and the documents, after they have been made and read.
    self_signed: Certificate | None = None
    client_roots: tuple[Secret, ...] = field(default=(), repr=False)

    @property
    def all_certificates(self) -> tuple[Certificate, ...]:
        """The certificates, the self-signed one first."""
        return (*((self.self_signed,) if self.self_signed else ()), *self.certificates)


@dataclass(frozen=True, slots=True)
class Cors:
    """Cross-origin requests: which pages of other origins may read answers (Fetch, 3.2)."""

    enabled: bool = flag("Whether answers have CORS headers.")
    allow_all: bool = flag(
        "Whether pages of any origin have full access without credentials. Overrides the other options."
    )
    allow_origins: tuple[Origin, ...] = several(
        "The origins that have access; one `*` matches any text. The default is every origin."
    )
    allow_methods: tuple[Line, ...] = several(
        "The methods that pages of these origins may use. The default is GET, POST and HEAD."
    )
    allow_headers: tuple[Line, ...] = several(
        "The headers that these pages may send; `*` is any. The default is Origin, Accept and Content-Type."
    )
    expose_headers: tuple[HeaderName, ...] = several("The headers of answers that these pages may read.")
    max_age: Annotated[int, Bounds(0, 86400)] = option(
        "How many seconds a browser may cache the answer to a preflight; 0 leaves it to the browser.", default=0
    )
    allow_credentials: bool = flag("Whether these pages may send cookies and passwords. Requires `allowOrigins`.")
    options_passthrough: bool = flag("Whether a preflight is also handled as an ordinary OPTIONS request.")


@dataclass(frozen=True, slots=True)
class CacheHeaders:
    """Headers about caching, for answers that are no errors. An object's own Cache-Control and Expires come first."""

    no_cache_enabled: bool = flag("Whether caching is forbidden. Overrides the other options.")
    expires: Line | None = optional("The Expires header.")
    cache_control: Line | None = optional("The Cache-Control header.")
    pragma: Line | None = optional("The Pragma header.")
    x_accel_expires: Line | None = optional("The X-Accel-Expires header, which nginx reads.")


COMPRESSED_TYPES = (
    *("text/html", "text/css", "text/plain", "text/javascript", "application/javascript", "application/x-javascript"),
    *("application/json", "application/atom+xml", "application/rss+xml", "image/svg+xml"),
)


@dataclass(frozen=True, slots=True)
class Compress:
    """Compression of answers, by gzip or deflate, for clients that accept it."""

    enabled: bool = option("Whether answers are compressed.", default=True)
    level: Annotated[int, Bounds(1, 9)] = option("The level of compression, from 1 (fast) to 9 (small).", default=5)
    types: Annotated[tuple[MediaType, ...], Mark.NOT_EMPTY] = option(
        "The types of answers that are compressed, such as `text/*`.", default=COMPRESSED_TYPES
    )
    min_size: Annotated[int, Size(0, GIB)] = option("The size of the smallest answer that is compressed.", default=1024)


@dataclass(frozen=True, slots=True)
class Listener:
    """The address and the port of a server, and its TLS."""

    address: Address = option(
        "The address. An empty string listens on every interface.", default="127.0.0.1", name="listenAddr"
    )
    port: Port = option("The port. 0 selects any free port.", default=8080)
    ssl: Ssl | None = optional("TLS. Without this section, the listener speaks plain HTTP.")

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
    http2: bool = option(
        "Whether clients may speak HTTP/2. It needs `ssl`, without versions before TLS 1.2 and suites with CBC.",
        default=True,
    )
    event_loop: Literal["auto", "asyncio", "uvloop"] = option(
        "The event loop. `auto` is uvloop if it is installed, else asyncio.", default="auto"
    )
    generation_header: bool = option(
        "Whether answers identify the files in force by the header `X-Tornado-Proxy-Generation`.", default=True
    )
    trusted_proxies: tuple[Network, ...] = several(
        "Addresses and networks of proxies whose headers about the client are trusted."
    )
    proxy_protocol: bool = flag(
        "Whether connections from `trustedProxies` begin with a header of the PROXY protocol, version 1 or 2."
    )
    health_path: PagePath = option(
        "The path that answers the checks of load balancers, such as `/-/healthz`. It hides an object of the same "
        "path; empty disables it.",
        default="",
    )
    cors: Cors | None = optional("Access for pages of other origins (CORS).")
    cache: CacheHeaders | None = optional("Headers about caching.")
    compress: Compress = option("Compression of answers.", default=Compress())


@dataclass(frozen=True, slots=True)
class InternalServer(Listener):
    """The admin listener: health, metrics, status. Keep it away from clients."""

    port: Port = option("The port. 0 selects any free port.", default=9090)
    read_only: bool = flag(
        "Whether commands, such as a reload, are accepted on the Unix socket of `--admin-socket` only."
    )
    kept_requests: Annotated[int, Bounds(0, 10_000)] = option(
        "How many of the last requests a draft of rules is tried on. Each process keeps so many in memory: method, "
        "host, path and key, but no query, headers or user. 0 keeps none.",
        default=500,
    )


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on everything that a client can make large or slow."""

    max_header_size: Annotated[int, Size(KIB, 16 * MIB)] = option(
        "The largest size of the request line and headers together.", default=64 * KIB
    )
    max_form_field_size: Annotated[int, Size(KIB, 64 * MIB)] = option(
        "The largest size of an upload's form without its file.", default=64 * KIB
    )
    idle_timeout: Timeout = option("How long a connection may be idle between requests.", default=75.0)
    header_timeout: Timeout = option("How long a client may take to send the request line and headers.", default=60.0)
    body_timeout: Timeout = option(
        "How long a client may pause while it sends a body. On average over this time, it must send 1 KiB a second.",
        default=60.0,
    )
    send_timeout: Timeout = option(
        "How long a client may pause while it reads an answer. On average over this time, it must read 1 KiB a second.",
        default=60.0,
    )


@dataclass(frozen=True, slots=True)
class S3Pool:
    """Options for calls to a target's bucket."""

    threads: Annotated[int, Bounds(1, 1024)] = option(
        "How many calls of boto3 run at once for a target; each has a thread and a connection.", default=32
    )
    queue: Annotated[int, Bounds(0, 1_000_000)] = option(
        "How many calls of a target wait for a thread, or five seconds for a connection; others are answered with 503.",
        default=1000,
    )
    upload_memory: Annotated[int, Size(5 * MIB, 1024 * GIB)] = option(
        "The memory for uploads of all targets in a process, as it is filled; uploads without any wait.",
        default=128 * MIB,
    )
    read_memory: Annotated[int, Size(MIB, 1024 * GIB)] = option(
        "The memory for bodies on their way to clients, of all targets in a process: 128 KiB for each; further reads "
        "wait five seconds, and are then answered with 503.",
        default=1536 * MIB,
    )
    resumes: Annotated[int, Bounds(0, 100)] = option(
        "How often in a row a read that breaks off is resumed where it stopped, within the target's `timeout`; 0 never "
        "resumes.",
        default=8,
    )
    release_after: Annotated[float, Duration(0.1, DAY)] = option(
        "How long a client may pause before its connection to S3 is let go; the read is resumed when the client reads "
        "on.",
        default=2.0,
    )
    reads: Literal["loop", "executor"] = option(
        "Whether objects are read on the event loop, or by boto3 in threads.", default="loop"
    )
    connections: Annotated[int, Bounds(1, 65_536)] = option(
        "How many connections the event loop uses to read from a target, at most a fifth of the descriptors for all "
        "targets; further requests wait.",
        default=512,
    )
    probe_interval: Annotated[float, Duration(0, DAY)] = option(
        "The time between two probes of the buckets, plus or minus a tenth. 0 disables probes.", default=60.0
    )
    ready_needs_bucket: bool = flag(
        "Whether `/-/ready` answers 503 until the last probe of at least one bucket succeeded."
    )


@dataclass(frozen=True, slots=True)
class PromoteIf:
    """What must hold at the end of a stage for its edit to be put in force."""

    requests: Annotated[int, Bounds(1)] = option("The fewest requests that were compared.", default=100)
    errors: Annotated[int, Bounds(0)] = option(
        "The most requests that fail with the edit and do not fail without it.", default=0
    )
    missing_percent: Annotated[int, Bounds(0, 100)] = option(
        "The percentage of new keys, of those that were asked for, that may not exist.", default=0
    )


@dataclass(frozen=True, slots=True)
class Reload:
    """The tests of an edit before it is put in force."""

    tests: Literal["refuse", "warn", "off"] = option(
        "What happens if a rule test of a changed target fails: the edit is refused, or a warning is logged. `off` "
        "runs no tests.",
        default="warn",
    )
    probe: Literal["refuse", "warn", "off"] = option(
        "What happens if a bucket that an edit adds or changes cannot be used: the edit is refused, or a warning is "
        "logged. `off` does not ask S3.",
        default="warn",
    )
    test_timeout: Timeout = option(
        "How long the tests may run. Tests that have not finished by then count as failed.", default=10.0
    )
    stage: Annotated[float, Duration(1, 7 * DAY)] | None = optional(
        "How long an edit decides beside what is in force, without an effect, before it is put in force. Without it, "
        "an edit is in force at once."
    )
    promote_if: PromoteIf = option(
        "The conditions at the end of `stage`; else the edit is refused.", default=PromoteIf()
    )
    canary: Annotated[int, Bounds(1, 50)] | None = optional(
        "The percentage of clients that an edit answers after `stage`; as long again it answers 25 %, then all. "
        "Without it, an edit answers all at once."
    )
    poll_interval: Annotated[float, Duration(1, DAY)] = option(
        "The time between two looks at rules in a bucket, plus or minus a tenth.", default=10.0
    )
    head_samples: Annotated[int, Bounds(0, 1000)] = option(
        "How many new keys a second, over all processes, are asked for by HEAD while an edit is staged.", default=0
    )


@dataclass(frozen=True, slots=True)
class Log:
    """The log on standard error, or in systemd's journal."""

    level: LogLevel = option("The least severe level that is logged.", default="info")
    format: Literal["text", "json", "journal"] = option(
        "Whether lines are text or JSON, or entries of systemd's journal with fields (text where none reads the log).",
        default="text",
    )
    access: bool = option("Whether each request is logged, whatever the level.", default=True)
    access_levels: bool = flag("Whether lines of text about requests with a 5xx have the level `error`.")


@dataclass(frozen=True, slots=True)
class Tracing:
    """Traces of OpenTelemetry, sent by OTLP over HTTP; needs the extra `otel`."""

    shape: ClassVar[str] = "such as `{endpoint: http://127.0.0.1:4318/v1/traces}`"

    endpoint: BareUrl = option("The URL that traces are sent to.")
    secret_headers: SecretHeaders = several("Headers of the calls, by name.")
    service_name: Line = option("The name of the service in traces.", default="tornado-proxy")
    sampled_percent: Annotated[int, Bounds(0, 100)] = option(
        "The percentage of requests that are traced, unless their `traceparent` header decides.", default=100
    )
