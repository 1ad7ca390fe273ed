"""What a configuration file may say of a target: its mount, its bucket, what may be done with it and by whom.

Defaults stand in `config.model`; here they are only named.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema, model_validator

from tornado_proxy.config import values
from tornado_proxy.config.model import Bucket, DeleteAction, GetAction, HeadAction, PutAction, Resource
from tornado_proxy.config.quantities import DAY, GIB, MIB, Duration, Size
from tornado_proxy.config.secrets import Reference, Source
from tornado_proxy.config.section import Line, Omittable, OneOrMany, Section, Timeout, matching
from tornado_proxy.config.values import Misfit

_BUCKET = Bucket("")
_GET = GetAction()
_HEAD = HeadAction()
_PUT = PutAction()
_DELETE = DeleteAction()
_RESOURCE = Resource("/")

Host = Annotated[str, AfterValidator(values.host), matching(values.HOST)]
MountPath = Annotated[str, AfterValidator(values.mount_path)]
BucketName = Annotated[str, AfterValidator(values.bucket_name), matching(values.BUCKET)]
Prefix = Annotated[str, AfterValidator(values.prefix)]
Region = Annotated[str, AfterValidator(values.region), matching(values.REGION)]
Endpoint = Annotated[str, AfterValidator(values.endpoint), WithJsonSchema({"type": "string", "minLength": 1})]
Glob = Annotated[str, AfterValidator(values.glob), matching(values.ROOTED)]
UserName = Annotated[str, AfterValidator(values.user_name), matching(values.USER_NAME)]
Variable = Annotated[str, AfterValidator(values.variable), matching(values.VARIABLE)]
Credential = Annotated[str, AfterValidator(values.credential), matching(values.CREDENTIAL)]
IndexDocument = Annotated[str, AfterValidator(values.index_document)]
Method = Literal["GET", "HEAD", "PUT", "DELETE"]


class SecretSection(Section):
    """Where a secret stands: exactly one of the four."""

    model_config = ConfigDict(title="Secret", json_schema_extra={"minProperties": 1, "maxProperties": 1})
    shape = "a secret is named, not written: `{env: NAME}`, `{path: FILE}` or `{credential: NAME}`"

    env: Annotated[Variable | None, Omittable()] = Field(
        default=None, description="The environment variable that holds it."
    )
    path: Annotated[Line | None, Omittable()] = Field(
        default=None, description="The file that holds it, relative to the configuration file; one line end is trimmed."
    )
    credential: Annotated[Credential | None, Omittable()] = Field(
        default=None, description="The systemd credential that holds it (`LoadCredential=` in the unit)."
    )
    value: Annotated[str | None, Omittable()] = Field(
        default=None, description="The secret itself; whoever reads the file knows it, so a warning is given."
    )

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if len(self._given()) != 1:
            message = f"names {'more than one' if self._given() else 'no'} place to find the secret"
            raise Misfit(message, self.shape, "secret-reference")
        return self

    def _given(self) -> list[Reference]:
        texts = ((source, getattr(self, source.value)) for source in Source)
        return [Reference(source, text) for source, text in texts if text is not None]

    @property
    def reference(self) -> Reference:
        """The one place that is named."""
        return self._given()[0]


class MountSection(Section):
    """The host and the paths that lead to a target."""

    model_config = ConfigDict(title="Mount")
    shape = "such as `{host: files.example.org, path: [/]}`"

    host: Host = Field(
        default="", description="A host without its port, or a pattern: `*` is one label or more. Empty is any host."
    )
    path: Annotated[list[MountPath], OneOrMany(), Field(min_length=1)] = Field(
        default=["/"], description="Path prefixes, matched at segment borders; taken off before the key is made."
    )


class CredentialsSection(Section):
    """An access key pair."""

    model_config = ConfigDict(title="S3 credentials")
    shape = "such as `{accessKey: {env: NAME}, secretKey: {path: FILE}}`"

    access_key: SecretSection = Field(examples=[{"env": "S3_ACCESS_KEY"}], description="The access key's identifier.")
    secret_key: SecretSection = Field(examples=[{"env": "S3_SECRET_KEY"}], description="The secret access key.")
    session_token: Annotated[SecretSection | None, Omittable()] = Field(
        default=None, description="The token that temporary credentials come with."
    )


class BucketSection(Section):
    """A bucket and how to reach it."""

    model_config = ConfigDict(title="Bucket")
    shape = "such as `{name: my-bucket, region: eu-west-1}`"

    name: BucketName = Field(examples=["my-bucket"], description="The bucket's name, or an access point's ARN.")
    prefix: Prefix = Field(
        default=_BUCKET.prefix,
        description="The directory of the bucket that is served; put in front of every key, unseen by rules.",
    )
    leading_slash: bool = Field(
        default=_BUCKET.leading_slash,
        description="Whether object keys start with `/`, as some tools have written them.",
    )
    region: Region = Field(default=_BUCKET.region, description="The bucket's region.")
    s3_endpoint: Annotated[Endpoint | None, Omittable()] = Field(
        default=None, description="The URL of an S3 server that is not AWS; without a scheme, `disableSSL` tells it."
    )
    disable_ssl: bool = Field(
        default=_BUCKET.disable_ssl,
        alias="disableSSL",
        description="Whether to speak HTTP where `s3Endpoint` has no scheme.",
    )
    s3_force_path_style: bool = Field(
        default=_BUCKET.force_path_style,
        description="Whether the bucket's name goes into the path instead of the host name.",
    )
    credentials: Annotated[CredentialsSection | None, Omittable()] = Field(
        default=None,
        description="The key pair; left out, boto3 looks for one (environment, profile, web identity, instance).",
    )
    s3_list_max_keys: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=_BUCKET.list_max_keys, description="The entries on a page of a listing; S3 gives at most 1000 at once."
    )
    connect_timeout: Timeout = Field(
        default=_BUCKET.connect_timeout, description="How long a connection to S3 may take."
    )
    read_timeout: Timeout = Field(default=_BUCKET.read_timeout, description="How long S3 may send nothing.")
    max_attempts: Annotated[int, Field(ge=1, le=20)] = Field(
        default=_BUCKET.max_attempts, description="How often a call to S3 is tried, the first time included."
    )
    part_size: Annotated[int, Size(5 * MIB, 5 * GIB)] = Field(
        default=_BUCKET.part_size,
        description="The bytes of one part of an upload to S3, held in memory until they are sent.",
    )


class GetConfigSection(Section):
    """How GET and HEAD answer."""

    model_config = ConfigDict(title="GET configuration")

    index_document: IndexDocument = Field(
        default=_GET.index_document,
        description="The file that is served for a directory that has it, such as `index.html`.",
    )
    redirect_with_trailing_slash_for_not_found_file: bool = Field(
        default=_GET.redirect_with_trailing_slash_for_not_found_file,
        description="Whether a missing file is redirected to the directory of that name, if there is one.",
    )
    disable_listing: bool = Field(
        default=_GET.disable_listing, description="Whether directories are answered with 403."
    )
    redirect_to_signed_url: bool = Field(
        default=_GET.redirect_to_signed_url,
        description="Whether clients are sent to a signed URL of S3 instead of getting the file from here.",
    )
    signed_url_expiration: Annotated[float, Duration(1, 7 * DAY)] = Field(
        default=_GET.signed_url_expiration, description="How long a signed URL is valid; S3 takes at most 7 days."
    )


class GetSection(Section):
    """GET, and HEAD with it."""

    model_config = ConfigDict(title="GET")

    enabled: bool = Field(default=_GET.enabled, description="Whether files and directories can be fetched.")
    config: GetConfigSection = Field(default_factory=GetConfigSection, description="How GET and HEAD answer.")


class HeadSection(Section):
    """HEAD; it obeys GET's configuration."""

    model_config = ConfigDict(title="HEAD")

    enabled: bool = Field(
        default=_HEAD.enabled, description="Whether HEAD is answered, in the way in which GET would be."
    )


