"""The actions of a target: the methods that clients may use, their options, and their webhooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from tornado_proxy.config import values
from tornado_proxy.config.options import Mark, OptionGroup, flag, option, optional, place_of, several
from tornado_proxy.config.providers import HttpUrl, Line, UserName
from tornado_proxy.config.quantities import DAY, Bounds, Duration, Size
from tornado_proxy.config.secrets import Secret
from tornado_proxy.lang.diagnostic import Span
from tornado_proxy.semantics.request import METHODS

IndexDocument = Annotated[str, values.index_document]
Template = Annotated[str, values.property_template]
CannedAcl = Literal[
    "private",
    "public-read",
    "public-read-write",
    "authenticated-read",
    "aws-exec-read",
    "bucket-owner-read",
    "bucket-owner-full-control",
]
HeaderTemplates = Annotated[tuple[tuple[str, str], ...], Mark.PAIRS, values.header_templates]
SecretHeaders = Annotated[tuple[tuple[str, Secret], ...], Mark.PAIRS, values.header_pairs]
Metadata = Annotated[tuple[tuple[str, Template], ...], Mark.PAIRS, values.header_pairs]
MediaType = Annotated[str, values.media_type]
_Wait = Annotated[float, Duration(0, DAY)]

_GET_CONFIG = OptionGroup("config", "Options of GET and HEAD.")
_PUT_CONFIG = OptionGroup("config", "Options of uploads.")
_HEAD_CONFIG = OptionGroup("config", "Options of HEAD.")
_DELETE_CONFIG = OptionGroup("config", "Options of DELETE.")


@dataclass(frozen=True, slots=True)
class Webhook:
    """A call to another server after each successful request of an action; the answer does not wait for it."""

    shape: ClassVar[str] = "such as `{url: https://hooks.example.org/files}`"

    url: HttpUrl = option("The URL that is called.")
    method: Literal["POST", "PUT", "PATCH", "DELETE"] = option("The method.", default="POST")
    headers: Annotated[tuple[tuple[str, str], ...], Mark.PAIRS, values.header_values] = several("Headers by name.")
    secret_headers: SecretHeaders = several("Headers whose values are secrets, by name.")
    retry_count: Annotated[int, Bounds(0, 100)] = option(
        "How often a failed call is repeated. A call fails if it is answered with 429 or 5xx, or not at all.", default=0
    )
    default_wait_time: _Wait = option(
        "How long the first repetition waits. Each further one waits twice as long as the one before.", default=0.1
    )
    max_wait_time: _Wait = option("How long a repetition waits at most.", default=2.0)
    timeout: Annotated[float, Duration(0.1, 3600)] = option("How long one call may take.", default=10.0)


@dataclass(frozen=True, slots=True)
class GetAction:
    """GET, and HEAD with it."""

    enabled: bool = option("Whether files and directories can be read.", default=True)
    index_document: IndexDocument = option(
        "The file that is served for a directory, if it exists, such as `index.html`. It may lie below the directory,"
        " such as `pages/index.html`.",
        default="",
        group=_GET_CONFIG,
    )
    redirect_with_trailing_slash_for_not_found_file: bool = flag(
        "Whether a missing file is redirected to the directory of that name, if there is one.", group=_GET_CONFIG
    )
    disable_listing: bool = flag(
        "Whether directories without an index document are answered with 403.", group=_GET_CONFIG
    )
    redirect_to_signed_url: bool = flag(
        "Whether clients are redirected to a signed URL of S3 instead of getting the file from this service.",
        group=_GET_CONFIG,
    )
    user_isolation: bool = flag(
        "Whether each user has a separate prefix below the bucket's, named after the user. It applies "
        "to all methods and is not visible in paths.",
        group=_GET_CONFIG,
    )
    user_isolation_admins: tuple[UserName, ...] = several(
        "Users who have access to the prefixes of all users.", group=_GET_CONFIG
    )
    signed_url_expiration: Annotated[int, Duration(1, 7 * DAY)] = option(
        "How long a signed URL is valid; S3 accepts at most 7 days.", default=900, group=_GET_CONFIG
    )
    streamed_file_headers: HeaderTemplates = several(
        "Headers of files and their Go templates. A template with an empty result does not change its header.",
        group=_GET_CONFIG,
    )
    config_span: Span | None = place_of("config")
    content_security_policy: Line | None = optional(
        "The Content-Security-Policy of files, such as `sandbox`. Listings and errors have their own.",
        group=_GET_CONFIG,
    )
    active_content: Literal["auto", "attachment", "inline"] = option(
        "How browsers treat files that can run scripts, such as HTML and SVG: show them (`inline`) or save them"
        " (`attachment`). `auto` is `attachment` where uploads are enabled, else `inline`.",
        default="auto",
        group=_GET_CONFIG,
    )
    webhooks: tuple[Webhook, ...] = several("Calls after each successful GET.", group=_GET_CONFIG)


@dataclass(frozen=True, slots=True)
class HeadAction:
    """HEAD; it obeys GET's configuration."""

    enabled: bool = option("Whether HEAD is enabled.", default=True)
    webhooks: tuple[Webhook, ...] = several("Calls after each successful HEAD.", group=_HEAD_CONFIG)


