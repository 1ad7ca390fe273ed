"""The process: its listeners and their answers, limits, calls to S3, reloads, logs; sections of the configuration."""

from __future__ import annotations

import re
from typing import Annotated, Literal, get_args

from msgspec import field

from tornado_proxy.config import values
from tornado_proxy.config.actions import MediaType, SecretHeaders
from tornado_proxy.config.options import Mark, NoOption, SettingsSection
from tornado_proxy.config.providers import HeaderName, Line, PagePath
from tornado_proxy.config.secrets import Credentials, Secret, document_url
from tornado_proxy.config.values import DAY, GIB, KIB, MIB, Bounds, Duration, GuardedUrl, InvalidValue, Size

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
    if (match := _VERSION.fullmatch(text)) is None:
        raise InvalidValue("is not a version of TLS", "such as `TLSv1.2` or `TLSv1.3`")
    return VERSIONS[int(match[1])]


def cipher_suite(text: str) -> str:
    """The name of a cipher suite in Go's crypto/tls."""
    if text not in CIPHER_SUITES and text not in SUITES_OF_TLS13:
        raise InvalidValue(f"cannot be `{text}`", f"one of {', '.join((*CIPHER_SUITES, *SUITES_OF_TLS13))}")
    return text


Port = Annotated[int, Bounds(0, 65535)]
Timeout = Annotated[float, Duration(0.1, DAY)]
LogLevel = Literal["debug", "info", "warning", "error"]
LOG_LEVELS = get_args(LogLevel)

DocumentUrl = Annotated[GuardedUrl, document_url]
TlsVersion = Annotated[str, tls_version]


class UrlConfig(SettingsSection, frozen=True):
    """The options for fetching a certificate or key."""

    http_timeout: Annotated[float, Duration(0.001, 300)] = 5.0
    """How long fetching may take."""
    aws_region: Annotated[str, values.region] | None = None
    """The AWS region. The default is the region of the ARN, or else the one that boto3 finds."""
    aws_endpoint: Annotated[str, values.endpoint] | None = None
    """The URL of a server that is not AWS."""
    aws_disable_ssl: bool = field(name="awsDisableSSL", default=False)
    """Whether to use HTTP if `awsEndpoint` has no scheme."""
    aws_credentials: Credentials | None = None
    """The key pair. Without one, boto3 looks for credentials."""


class Certificate(SettingsSection, frozen=True):
    """A certificate with its chain and private key, each in PEM."""

    shape = "such as `{certificateUrl: files.crt, privateKeyUrl: files.key}`"

    certificate: str | None = None
    """The certificate and its chain, the certificate first."""
    certificate_url: DocumentUrl | None = None
    """The location: a file, relative to the configuration, or a URL with `file:`, `http:`, `https:`, `s3:` or `arn:`
    (S3, Secrets Manager, SSM)."""
    certificate_url_config: UrlConfig = UrlConfig()
    """How `certificateUrl` is fetched."""
    private_key: Secret | None = None
    """The private key, without a passphrase."""
    private_key_url: DocumentUrl | None = None
    """The location of the private key, as for `certificateUrl`."""
    private_key_url_config: UrlConfig = UrlConfig()
    """How `privateKeyUrl` is fetched."""
    # The documents, after they have been read.
    chain: NoOption[Secret | None] = None
    key: NoOption[Secret | None] = None


class Ssl(SettingsSection, frozen=True):
    """TLS of a listener."""

    enabled: bool = True
    """Whether the listener speaks TLS only."""
    certificates: tuple[Certificate, ...] = ()
    """The certificates. A client gets the first one for the host that it requests, or else the first of all."""
    self_signed_hostnames: tuple[Annotated[str, values.host, values.line], ...] = ()
    """Host names of a self-signed certificate for tests, which is made at start and comes first."""
    min_version: TlsVersion = field(name="minTLSVersion", default="TLSv1.2")
    """The oldest version of TLS that is accepted."""
    max_version: TlsVersion = field(name="maxTLSVersion", default="TLSv1.3")
    """The newest version of TLS that is accepted."""
    cipher_suites: tuple[Annotated[str, cipher_suite], ...] = ()
    """The cipher suites of TLS 1.2 by their IANA names; those of TLS 1.3 are fixed, and a list of no others allows TLS
    1.3 only. The default is every suite with ECDHE and AEAD."""
    client_auth: Literal["none", "request", "require"] = "none"
    """Whether clients are asked for a certificate, and whether those without one are turned away."""
    client_cas: Annotated[tuple[DocumentUrl, ...], Mark.ONE_OR_MANY] = field(name="clientCAs", default=())
    """The locations of the CA certificates that sign client certificates, as for `certificateUrl`."""
    # The self-signed certificate and the documents, after they have been made and read.
    self_signed: NoOption[Certificate | None] = None
    client_roots: NoOption[tuple[Secret, ...]] = ()

    @property
    def all_certificates(self) -> tuple[Certificate, ...]:
        """The certificates, the self-signed one first."""
        return (*((self.self_signed,) if self.self_signed else ()), *self.certificates)