class PutConfigSection(Section):
    """How uploads are taken."""

    model_config = ConfigDict(title="PUT configuration")

    allow_override: bool = Field(
        default=_PUT.allow_override,
        description="Whether an upload may replace a file; if not, it is answered with 409.",
    )
    max_size: Annotated[Annotated[int, Size(1)] | None, Omittable()] = Field(
        default=None, description="The bytes that an uploaded file may have; left out, as many as S3 takes."
    )


class PutSection(Section):
    """Uploads."""

    model_config = ConfigDict(title="PUT")

    enabled: bool = Field(default=_PUT.enabled, description="Whether files can be uploaded.")
    config: PutConfigSection = Field(default_factory=PutConfigSection, description="How uploads are taken.")


class DeleteSection(Section):
    """Removal of files."""

    model_config = ConfigDict(title="DELETE")

    enabled: bool = Field(default=_DELETE.enabled, description="Whether files can be removed.")


class ActionsSection(Section):
    """What clients may do at all; who may do it is said by `resources`."""

    model_config = ConfigDict(title="Actions")

    get: GetSection = Field(default_factory=GetSection, alias="GET", description="Fetching.")
    head: HeadSection = Field(default_factory=HeadSection, alias="HEAD", description="Asking for headers only.")
    put: PutSection = Field(default_factory=PutSection, alias="PUT", description="Uploading.")
    delete: DeleteSection = Field(default_factory=DeleteSection, alias="DELETE", description="Removing.")


