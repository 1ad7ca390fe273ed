"""The settings: each field made by `option` is an option of the configuration file, with its type, default and meaning.

Defaults are filled in, and values are in the form that the checks of `values` return.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar

from tornado_proxy.config import values
from tornado_proxy.config.actions import Actions, HeaderTemplates
from tornado_proxy.config.options import Mark, flag, option, optional, place_of, several
from tornado_proxy.config.providers import (
    AUTH_PROVIDERS,
    BasicProvider,
    CertificateProvider,
    HeaderProvider,
    Line,
    OidcProvider,
    Provider,
    Resource,
)
from tornado_proxy.config.quantities import DAY, GIB, KIB, MIB, Bounds, Duration, Size
from tornado_proxy.config.secrets import Credentials
from tornado_proxy.config.server import InternalServer, Limits, Log, Reload, S3Pool, Server, Timeout, Tracing
from tornado_proxy.lang.diagnostic import Span

Host = Annotated[str, values.host]
_PICTURES = (".svg", ".png", ".jpg", ".jpeg", ".webp", ".gif")  # that browsers show
NamePattern = Annotated[str, values.name_pattern]
LogoPlace = Annotated[str, partial(values.asset_place, endings=_PICTURES)]
SheetPlace = Annotated[str, partial(values.asset_place, endings=(".css",))]
StatusTemplate = Annotated[str, values.status_template]
MountPath = Annotated[str, values.mount_path]
BucketName = Annotated[str, values.bucket_name]
Prefix = Annotated[str, values.prefix]
Region = Annotated[str, values.region]
Endpoint = Annotated[str, values.endpoint]
S3Headers = Annotated[tuple[tuple[str, Annotated[str, values.s3_header]], ...], Mark.PAIRS, values.s3_headers]


def _distinct(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))


@dataclass(frozen=True, slots=True)
class Mount:
    """The host and the paths that lead to a target."""

    host: Host = option(
        "A host name without a port, or a pattern in which `*` matches one label or more. Empty matches any host.",
        default="",
    )
    paths: Annotated[tuple[MountPath, ...], Mark.ONE_OR_MANY, Mark.NOT_EMPTY, _distinct] = option(
        "Path prefixes. They are compared segment by segment; the rest of the path is the key.",
        default=("/",),
        name="path",
    )
    host_span: Span | None = place_of("host")


@dataclass(frozen=True, slots=True)
class CallHeaders:
    """Headers that are added to calls to S3, by the kind of the call. They are not secret."""

    shape: ClassVar[str] = "such as `{getHeaders: {x-amz-request-payer: requester}}`"

    list_headers: S3Headers = several("Headers of listings.")
    get_headers: S3Headers = several("Headers of GET and HEAD. Those that begin with `x-amz-` are part of signed URLs.")
    put_headers: S3Headers = several(
        "Headers of all calls that an upload makes. Of those that describe the object, such as encryption, each call"
        " has the ones that S3 takes for it. The form of a direct upload has those that begin with `x-amz-`."
    )
    delete_headers: S3Headers = several("Headers of DELETE.")


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket with its address and credentials. Equal buckets share a client."""

    shape: ClassVar[str] = "such as `{name: my-bucket, region: eu-west-1}`"

    name: BucketName = option("The bucket's name, `tenant:name` on Ceph, or an access point's ARN.")
    prefix: Prefix = option(  # a directory: no leading slash, one closing slash; empty is the whole bucket
        "What the key of every object that is served begins with. Rules do not see it.", default=""
    )
    leading_slash: bool = flag("Whether object keys start with `/`, as some tools write them.")
    region: Region = option("The bucket's region.", default="us-east-1")
    s3_endpoint: Endpoint | None = optional(
        "The URL of an S3 server that is not AWS. If it has no scheme, `disableSSL` selects one."
    )
    disable_ssl: bool = flag("Whether to use HTTP if `s3Endpoint` has no scheme.", name="disableSSL")
    force_path_style: bool = flag(
        "Whether the bucket's name is part of the path instead of the host name.", name="s3ForcePathStyle"
    )
    credentials: Credentials | None = optional(
        "The key pair. Without one, boto3 looks for credentials (environment, profile, web identity, instance)."
    )
    anonymous: bool = flag("Whether requests to S3 are sent without credentials, for a public bucket.")
    request_config: CallHeaders = option("Headers that are added to calls to S3.", default=CallHeaders())
    list_max_keys: Annotated[int, Bounds(1, 10_000)] = option(
        "The most entries on a page of a listing. The service's own pages have 1000 at most; a page of your own"
        " (`folderList`) gets all of them, which S3 returns in several answers.",
        default=1000,
        name="s3ListMaxKeys",
    )
    connect_timeout: Timeout = option("How long connecting to S3 may take.", default=5.0)
    read_timeout: Timeout = option("How long S3 may neither send nor receive anything.", default=30.0)
    timeout: Timeout = option("How long S3 may take to answer, including retries.", default=60.0)
    max_attempts: Annotated[int, Bounds(1, 20)] = option("How often a call to S3 is attempted in all.", default=3)
    part_size: Annotated[int, Size(5 * MIB, 5 * GIB)] = option(
        "The size of the parts of a large upload to S3. Two of them are held in memory.", default=5 * MIB
    )
    span: Span | None = place_of("name")