class Cors(SettingsSection, frozen=True):
    """Cross-origin requests: which pages of other origins may read answers (Fetch, 3.2)."""

    enabled: bool = False
    """Whether answers have CORS headers."""
    allow_all: bool = False
    """Whether pages of any origin have full access without credentials. Overrides the other options."""
    allow_origins: tuple[Annotated[str, values.origin], ...] = ()
    """The origins that have access; one `*` matches any text. The default is every origin."""
    allow_methods: tuple[Line, ...] = ()
    """The methods that pages of these origins may use. The default is GET, POST and HEAD."""
    allow_headers: tuple[Line, ...] = ()
    """The headers that these pages may send; `*` is any. The default is Origin, Accept and Content-Type."""
    expose_headers: tuple[HeaderName, ...] = ()
    """The headers of answers that these pages may read."""
    max_age: Annotated[int, Bounds(0, 86400)] = 0
    """How many seconds a browser may cache the answer to a preflight; 0 leaves it to the browser."""
    allow_credentials: bool = False
    """Whether these pages may send cookies and passwords. Requires `allowOrigins`."""
    options_passthrough: bool = False
    """Whether a preflight is also handled as an ordinary OPTIONS request."""


class CacheHeaders(SettingsSection, frozen=True):
    """Headers about caching, for answers that are no errors. An object's or a redirect's own come first."""

    no_cache_enabled: bool = False
    """Whether caching is forbidden. Overrides the other options."""
    expires: Line | None = None
    """The Expires header."""
    cache_control: Line | None = None
    """The Cache-Control header."""
    pragma: Line | None = None
    """The Pragma header."""
    x_accel_expires: Line | None = None
    """The X-Accel-Expires header, which nginx reads."""


COMPRESSED_TYPES = (
    *("text/html", "text/css", "text/plain", "text/javascript", "application/javascript", "application/x-javascript"),
    *("application/json", "application/atom+xml", "application/rss+xml", "image/svg+xml"),
)


class Compress(SettingsSection, frozen=True):
    """Compression of answers, by gzip or deflate, for clients that accept it."""

    enabled: bool = True
    """Whether answers are compressed."""
    level: Annotated[int, Bounds(1, 9)] = 5
    """The level of compression, from 1 (fast) to 9 (small)."""
    types: Annotated[tuple[MediaType, ...], Mark.NOT_EMPTY] = COMPRESSED_TYPES
    """The types of answers that are compressed, such as `text/*`."""
    min_size: Annotated[int, Size(0, GIB)] = 1024
    """The size of the smallest answer that is compressed."""


class Listener(SettingsSection, frozen=True):
    """The address and the port of a server, and its TLS."""

    address: Annotated[str, values.listen_address] = field(name="listenAddr", default="127.0.0.1")
    """The address. An empty string listens on every interface."""
    port: Port = 8080
    """The port. 0 selects any free port."""
    ssl: Ssl | None = None
    """TLS. Without this section, the listener speaks plain HTTP."""

    @property
    def speaks_tls(self) -> bool:
        """Whether it speaks TLS."""
        return self.ssl is not None and self.ssl.enabled


class Server(Listener, frozen=True):
    """The server for clients."""

    grace_period: Annotated[float, Duration(0, DAY)] = 30.0
    """How long running requests may take to finish when the service stops."""
    http2: bool = True
    """Whether clients may speak HTTP/2. It needs the extra `http2`, and `ssl` without versions before TLS 1.2 and
    suites with CBC."""
    event_loop: Literal["auto", "asyncio", "uvloop"] = "auto"
    """The event loop. `auto` is uvloop if it is installed, else asyncio."""
    generation_header: bool = True
    """Whether answers identify the files in force by the header `X-Tornado-Proxy-Generation`."""
    trusted_proxies: tuple[Annotated[str, values.network], ...] = ()
    """Addresses and networks of proxies whose headers about the client are trusted."""
    proxy_protocol: bool = False
    """Whether connections from `trustedProxies` begin with a header of the PROXY protocol, version 1 or 2."""
    public_path: Annotated[str, values.public_path] = ""
    """The path below which proxies offer the service, and which they take off, such as `/files`. Links, redirects and
    cookies begin with it. If it is empty, `X-Forwarded-Prefix` of `trustedProxies` counts."""
    health_path: PagePath = ""
    """The path that answers the checks of load balancers, such as `/-/healthz`. It hides an object of the same path;
    empty disables it."""
    cors: Cors | None = None
    """Access for pages of other origins (CORS)."""
    cache: CacheHeaders | None = None
    """Headers about caching."""
    compress: Compress = Compress()
    """Compression of answers."""


