"""The actions of a target: the methods that clients may use, their options, and their webhooks."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import field

from tornado_proxy.config import values
from tornado_proxy.config.options import Mark, OptionGroup, Pairs, SettingsSection, camel_case
from tornado_proxy.config.providers import HttpUrl, Line, UserName
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.values import DAY, Bounds, Duration, Size
from tornado_proxy.semantics.request import METHODS

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
HeaderTemplates = Annotated[Pairs[str], values.header_templates]
SecretHeaders = Annotated[Pairs[Secret], values.header_pairs]
Metadata = Annotated[Pairs[Template], values.header_pairs]
MediaType = Annotated[str, values.media_type]
_Wait = Annotated[float, Duration(0, DAY)]


def _in_config(name: str) -> str:
    return name if name == "enabled" else f"config.{camel_case(name)}"


class Webhook(SettingsSection, frozen=True):
    """A call to another server after each successful request of an action; the answer does not wait for it."""

    shape = "such as `{url: https://hooks.example.org/files}`"

    url: HttpUrl
    """The URL that is called."""
    method: Literal["POST", "PUT", "PATCH", "DELETE"] = "POST"
    """The method."""
    headers: Annotated[Pairs[str], values.header_values] = ()
    """Headers by name."""
    secret_headers: SecretHeaders = ()
    """Headers whose values are secrets, by name."""
    retry_count: Annotated[int, Bounds(0, 100)] = 0
    """How often a failed call is repeated. A call fails if it is answered with 429 or 5xx, or not at all."""
    default_wait_time: _Wait = 0.1
    """How long the first repetition waits. Each further one waits twice as long as the one before."""
    max_wait_time: _Wait = 2.0
    """How long a repetition waits at most."""
    timeout: Annotated[float, Duration(0.1, 3600)] = 10.0
    """How long one call may take."""


class GetAction(SettingsSection, frozen=True, rename=_in_config):
    """GET, and HEAD with it."""

    groups = (OptionGroup("config", "Options of GET and HEAD."),)

    enabled: bool = True
    """Whether files and directories can be read."""
    index_document: Annotated[str, values.index_document] = ""
    """The file that is served for a directory, if it exists, such as `index.html`. It may lie below the directory, such
    as `pages/index.html`."""
    redirect_with_trailing_slash_for_not_found_file: bool = False
    """Whether a missing file is redirected to the directory of that name, if there is one."""
    try_files: Annotated[tuple[str, ...], values.tried_files] = ()
    """Addresses below the mount that are tried in turn, at most 8, such as `["$path", "$path.html", "$path/",
    "/index.html"]`; `$path` is the requested one without its closing slash."""
    redirect_cache_control: Line = "no-cache"
    """The Cache-Control of redirects by rules, and by objects without their own, such as `max-age=3600`."""
    website_redirects: bool = False
    """Whether an object that has `x-amz-website-redirect-location` is answered with a 301 to there, as S3's website
    endpoint answers it."""
    disable_listing: bool = False
    """Whether directories without an index document are answered with 403."""
    redirect_to_signed_url: bool = False
    """Whether clients are redirected to a signed URL of S3 instead of getting the file from this service."""
    user_isolation: bool = False
    """Whether each user has a separate prefix below the bucket's, named after the user. It applies to all methods and
    is not visible in paths."""
    user_isolation_admins: tuple[UserName, ...] = ()
    """Users who have access to the prefixes of all users."""
    signed_url_expiration: Annotated[int, Duration(1, 7 * DAY)] = 900
    """How long a signed URL is valid; S3 accepts at most 7 days."""
    streamed_file_headers: HeaderTemplates = ()
    """Headers of files and their Go templates. A template with an empty result does not change its header."""
    content_security_policy: Line | None = None
    """The Content-Security-Policy of files, such as `sandbox`. Listings and errors have their own."""
    charset: Annotated[str, values.charset] | None = None
    """The charset of texts that are stored without one (`text/*`, JSON, XML, SVG, JavaScript), such as `utf-8`."""
    active_content: Literal["auto", "attachment", "inline"] = "auto"
    """How browsers treat files that can run scripts, such as HTML and SVG: show them (`inline`) or save them
    (`attachment`). `auto` is `attachment` where uploads are enabled, here or in another target that has the same files
    of a bucket, else `inline`."""
    webhooks: tuple[Webhook, ...] = ()
    """Calls after each successful GET."""


class HeadAction(SettingsSection, frozen=True, rename=_in_config):
    """HEAD; it obeys GET's configuration."""

    groups = (OptionGroup("config", "Options of HEAD."),)

    enabled: bool = True
    """Whether HEAD is enabled."""
    webhooks: tuple[Webhook, ...] = ()
    """Calls after each successful HEAD."""