@dataclass(frozen=True, slots=True)
class RulesBucket:
    """Rules in a bucket, which `tornado-proxy push` puts there. A string is short for `s3` alone."""

    shape: ClassVar[str] = "such as `{s3: s3://my-bucket/rules/, region: eu-west-1}`"

    s3: Annotated[str, values.rules_url] = option("The place: `s3://BUCKET/PREFIX/`.")
    region: Region | None = optional("The bucket's region. By default, the one that boto3 finds, else `us-east-1`.")
    s3_endpoint: Endpoint | None = optional(
        "The URL of an S3 server that is not AWS. By default, the one that boto3 finds."
    )
    force_path_style: bool = flag(
        "Whether the bucket's name is part of the path instead of the host name.", name="s3ForcePathStyle"
    )
    credentials: Credentials | None = optional(
        "The key pair. Without one, boto3 looks for credentials (environment, profile, web identity, instance)."
    )

    def __str__(self) -> str:
        return self.s3


@dataclass(frozen=True, slots=True)
class PageOptions:
    """A page: its Go template, and the templates of its headers and its status."""

    path: Line | None = optional(
        "The file of the template, relative to the configuration file. The default is the service's page."
    )
    headers: HeaderTemplates = several(
        "Headers and their templates. A header whose template has an empty result is omitted."
    )
    status: StatusTemplate = option("The status, or its template. The default is the page's usual status.", default="")
    path_span: Span | None = place_of("path")
    headers_span: Span | None = place_of("headers")
    status_span: Span | None = place_of("status")


@dataclass(frozen=True, slots=True)
class TargetPageOptions(PageOptions):
    """A page of a target, whose template may lie in its bucket."""

    in_bucket: bool = flag("Whether `path` is the key of an object in the target's bucket, prefix included.")


@dataclass(frozen=True, slots=True)
class HelperOptions:
    """A file of helper templates of a target."""

    shape: ClassVar[str] = "such as `{path: pages/helpers.tpl}`"

    path: Line = option("The file, relative to the configuration file.")
    in_bucket: bool = flag("Whether `path` is the key of an object in the target's bucket, prefix included.")
    path_span: Span | None = place_of("path")


_LIST, _MISSING = "The page of a directory.", "The page of a 404."
_UNAUTHORIZED, _FORBIDDEN = "The page of a 401.", "The page of a 403 or 409."
_BAD, _FAILED = "The page of a 400, 408, 413, 415 or 431.", "The page of a 500, 502, 503 or 504."
_PUT, _DELETE = "The answer to an upload.", "The answer to a deletion."


@dataclass(frozen=True, slots=True)
class Templates:
    """Custom pages for all targets."""

    helpers: tuple[Line, ...] = several(
        "Files of helper templates for pages and rules, relative to the configuration file."
    )
    folder_list: PageOptions | None = optional(_LIST)
    target_list: PageOptions | None = optional("The page of all targets.")
    not_found_error: PageOptions | None = optional(_MISSING)
    unauthorized_error: PageOptions | None = optional(_UNAUTHORIZED)
    forbidden_error: PageOptions | None = optional(_FORBIDDEN)
    bad_request_error: PageOptions | None = optional(_BAD)
    internal_server_error: PageOptions | None = optional(_FAILED)
    put: PageOptions | None = optional(_PUT)
    delete: PageOptions | None = optional(_DELETE)
    helpers_span: Span | None = place_of("helpers")


@dataclass(frozen=True, slots=True)
class TargetTemplates:
    """Custom pages for a target, which replace the general ones."""

    helpers: tuple[HelperOptions, ...] = several("Files of helper templates, which replace those for all targets.")
    folder_list: TargetPageOptions | None = optional(_LIST)
    not_found_error: TargetPageOptions | None = optional(_MISSING)
    unauthorized_error: TargetPageOptions | None = optional(_UNAUTHORIZED)
    forbidden_error: TargetPageOptions | None = optional(_FORBIDDEN)
    bad_request_error: TargetPageOptions | None = optional(_BAD)
    internal_server_error: TargetPageOptions | None = optional(_FAILED)
    put: TargetPageOptions | None = optional(_PUT)
    delete: TargetPageOptions | None = optional(_DELETE)


@dataclass(frozen=True, slots=True)
class ArchiveOptions:
    """Downloads of a directory as one file, which is made while it is sent."""

    enabled: bool = flag("Whether `?format=zip` and `?format=tar` download a directory with everything below it.")
    max_size: Annotated[int, Size(1)] = option(
        "The largest sum of the sizes of all files; a larger directory is answered with 403.", default=GIB
    )
    max_files: Annotated[int, Bounds(1, 100_000)] = option(
        "The most files and directories; they are listed before the answer begins.", default=10_000
    )


