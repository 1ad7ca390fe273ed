"""The settings: each field made by `option` is an option of the configuration file, with its type, default and meaning.

To add an option, add a field here, its row in docs/configuration.md (a test prints it) and a test of what it does.
Values that the checks of `values` bring into one form stand here in that form; defaults are filled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Literal, get_args

from tornado_proxy.config import values
from tornado_proxy.config.actions import Actions, UserName
from tornado_proxy.config.options import (
    DAY,
    GIB,
    KIB,
    MIB,
    Bounds,
    Constraint,
    Duration,
    Mark,
    OptionGroup,
    Size,
    option,
    place_of,
)
from tornado_proxy.config.pages import ListingOptions, TargetTemplates, Templates, ThemeOptions
from tornado_proxy.config.providers import (
    AUTH_PROVIDERS,
    Authorization,
    BasicProvider,
    CertificateProvider,
    HeaderProvider,
    Line,
    OidcProvider,
    OpaServer,
)
from tornado_proxy.config.secrets import Credentials, Secret
from tornado_proxy.config.server import InternalServer, Limits, Log, Reload, S3Pool, Server, Timeout, Tracing
from tornado_proxy.lang.diagnostic import Span

Host = Annotated[str, Constraint(values.host, (("pattern", values.HOST),))]
MountPath = Annotated[str, Constraint(values.mount_path)]
BucketName = Annotated[str, Constraint(values.bucket_name)]
Prefix = Annotated[str, Constraint(values.prefix)]
Region = Annotated[str, Constraint(values.region)]
Endpoint = Annotated[str, Constraint(values.endpoint, (("minLength", 1),))]
Glob = Annotated[str, Constraint(values.glob, (("pattern", values.ROOTED),))]
Method = Literal["GET", "HEAD", "PUT", "DELETE"]


def _with_head(methods: tuple[str, ...]) -> tuple[str, ...]:
    """The methods in the order of an Allow header; HEAD goes with GET."""
    named = {*methods} | ({"HEAD"} if "GET" in methods else set())
    return tuple(method for method in get_args(Method) if method in named)


def _distinct(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))


@dataclass(frozen=True, slots=True)
class Mount:
    """The host and the paths that lead to a target."""

    shape: ClassVar[str] = "such as `{host: files.example.org, path: [/]}`"

    host: Host = option(
        "A host without its port, or a pattern: `*` is one label or more. Empty is any host.", default=""
    )
    paths: Annotated[tuple[MountPath, ...], Mark.ONE_OR_MANY, Mark.NOT_EMPTY, Constraint(_distinct)] = option(
        "Path prefixes, compared segment by segment and removed to make the key.", default=("/",), name="path"
    )


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket and how to reach it. Equal buckets share a client."""

    shape: ClassVar[str] = "such as `{name: my-bucket, region: eu-west-1}`"

    name: BucketName = option("The bucket's name, or an access point's ARN.")
    prefix: Prefix = option(  # a directory: no leading slash, one closing slash; empty is the whole bucket
        "The directory of the bucket that is served, the start of every object key. Rules do not see it.", default=""
    )
    leading_slash: bool = option("Whether object keys start with `/`, as some tools write them.", default=False)
    region: Region = option("The bucket's region.", default="us-east-1")
    s3_endpoint: Endpoint | None = option(
        "The URL of an S3 server that is not AWS. Without a scheme, `disableSSL` decides it.", default=None
    )
    disable_ssl: bool = option(
        "Whether to use HTTP where `s3Endpoint` has no scheme.", default=False, name="disableSSL"
    )
    force_path_style: bool = option(
        "Whether the bucket's name is part of the path instead of the host name.",
        default=False,
        name="s3ForcePathStyle",
    )
    credentials: Credentials | None = option(
        "The key pair. Without one, boto3 looks for credentials (environment, profile, web identity, instance).",
        default=None,
    )
    anonymous: bool = option("Whether requests to S3 are sent without credentials, for a public bucket.", default=False)
    list_max_keys: Annotated[int, Bounds(1, 1000)] = option(
        "The entries on a page of a listing; S3 returns at most 1000 at once.", default=1000, name="s3ListMaxKeys"
    )
    connect_timeout: Timeout = option("How long connecting to S3 may take.", default=5.0)
    read_timeout: Timeout = option("How long S3 may neither send nor receive anything.", default=30.0)
    timeout: Timeout = option("How long S3 may take to answer, including retries.", default=60.0)
    max_attempts: Annotated[int, Bounds(1, 20)] = option("How often a call to S3 is attempted in all.", default=3)
    part_size: Annotated[int, Size(5 * MIB, 5 * GIB)] = option(
        "The size of the parts of an upload to S3, which are held in memory until they are sent.", default=8 * MIB
    )