class SystemMetadata(SettingsSection, frozen=True):
    """The headers of stored uploads, which are also served; empty values are left out."""

    cache_control: Template = ""
    """The template of Cache-Control."""
    content_disposition: Template = ""
    """The template of Content-Disposition."""
    content_encoding: Template = ""
    """The template of Content-Encoding."""
    content_language: Template = ""
    """The template of Content-Language."""
    expires: Template = ""
    """The template of Expires; its result is a time in the format of RFC 3339."""


class PutAction(SettingsSection, frozen=True, rename=_in_config):
    """Uploads."""

    groups = (OptionGroup("config", "Options of uploads."),)

    enabled: bool = False
    """Whether files can be uploaded."""
    allow_override: bool = False
    """Whether an upload may replace a file; otherwise the answer is 409."""
    max_size: Annotated[int, Size(1)] | None = None
    """The largest file that can be uploaded. The default is the limit of S3."""
    raw_uploads: bool = False
    """Whether the request body can be the file itself, as `curl -T` sends it, if the path does not end in `/`."""
    allowed_types: Annotated[tuple[MediaType, ...], Mark.NOT_EMPTY] = ()
    """The types of files that can be uploaded, such as `application/pdf` or `image/*`. The default is all types."""
    metadata: Metadata = ()
    """The metadata of uploaded objects: names and templates. Empty values are left out."""
    system_metadata: SystemMetadata = SystemMetadata()
    """The headers of uploaded objects, each a template."""
    storage_class: Template = ""
    """The template of the storage class of uploaded objects, such as `STANDARD_IA`."""
    canned_acl: CannedAcl | None = field(name="config.cannedACL", default=None)
    """The canned ACL of uploaded objects."""
    direct_uploads: bool = False
    """Whether clients can request a form for uploading a file straight to S3."""
    direct_upload_expiration: Annotated[int, Duration(1, DAY)] = 300
    """How long the form of a direct upload is valid."""
    webhooks: tuple[Webhook, ...] = ()
    """Calls after each successful upload."""


class DeleteAction(SettingsSection, frozen=True, rename=_in_config):
    """Removal of files."""

    groups = (OptionGroup("config", "Options of DELETE."),)

    enabled: bool = False
    """Whether files can be deleted."""
    webhooks: tuple[Webhook, ...] = ()
    """Calls after each successful DELETE."""


class Actions(SettingsSection, frozen=True, cache_hash=True, rename="upper"):
    """The methods that are enabled for a target; `resources` decides who may use them."""

    get: GetAction = GetAction()
    """Reading files and directories."""
    head: HeadAction = HeadAction()
    """Reading headers only."""
    put: PutAction = PutAction()
    """Uploads."""
    delete: DeleteAction = DeleteAction()
    """Deletion."""

    @property
    def by_method(self) -> dict[str, GetAction | HeadAction | PutAction | DeleteAction]:
        """The action of each method."""
        return {method: getattr(self, method.lower()) for method in METHODS}

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that are enabled, in the order of an Allow header."""
        return tuple(method for method, action in self.by_method.items() if action.enabled)