class InternalServer(Listener, frozen=True):
    """The admin listener: health, metrics, status. Keep it away from clients."""

    port: Port = 9090
    """The port. 0 selects any free port."""
    read_only: bool = False
    """Whether commands, such as a reload, are accepted on the Unix socket of `--admin-socket` only."""
    kept_requests: Annotated[int, Bounds(0, 10_000)] = 500
    """How many of the last requests a draft of rules is tried on. Each process keeps so many in memory: method, host,
    path and key, but no query, headers or user. 0 keeps none."""


class Limits(SettingsSection, frozen=True):
    """Limits on everything that a client can make large or slow."""

    max_header_size: Annotated[int, Size(KIB, 16 * MIB)] = 64 * KIB
    """The largest size of the request line and headers together."""
    max_form_field_size: Annotated[int, Size(KIB, 64 * MIB)] = 64 * KIB
    """The largest size of an upload's form without its file."""
    idle_timeout: Timeout = 75.0
    """How long a connection may be idle between requests."""
    header_timeout: Timeout = 60.0
    """How long a client may take to send the request line and headers."""
    body_timeout: Timeout = 60.0
    """How long a client may pause while it sends a body. On average over this time, it must send 1 KiB a second."""
    send_timeout: Timeout = 60.0
    """How long a client may pause while it reads an answer. On average over this time, it must read 1 KiB a second."""


class S3Pool(SettingsSection, frozen=True):
    """Options for calls to a target's bucket."""

    threads: Annotated[int, Bounds(1, 1024)] = 32
    """How many calls of boto3 run at once for a target; each has a thread and a connection."""
    queue: Annotated[int, Bounds(0, 1_000_000)] = 1000
    """How many calls of a target wait for a thread, or five seconds for a connection; others are answered with 503."""
    upload_memory: Annotated[int, Size(5 * MIB, 1024 * GIB)] = 128 * MIB
    """The memory for uploads of all targets in a process, as it is filled; uploads without any wait."""
    read_memory: Annotated[int, Size(MIB, 1024 * GIB)] = 1536 * MIB
    """The memory for bodies on their way to clients, of all targets in a process: 128 KiB for each; further reads wait
    five seconds, and are then answered with 503."""
    resumes: Annotated[int, Bounds(0, 100)] = 8
    """How often in a row a read that breaks off is resumed where it stopped, within the target's `timeout`; 0 never
    resumes."""
    release_after: Annotated[float, Duration(0.1, DAY)] = 2.0
    """How long a client may pause before its connection to S3 is let go; the read is resumed when the client reads
    on."""
    reads: Literal["loop", "executor"] = "loop"
    """Whether objects are read on the event loop, or by boto3 in threads."""
    connections: Annotated[int, Bounds(1, 65_536)] = 512
    """How many connections the event loop uses to read from a target, at most a fifth of the descriptors for all
    targets; further requests wait."""
    probe_interval: Annotated[float, Duration(0, DAY)] = 60.0
    """The time between two probes of the buckets, plus or minus a tenth. 0 disables probes."""
    ready_needs_bucket: bool = False
    """Whether `/-/ready` answers 503 until the last probe of at least one bucket succeeded."""


class Reload(SettingsSection, frozen=True):
    """The tests of an edit before it is put in force."""

    tests: Literal["refuse", "warn", "off"] = "warn"
    """What happens if a rule test of a changed target fails: the edit is refused, or a warning is logged. `off` runs no
    tests."""
    probe: Literal["refuse", "warn", "off"] = "warn"
    """What happens if a bucket that an edit adds or changes cannot be used: the edit is refused, or a warning is
    logged. `off` does not ask S3."""
    test_timeout: Timeout = 10.0
    """How long the tests may run. Tests that have not finished by then count as failed."""


class Log(SettingsSection, frozen=True):
    """The log on standard error, or in systemd's journal."""

    level: LogLevel = "info"
    """The least severe level that is logged."""
    format: Literal["text", "json"] = "text"
    """Whether lines are text or JSON."""
    access: bool = True
    """Whether each request is logged, whatever the level."""
    access_levels: bool = False
    """Whether lines of text about requests with a 5xx have the level `error`."""


class Tracing(SettingsSection, frozen=True):
    """Traces of OpenTelemetry, sent by OTLP over HTTP; needs the extra `otel`."""

    shape = "such as `{endpoint: http://127.0.0.1:4318/v1/traces}`"

    endpoint: Annotated[GuardedUrl, values.bare_url]
    """The URL that traces are sent to."""
    secret_headers: SecretHeaders = ()
    """Headers of the calls, by name."""
    service_name: Line = "tornado-proxy"
    """The name of the service in traces."""
    sampled_percent: Annotated[int, Bounds(0, 100)] = 100
    """The percentage of requests that are traced, unless their `traceparent` header decides."""