@dataclass(frozen=True, slots=True)
class BasicUser:
    """A user of a resource and the password, or its bcrypt or argon2 hash."""

    shape: ClassVar[str] = "such as `{user: ann, password: {env: NAME}}`"

    user: UserName = option("The name. It must be one segment of a path, because rules insert it into keys.")
    password: Annotated[Secret, Mark.MAY_BE_HASHED] = option("The password, or its bcrypt or argon2 hash.")
    span: Span | None = place_of("password")


_RESOURCE_BASIC = OptionGroup(
    "basic",
    "Access for users of a `basic` provider.",
    "such as `{credentials: [{user: ann, password: {env: NAME}}]}`",
)


@dataclass(frozen=True, slots=True)
class Resource:
    """Who may use the request paths that a glob covers; the first that matches path and method decides."""

    shape: ClassVar[str] = "such as `{path: /public/**, whiteList: true}`"

    path: Glob = option(
        "A glob that matches the whole request path, mount included: `*` within a segment, `**` across segments.",
    )
    methods: Annotated[tuple[Method, ...], Mark.NOT_EMPTY, Constraint(_with_head)] = option(
        "The methods that it covers. GET includes HEAD.", default=("GET", "HEAD")
    )
    white_list: bool = option("Whether everyone has access without signing in.", default=False)
    provider: Line | None = option(
        "The name of the provider, from `authProviders`, with which users sign in.", default=None
    )
    users: Annotated[tuple[BasicUser, ...], Mark.NOT_EMPTY] = option(
        "The users who have access.", default=(), name="credentials", group=_RESOURCE_BASIC
    )
    opa: OpaServer | None = option(
        "A policy server that must also allow the request.",
        default=None,
        name="authorizationOPAServer",
        group=_RESOURCE_BASIC,
    )
    oidc: Authorization | None = option("Access for users of an `oidc` provider.", default=None)
    header: Authorization | None = option("Access for users of a `header` provider.", default=None)
    client_certificate: Authorization | None = option(
        "Access for users of a `clientCertificate` provider.", default=None
    )

    @property
    def authorization(self) -> Authorization | None:
        """Who may pass, of those who signed in otherwise than with a password."""
        return self.oidc or self.header or self.client_certificate


@dataclass(frozen=True, slots=True)
class ObjectCache:
    """The cache of small objects in memory."""

    shape: ClassVar[str] = "such as `{maxAge: 10s}`"

    max_age: Annotated[float, Duration(0.1, DAY)] = option(
        "How long an object is served without asking S3. Its own Cache-Control or Expires can shorten it.", default=10.0
    )
    max_size: Annotated[int, Size(MIB, 1024 * GIB)] = option(
        "The memory of the cache in each process, for this target.", default=256 * MIB
    )
    max_object_size: Annotated[int, Size(KIB, GIB)] = option(
        "The size of the largest object that is cached.", default=MIB
    )