@dataclass(frozen=True, slots=True)
class ListingOptions:
    """The contents of the listings of a target."""

    directories_first: bool = option(
        "Whether directories come before files in pages, and in other formats if the client asks for an order.",
        default=True,
    )
    hidden: tuple[NamePattern, ...] = several(
        "Names that are left out of listings; `*` is any part of a name, `?` one character. A hidden file can still"
        " be requested: to protect it, use `resources`."
    )
    readme: bool = flag("Whether a README (Markdown or text) is shown below the list.")
    archive: ArchiveOptions = option("Directories as one file.", default=ArchiveOptions())


@dataclass(frozen=True, slots=True)
class ThemeOptions:
    """The look of the service's own pages."""

    title: Line | None = optional("The name that pages show instead of the mount's path, and that ends their titles.")
    logo: LogoPlace | None = optional(
        "The picture beside the title: a URL or a file (SVG, PNG, JPEG, WebP, GIF) relative to the configuration file."
    )
    css: SheetPlace | None = optional(
        "A style sheet that is loaded after the service's own: a URL, or a file relative to the configuration file."
    )
    templates: Line | None = optional(
        "A directory, relative to the configuration file, of Jinja templates that replace the service's own."
    )
    logo_span: Span | None = place_of("logo")
    css_span: Span | None = place_of("css")
    templates_span: Span | None = place_of("templates")


PAGES = tuple(each.name for each in fields(Templates) if each.name not in ("helpers", "helpers_span"))
"""The pages that a configuration can replace, by the names of their attributes."""


@dataclass(frozen=True, slots=True)
class ObjectCache:
    """The cache of small objects in memory."""

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
    resources: Annotated[tuple[Resource, ...], Mark.NOT_EMPTY] = several(
        "Who has access to which paths, in order. Without resources, everyone has access; with some, "
        "requests that match none are refused."
    )
    pages: ThemeOptions | None = optional("The look of the target's pages, which replaces that of all pages.")
    listing: ListingOptions = option("What listings contain.", default=ListingOptions())
    cache: ObjectCache | None = optional("The cache of objects in memory. Without this section, there is none.")
    templates: TargetTemplates = option("Custom pages of the target.", default=TargetTemplates())


@dataclass(frozen=True, slots=True)
class TargetList:
    """The page of all targets with their links."""

    enabled: bool = flag("Whether the page exists.")
    mount: Mount = option("The host and the paths of the page itself.", default=Mount())
    resource: Resource | None = optional("Who may see the page. By default, everyone.")


@dataclass(frozen=True, slots=True)
class Settings:
    """A whole configuration: everything but the rules."""

    server: Server = option("The server for clients.", default=Server())
    internal_server: InternalServer = option("The admin listener.", default=InternalServer())
    rules: Annotated[tuple[Path | RulesBucket, ...], Mark.ONE_OR_MANY] = several(
        "Rule files, and directories of `*.rules` files, relative to the configuration file, and places in buckets"
        " (`s3://BUCKET/PREFIX/`), in order."
    )
    basic_providers: Annotated[tuple[BasicProvider, ...], Mark.BY_NAME] = several(
        "Providers of basic authentication, by the name that resources use.", name="basic", group=AUTH_PROVIDERS
    )
    oidc_providers: Annotated[tuple[OidcProvider, ...], Mark.BY_NAME] = several(
        "Providers of OpenID Connect, by the name that resources use.", name="oidc", group=AUTH_PROVIDERS
    )
    header_providers: Annotated[tuple[HeaderProvider, ...], Mark.BY_NAME] = several(
        "Proxies that sign users in, by the name that resources use.", name="header", group=AUTH_PROVIDERS
    )
    certificate_providers: Annotated[tuple[CertificateProvider, ...], Mark.BY_NAME] = several(
        "Sign-in by certificates of clients, by the name that resources use.",
        name="clientCertificate",
        group=AUTH_PROVIDERS,
    )
    list_targets: TargetList | None = optional("The page of all targets.")
    targets: Annotated[tuple[Target, ...], Mark.BY_NAME] = several(
        "The targets by name. `target NAME { … }` in a rule file refers to the same name."
    )
    templates: Templates = option("Custom pages of all targets.", default=Templates())
    pages: ThemeOptions | None = optional(
        "The look of pages that belong to no target, such as errors of a sign-in, and of targets without `pages`."
    )
    limits: Limits = option("Limits for clients.", default=Limits())
    s3: S3Pool = option("How S3 is called and probed.", default=S3Pool())
    reload: Reload = option("How an edit of the files is tested before it is used.", default=Reload())
    log: Log = option("The log.", default=Log())
    tracing: Tracing | None = optional("Traces of requests. Without this section, none are sent.")
    directory: Path = field(default_factory=Path)  # of the configuration file; relative paths start from it
    rule_spans: Mapping[Path | RulesBucket, Span] = field(
        default_factory=dict, repr=False, compare=False
    )  # the places of `rules`

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The resources of all targets, and of the page that lists them."""
        page = self.list_targets.resource if self.list_targets else None
        own = (resource for target in self.targets for resource in target.resources)
        return (*own, page) if page else tuple(own)

    @property
    def providers(self) -> tuple[Provider, ...]:
        """All ways to sign in."""
        return (*self.basic_providers, *self.oidc_providers, *self.header_providers, *self.certificate_providers)
