"""The settings: each field made by `option` is an option of the configuration file, with its type, default and meaning.

Defaults are filled in, and values are in the form that the checks of `values` return.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Generic, Literal, TypeVar

from msgspec import field

from tornado_proxy.config import values
from tornado_proxy.config.actions import Actions, HeaderTemplates
from tornado_proxy.config.options import ByName, Mark, NoOption, OptionGroup, Pairs, SettingsSection
from tornado_proxy.config.providers import (
    BasicProvider,
    CertificateProvider,
    HeaderProvider,
    Line,
    OidcProvider,
    Provider,
    Resource,
)
from tornado_proxy.config.secrets import Credentials
from tornado_proxy.config.server import InternalServer, Limits, Log, Reload, S3Pool, Server, Timeout, Tracing
from tornado_proxy.config.values import DAY, GIB, KIB, MIB, Bounds, Duration, Size
from tornado_proxy.rules.diagnostic import Span
from tornado_proxy.rules.model import KeyFolding

_PICTURES = (".svg", ".png", ".jpg", ".jpeg", ".webp", ".gif")  # that browsers show
Region = Annotated[str, values.region]
Endpoint = Annotated[str, values.endpoint]
S3Headers = Annotated[Pairs[Annotated[str, values.s3_header]], values.s3_headers]


MountPaths = Annotated[
    tuple[Annotated[str, values.mount_path], ...],
    Mark.ONE_OR_MANY,
    Mark.NOT_EMPTY,
    lambda paths: tuple(dict.fromkeys(paths)),
]


class Mount(SettingsSection, frozen=True):
    """The host and the paths that lead to a target."""

    shape = "such as `{path: [/files]}`"

    host: Annotated[str, values.host] = ""
    """A host name without a port, or a pattern in which `*` matches one label or more. Empty matches any host."""
    paths: MountPaths = field(name="path", default=("/",))
    """Path prefixes. They are compared segment by segment; the rest of the path is the key."""


class CallHeaders(SettingsSection, frozen=True):
    """Headers that are added to calls to S3, by the kind of the call. They are not secret."""

    shape = "such as `{getHeaders: {x-amz-request-payer: requester}}`"

    list_headers: S3Headers = ()
    """Headers of listings."""
    get_headers: S3Headers = ()
    """Headers of GET and HEAD. Those that begin with `x-amz-` are part of signed URLs."""
    put_headers: S3Headers = ()
    """Headers of all calls that an upload makes. Of those that describe the object, such as encryption, each call has
    the ones that S3 takes for it. The form of a direct upload has those that begin with `x-amz-`."""
    delete_headers: S3Headers = ()
    """Headers of DELETE."""


class Bucket(SettingsSection, frozen=True):
    """A bucket with its address and credentials. Equal buckets share a client."""

    shape = "such as `{name: my-bucket, region: eu-west-1}`"

    name: Annotated[str, values.bucket_name]
    """The bucket's name, `tenant:name` on Ceph, or an access point's ARN."""
    prefix: Annotated[str, values.prefix] = ""
    """What the key of every object that is served begins with. Rules do not see it."""
    leading_slash: bool = False
    """Whether object keys start with `/`, as some tools write them."""
    region: Region = "us-east-1"
    """The bucket's region."""
    s3_endpoint: Endpoint | None = None
    """The URL of an S3 server that is not AWS. If it has no scheme, `disableSSL` selects one."""
    disable_ssl: bool = field(name="disableSSL", default=False)
    """Whether to use HTTP if `s3Endpoint` has no scheme."""
    force_path_style: bool = field(name="s3ForcePathStyle", default=False)
    """Whether the bucket's name is part of the path instead of the host name."""
    ca_path: Path | None = None
    """The certificates of the authorities of the S3, in a file or a directory, relative to the configuration file. The
    default is the bundle of AWS_CA_BUNDLE, REQUESTS_CA_BUNDLE or SSL_CERT_FILE, or else the authorities of the system
    and those of boto3."""
    credentials: Credentials | None = None
    """The key pair. Without one, boto3 looks for credentials (environment, profile, web identity, instance)."""
    folding: tuple[KeyFolding, ...] = ("emptySegments",)
    """What the store does not see in a key ([folded keys](routing.md#folded-keys)). Access is decided for a path as it
    was sent, and as the store reads it. `[]` is for a store that keeps all keys apart and a bucket in which keys such
    as `a//b` need resources of their own."""
    anonymous: bool = False
    """Whether requests to S3 are sent without credentials, for a public bucket."""
    request_config: CallHeaders = CallHeaders()
    """Headers that are added to calls to S3."""
    list_max_keys: Annotated[int, Bounds(1, 10_000)] = field(name="s3ListMaxKeys", default=1000)
    """The most entries on a page of a listing. The service's own pages have 1000 at most; a page of your own
    (`folderList`) gets all of them, which S3 returns in several answers. Programs get `listing.maxEntries`."""
    connect_timeout: Timeout = 5.0
    """How long connecting to S3 may take."""
    read_timeout: Timeout = 30.0
    """How long S3 may neither send nor receive anything."""
    timeout: Timeout = 60.0
    """How long S3 may take to answer, including retries."""
    max_attempts: Annotated[int, Bounds(1, 20)] = 3
    """How often a call to S3 is attempted in all."""
    part_size: Annotated[int, Size(5 * MIB, 5 * GIB)] = 5 * MIB
    """The size of the parts of a large upload to S3. Two of them are held in memory."""
    conditional_writes: Literal["tried", "trusted", "headBefore"] = "tried"
    """How an upload replaces no file without `allowOverride`, and none that the client's If-Match or If-None-Match
    forbids. S3 checks that as part of the write; whether it does is `tried` once by each process, with objects of its
    own that it removes, or `trusted`. With `headBefore` a HEAD just before each write does: that is weaker, since two
    uploads at the same moment can replace each other. It is for an S3 that knows no such conditions, to which uploads
    fail otherwise."""
    checksums: Literal["when_required", "when_supported", "md5"] = "when_required"
    """When uploads have a checksum that S3 verifies: once S3 has refused one without (`when_required`; Content-MD5 is
    tried first, then CRC32), or always, as CRC32 (`when_supported`) or as Content-MD5 (`md5`), which older S3s know. It
    is never in a trailer."""