@dataclass(frozen=True, slots=True)
class Target:
    """A named bucket with its mount, prefix, actions and resources; its rules are found by its name."""

    shape: ClassVar[str] = "such as `{mount: {path: [/]}, bucket: {name: my-bucket}}`"

    name: str
    mount: Mount = option("The host and the paths of the target.", default=Mount())
    bucket: Bucket = option("The bucket and how to reach it.", default=Bucket(""), required=True)
    actions: Actions = option("What clients may do, by method.", default=Actions())
    resources: Annotated[tuple[Resource, ...], Mark.NOT_EMPTY] = option(
        "Who has access to which paths, in order. Without resources, everyone has access; with some, "
        "requests that match none are refused.",
        default=(),
    )
    pages: ThemeOptions | None = option("The look of the target's pages, in place of that of all pages.", default=None)
    listing: ListingOptions = option("What listings contain.", default=ListingOptions())
    cache: ObjectCache | None = option(
        "The cache of objects in memory. Without this section, there is none.", default=None
    )
    templates: TargetTemplates = option("Custom pages of the target.", default=TargetTemplates())


@dataclass(frozen=True, slots=True)
class TargetList:
    """The page of all targets with their links."""

    shape: ClassVar[str] = "such as `{enabled: true, mount: {path: [/]}}`"

    enabled: bool = option("Whether the page exists.", default=False)
    mount: Mount = option("The host and the paths of the page itself.", default=Mount())
    resource: Resource | None = option("Who may see the page. By default, everyone.", default=None)


Provider = BasicProvider | OidcProvider | HeaderProvider | CertificateProvider


@dataclass(frozen=True, slots=True)
class Settings:
    """A whole configuration: everything but the rules."""

    server: Server = option("The server for clients.", default=Server())
    internal_server: InternalServer = option("The admin listener.", default=InternalServer())
    rules: Annotated[tuple[Path, ...], Mark.ONE_OR_MANY] = option(
        "Rule files, and directories of `*.rules` files, in order, relative to the configuration file.", default=()
    )
    basic_providers: Annotated[tuple[BasicProvider, ...], Mark.BY_NAME] = option(
        "Providers of basic authentication, by the name that resources use.",
        default=(),
        name="basic",
        group=AUTH_PROVIDERS,
    )
    oidc_providers: Annotated[tuple[OidcProvider, ...], Mark.BY_NAME] = option(
        "Providers of OpenID Connect, by the name that resources use.", default=(), name="oidc", group=AUTH_PROVIDERS
    )
    header_providers: Annotated[tuple[HeaderProvider, ...], Mark.BY_NAME] = option(
        "Proxies that sign users in, by the name that resources use.",
        default=(),
        name="header",
        group=AUTH_PROVIDERS,
    )
    certificate_providers: Annotated[tuple[CertificateProvider, ...], Mark.BY_NAME] = option(
        "Sign-in by certificates of clients, by the name that resources use.",
        default=(),
        name="clientCertificate",
        group=AUTH_PROVIDERS,
    )
    list_targets: TargetList | None = option("The page of all targets.", default=None)
    targets: Annotated[tuple[Target, ...], Mark.BY_NAME] = option(
        "The targets by name. `target NAME { … }` in a rule file refers to the same name.",
        default=(),
    )
    templates: Templates = option("Custom pages of all targets.", default=Templates())
    pages: ThemeOptions | None = option(
        "The look of the pages outside of targets, such as errors of a sign-in, and of targets without `pages`.",
        default=None,
    )
    limits: Limits = option("Limits for clients.", default=Limits())
    s3: S3Pool = option("Resources for calls to S3.", default=S3Pool())
    reload: Reload = option("How edits are tested before they are put in force.", default=Reload())
    log: Log = option("The log.", default=Log())
    tracing: Tracing | None = option("Traces of requests. Without it, there are none.", default=None)
    directory: Path = field(default_factory=Path)  # of the configuration file: what relative paths start from
    rule_spans: Mapping[Path, Span] = field(default_factory=dict, repr=False, compare=False)  # where it names the rules

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The resources of all targets, and that of the page of all targets."""
        page = self.list_targets.resource if self.list_targets else None
        own = (resource for target in self.targets for resource in target.resources)
        return (*own, page) if page else tuple(own)

    @property
    def providers(self) -> tuple[Provider, ...]:
        """All ways to sign in."""
        return (*self.basic_providers, *self.oidc_providers, *self.header_providers, *self.certificate_providers)