class BasicUserSection(Section):
    """A user and the password."""

    model_config = ConfigDict(title="User")
    shape = "such as `{user: ann, password: {env: NAME}}`"

    user: UserName = Field(
        examples=["ann"], description="The name; one segment of a path, since rules put it into keys."
    )
    password: SecretSection = Field(
        examples=[{"env": "PASSWORD_OF_ANN"}], description="The password, or its bcrypt or argon2 hash."
    )


class ResourceBasicSection(Section):
    """Who may sign in with a password."""

    model_config = ConfigDict(title="Basic authentication of a resource")
    shape = "such as `{credentials: [{user: ann, password: {env: NAME}}]}`"

    credentials: list[BasicUserSection] = Field(
        min_length=1, examples=[[{"user": "ann", "password": {"env": "PASSWORD_OF_ANN"}}]], description="Who may."
    )


class ResourceSection(Section):
    """Who may use the request paths that a glob covers; the first that matches path and method decides."""

    model_config = ConfigDict(title="Resource")
    shape = "such as `{path: /public/**, whiteList: true}`"

    path: Glob = Field(
        examples=["/public/**"],
        description="A glob over the whole request path, mount included: `*` within a segment, `**` across any number.",
    )
    methods: list[Method] = Field(
        default=["GET"], min_length=1, description="The methods that it speaks of; HEAD goes with GET."
    )
    white_list: bool = Field(default=_RESOURCE.white_list, description="Whether nobody need sign in.")
    provider: Annotated[Line | None, Omittable()] = Field(
        default=None, description="The name of the provider, from `authProviders`, with which users sign in."
    )
    basic: Annotated[ResourceBasicSection | None, Omittable()] = Field(
        default=None, description="Who may sign in, if the provider is one of basic authentication."
    )


class TargetSection(Section):
    """A bucket, where it is mounted, and what may be done with it."""

    model_config = ConfigDict(title="Target")
    shape = "such as `{mount: {path: [/]}, bucket: {name: my-bucket}}`"

    mount: MountSection = Field(default_factory=MountSection, description="The host and the paths that lead here.")
    bucket: BucketSection = Field(examples=[{"name": "my-bucket"}], description="The bucket and how to reach it.")
    actions: ActionsSection = Field(default_factory=ActionsSection, description="What clients may do.")
    resources: list[ResourceSection] = Field(
        default_factory=list,
        min_length=1,
        description="Who may do it, in order; left out, anyone. Where none matches, nobody may.",
    )
