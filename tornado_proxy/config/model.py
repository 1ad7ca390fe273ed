"""What a configuration says, with every default filled in: nothing here is optional that a request would ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tornado_proxy.config.secrets import Secret
from tornado_proxy.lang.source import Span


@dataclass(frozen=True, slots=True)
class Mount:
    """Host pattern and path prefixes that lead to a target; an empty host is any host."""

    host: str = ""
    paths: tuple[str, ...] = ("/",)  # each starts and ends with `/`


@dataclass(frozen=True, slots=True)
class Credentials:
    """An access key pair, with a session token if it has one."""

    access_key: Secret
    secret_key: Secret
    session_token: Secret | None = None


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket and how to reach it; two equal ones share a client."""

    name: str
    prefix: str = ""  # a directory: no leading slash, one closing slash; empty is the whole bucket
    leading_slash: bool = False
    region: str = "us-east-1"
    s3_endpoint: str | None = None
    disable_ssl: bool = False
    force_path_style: bool = False
    credentials: Credentials | None = None  # None: boto3's own chain
    list_max_keys: int = 1000
    connect_timeout: float = 5.0  # seconds
    read_timeout: float = 30.0  # seconds
    max_attempts: int = 3
    part_size: int = 8 * 1024 * 1024  # bytes of one part of an upload; S3 takes 5 MiB to 5 GiB


@dataclass(frozen=True, slots=True)
class GetAction:
    """GET, and HEAD with it."""

    enabled: bool = True
    index_document: str = ""
    redirect_with_trailing_slash_for_not_found_file: bool = False
    disable_listing: bool = False
    redirect_to_signed_url: bool = False
    signed_url_expiration: int = 900  # seconds; S3 takes up to 7 days


@dataclass(frozen=True, slots=True)
class HeadAction:
    """HEAD; it obeys GET's configuration."""

    enabled: bool = True


@dataclass(frozen=True, slots=True)
class PutAction:
    """Uploads; `max_size` in bytes, None is S3's own limit."""

    enabled: bool = False
    allow_override: bool = False
    max_size: int | None = None


@dataclass(frozen=True, slots=True)
class DeleteAction:
    """Removal of files."""

    enabled: bool = False


@dataclass(frozen=True, slots=True)
class Actions:
    """What a target does."""

    get: GetAction = field(default_factory=GetAction)
    head: HeadAction = field(default_factory=HeadAction)
    put: PutAction = field(default_factory=PutAction)
    delete: DeleteAction = field(default_factory=DeleteAction)

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that are enabled, in the order of an Allow header."""
        pairs = (("GET", self.get), ("HEAD", self.head), ("PUT", self.put), ("DELETE", self.delete))
        return tuple(name for name, action in pairs if action.enabled)


@dataclass(frozen=True, slots=True)
class BasicUser:
    """A user of a resource and the password, or its bcrypt or argon2 hash; `span` is where the password is named."""

    user: str
    password: Secret
    span: Span | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Resource:
    """Who may use the request paths that a glob covers; the first that matches path and method decides."""

    path: str
    methods: tuple[str, ...] = ("GET", "HEAD")  # GET never without HEAD
    white_list: bool = False
    provider: str | None = None
    users: tuple[BasicUser, ...] = ()


@dataclass(frozen=True, slots=True)
class BasicProvider:
    """Basic authentication (RFC 7617) under a realm."""

    name: str
    realm: str


@dataclass(frozen=True, slots=True)
class Target:
    """A named bucket with its mount, prefix, actions and resources; its rules are found by its name."""

    name: str
    mount: Mount
    bucket: Bucket
    actions: Actions = field(default_factory=Actions)
    resources: tuple[Resource, ...] = ()


@dataclass(frozen=True, slots=True)
class Listener:
    """Where a server listens; port 0 is any free one, an empty address every interface."""

    address: str = "127.0.0.1"
    port: int = 8080


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on everything that a client can make large."""

    max_header_size: int = 64 * 1024  # bytes
    max_form_field_size: int = 64 * 1024  # bytes, of all parts that are not the file
    idle_timeout: float = 75.0  # seconds, a connection without a request
    body_timeout: float = 60.0  # seconds without a byte of a request's body
    send_timeout: float = 60.0  # seconds in which a client takes nothing


@dataclass(frozen=True, slots=True)
class S3Pool:
    """The executor that makes a target's blocking calls: `threads` at once, a connection for each."""

    threads: int = 32


@dataclass(frozen=True, slots=True)
class Log:
    """How much the log says, and in which form."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["text", "json"] = "text"


@dataclass(frozen=True, slots=True)
class Settings:
    """A whole configuration: everything that the service does, but for the rules."""

    targets: tuple[Target, ...] = ()
    rules: tuple[Path, ...] = ()
    server: Listener = field(default_factory=Listener)
    internal_server: Listener = field(default_factory=lambda: Listener(port=9090))
    basic_providers: tuple[BasicProvider, ...] = ()
    limits: Limits = field(default_factory=Limits)
    s3: S3Pool = field(default_factory=S3Pool)
    log: Log = field(default_factory=Log)
    grace_period: float = 30.0  # seconds in which running requests may end when the service stops
    directory: Path = field(default_factory=Path)  # of the configuration file: what relative paths start from
    rule_spans: Mapping[Path, Span] = field(default_factory=dict, repr=False, compare=False)  # where it names the rules