class PageOptions(SettingsSection, frozen=True):
    """A page: its Go template, and the templates of its headers and its status."""

    path: Line | None = None
    """The file of the template, relative to the configuration file. The default is the service's page."""
    headers: HeaderTemplates = ()
    """Headers and their templates. A header whose template has an empty result is omitted."""
    status: Annotated[str, values.status_template] = ""
    """The status, or its template. The default is the page's usual status."""


class TargetPageOptions(PageOptions, frozen=True):
    """A page of a target, whose template may lie in its bucket."""

    in_bucket: bool = False
    """Whether `path` is the key of an object in the target's bucket, prefix included."""


_Page = TypeVar("_Page", bound=PageOptions)


class HelperOptions(SettingsSection, frozen=True):
    """A file of helper templates of a target."""

    shape = "such as `{path: pages/helpers.tpl}`"

    path: Line
    """The file, relative to the configuration file."""
    in_bucket: bool = False
    """Whether `path` is the key of an object in the target's bucket, prefix included."""


class PageTemplates(SettingsSection, Generic[_Page], frozen=True):
    """The custom pages that all targets and a single one can have."""

    folder_list: _Page | None = None
    """The page of a directory."""
    not_found_error: _Page | None = None
    """The page of a 404."""
    unauthorized_error: _Page | None = None
    """The page of a 401."""
    forbidden_error: _Page | None = None
    """The page of a 403 or 409."""
    bad_request_error: _Page | None = None
    """The page of a 400, 408, 413, 415 or 431."""
    internal_server_error: _Page | None = None
    """The page of a 500, 502, 503 or 504."""
    put: _Page | None = None
    """The answer to an upload."""
    delete: _Page | None = None
    """The answer to a deletion."""


class Templates(PageTemplates[PageOptions], frozen=True):
    """Custom pages for all targets."""

    target_list: PageOptions | None = None
    """The page of all targets."""
    helpers: tuple[Line, ...] = ()
    """Files of helper templates for pages and rules, relative to the configuration file."""


class TargetTemplates(PageTemplates[TargetPageOptions], frozen=True):
    """Custom pages for a target, which replace the general ones."""

    helpers: tuple[HelperOptions, ...] = ()
    """Files of helper templates, which replace those for all targets."""


class ArchiveOptions(SettingsSection, frozen=True):
    """Downloads of a directory as one file, which is made while it is sent."""

    enabled: bool = False
    """Whether `?format=zip` and `?format=tar` download a directory with everything below it."""
    max_size: Annotated[int, Size(1)] = GIB
    """The largest sum of the sizes of all files; a larger directory is answered with 403."""
    max_files: Annotated[int, Bounds(1, 100_000)] = 10_000
    """The most files and directories; they are listed before the answer begins."""


class ListingOptions(SettingsSection, frozen=True):
    """The contents of the listings of a target."""

    directories_first: bool = True
    """Whether directories come before files in pages, and in other formats if the client asks for an order."""
    hidden: tuple[Annotated[str, values.name_pattern], ...] = ()
    """Names that are left out of listings; `*` is any part of a name, `?` one character. A hidden file can still be
    requested: to protect it, use `resources`."""
    max_entries: Annotated[int, Bounds(1, 1_000_000)] = 10_000
    """The most entries of a directory that a program gets in one answer; a larger one is answered with 403. People get
    pages."""
    readme: bool = False
    """Whether a README (Markdown or text) is shown below the list. It needs the extra `readme`."""
    archive: ArchiveOptions = ArchiveOptions()
    """Directories as one file."""