@dataclass(frozen=True, slots=True)
class SystemMetadata:
    """The headers of stored uploads, which are also served; empty values are left out."""

    cache_control: Template = option("The template of Cache-Control.", default="")
    content_disposition: Template = option("The template of Content-Disposition.", default="")
    content_encoding: Template = option("The template of Content-Encoding.", default="")
    content_language: Template = option("The template of Content-Language.", default="")
    expires: Template = option("The template of Expires; its result is a time in the format of RFC 3339.", default="")


@dataclass(frozen=True, slots=True)
class PutAction:
    """Uploads."""

    enabled: bool = flag("Whether files can be uploaded.")
    allow_override: bool = flag("Whether an upload may replace a file; otherwise the answer is 409.", group=_PUT_CONFIG)
    max_size: Annotated[int, Size(1)] | None = optional(
        "The largest file that can be uploaded. The default is the limit of S3.", group=_PUT_CONFIG
    )
    raw_uploads: bool = flag(
        "Whether the request body can be the file itself, as `curl -T` sends it, if the path does not end in `/`.",
        group=_PUT_CONFIG,
    )
    allowed_types: Annotated[tuple[MediaType, ...], Mark.NOT_EMPTY] = several(
        "The types of files that can be uploaded, such as `application/pdf` or `image/*`. The default is all types.",
        group=_PUT_CONFIG,
    )
    metadata: Metadata = several(
        "The metadata of uploaded objects: names and templates. Empty values are left out.", group=_PUT_CONFIG
    )
    system_metadata: SystemMetadata = option(
        "The headers of uploaded objects, each a template.", default=SystemMetadata(), group=_PUT_CONFIG
    )
    storage_class: Template = option(
        "The template of the storage class of uploaded objects, such as `STANDARD_IA`.", default="", group=_PUT_CONFIG
    )
    canned_acl: CannedAcl | None = optional("The canned ACL of uploaded objects.", name="cannedACL", group=_PUT_CONFIG)
    direct_uploads: bool = flag(
        "Whether clients can request a form for uploading a file straight to S3.", group=_PUT_CONFIG
    )
    direct_upload_expiration: Annotated[int, Duration(1, DAY)] = option(
        "How long the form of a direct upload is valid.", default=300, group=_PUT_CONFIG
    )
    webhooks: tuple[Webhook, ...] = several("Calls after each successful upload.", group=_PUT_CONFIG)


@dataclass(frozen=True, slots=True)
class DeleteAction:
    """Removal of files."""

    enabled: bool = flag("Whether files can be deleted.")
    webhooks: tuple[Webhook, ...] = several("Calls after each successful DELETE.", group=_DELETE_CONFIG)


@dataclass(frozen=True, slots=True)
class Actions:
    """The methods that are enabled for a target; `resources` decides who may use them."""

    get: GetAction = option("Reading files and directories.", default=GetAction(), name="GET")
    head: HeadAction = option("Reading headers only.", default=HeadAction(), name="HEAD")
    put: PutAction = option("Uploads.", default=PutAction(), name="PUT")
    delete: DeleteAction = option("Deletion.", default=DeleteAction(), name="DELETE")

    @property
    def by_method(self) -> dict[str, GetAction | HeadAction | PutAction | DeleteAction]:
        """The action of each method."""
        return dict(zip(METHODS, (self.get, self.head, self.put, self.delete), strict=True))

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that are enabled, in the order of an Allow header."""
        return tuple(method for method, action in self.by_method.items() if action.enabled)