class ThemeOptions(SettingsSection, frozen=True):
    """The look of the service's own pages."""

    title: Line | None = None
    """The name that pages show instead of the mount's path, and that ends their titles."""
    logo: Annotated[str, partial(values.asset_place, endings=_PICTURES)] | None = None
    """The picture beside the title: a URL or a file (SVG, PNG, JPEG, WebP, GIF) relative to the configuration file."""
    css: Annotated[str, partial(values.asset_place, endings=(".css",))] | None = None
    """A style sheet that is loaded after the service's own: a URL, or a file relative to the configuration file."""
    templates: Line | None = None
    """A directory, relative to the configuration file, of Jinja templates that replace the service's own."""


PAGES = tuple(name for name in Templates.__struct_fields__ if name not in ("helpers", "place"))
"""The pages that a configuration can replace, by the names of their attributes."""


class ObjectCache(SettingsSection, frozen=True):
    """The cache of small objects in memory."""

    max_age: Annotated[float, Duration(0.1, DAY)] = 10.0
    """How long an object is served without asking S3. Its own Cache-Control or Expires can shorten it."""
    max_size: Annotated[int, Size(MIB, 1024 * GIB)] = 256 * MIB
    """The memory of the cache in each process, for this target."""
    max_object_size: Annotated[int, Size(KIB, GIB)] = MIB
    """The size of the largest object that is cached."""


class Target(SettingsSection, frozen=True):
    """A named bucket with its mount, prefix, actions and resources; its rules are found by its name."""

    shape = "such as `{mount: {path: [/]}, bucket: {name: my-bucket}}`"

    name: NoOption[str]
    mount: Mount = Mount()
    """The host and the paths of the target."""
    bucket: Annotated[Bucket, Mark.REQUIRED] = Bucket("")
    """The bucket and how to reach it."""
    actions: Actions = Actions()
    """What clients may do, by method."""
    resources: Annotated[tuple[Resource, ...], Mark.NOT_EMPTY] = ()
    """Who has access to which paths, in order. Without resources, everyone has access; with some, requests that match
    none are refused."""
    pages: ThemeOptions | None = None
    """The look of the target's pages, which replaces that of all pages."""
    listing: ListingOptions = ListingOptions()
    """What listings contain."""
    cache: ObjectCache | None = None
    """The cache of objects in memory. Without this section, there is none."""
    templates: TargetTemplates = TargetTemplates()
    """Custom pages of the target."""


class TargetList(SettingsSection, frozen=True):
    """The page of all targets with their links."""

    enabled: bool = False
    """Whether the page exists."""
    mount: Mount = Mount()
    """The host and the paths of the page itself."""
    resource: Resource | None = None
    """Who may see the page. By default, everyone."""


class Settings(SettingsSection, frozen=True):
    """A whole configuration: everything but the rules."""

    groups = (OptionGroup("authProviders", "The ways to sign in."),)

    server: Server = Server()
    """The server for clients."""
    internal_server: InternalServer = InternalServer()
    """The admin listener."""
    rules: Annotated[tuple[Path, ...], Mark.ONE_OR_MANY] = ()
    """Rule files, and directories of `*.rules` files, relative to the configuration file, in
    order."""
    basic_providers: ByName[BasicProvider] = field(name="authProviders.basic", default=())
    """Providers of basic authentication, by the name that resources use."""
    oidc_providers: ByName[OidcProvider] = field(name="authProviders.oidc", default=())
    """Providers of OpenID Connect, by the name that resources use."""
    header_providers: ByName[HeaderProvider] = field(name="authProviders.header", default=())
    """Proxies that sign users in, by the name that resources use."""
    certificate_providers: ByName[CertificateProvider] = field(name="authProviders.clientCertificate", default=())
    """Sign-in by certificates of clients, by the name that resources use."""
    list_targets: TargetList | None = None
    """The page of all targets."""
    targets: ByName[Target] = ()
    """The targets by name. `target NAME { … }` in a rule file refers to the same name."""
    templates: Templates = Templates()
    """Custom pages of all targets."""
    pages: ThemeOptions | None = None
    """The look of pages that belong to no target, such as errors of a sign-in, and of targets without `pages`."""
    limits: Limits = Limits()
    """Limits for clients."""
    s3: S3Pool = S3Pool()
    """How S3 is called and probed."""
    reload: Reload = Reload()
    """How an edit of the files is tested before it is used."""
    log: Log = Log()
    """The log."""
    tracing: Tracing | None = None
    """Traces of requests. Without this section, none are sent."""
    directory: NoOption[Path] = Path()  # of the configuration file; relative paths start from it

    @property
    def rule_spans(self) -> dict[Path, Span | None]:
        """The places of `rules`."""
        return dict(zip(self.rules, self.place.values("rules"), strict=False))

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
