"""What a configuration file may say, section by section: its checks, its JSON Schema and its docs come from here.

Defaults stand in `config.model`; here they are only named.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field

from tornado_proxy.config import values
from tornado_proxy.config.model import Limits, Listener, Log, S3Pool, Settings
from tornado_proxy.config.quantities import DAY, KIB, MIB, Duration, Size
from tornado_proxy.config.section import Line, OneOrMany, Section, Timeout
from tornado_proxy.config.target_sections import TargetSection

_SETTINGS = Settings()
_LIMITS = Limits()
_LOG = Log()

Address = Annotated[str, AfterValidator(values.listen_address)]
Port = Annotated[int, Field(ge=0, le=65535)]


class ListenerSection(Section):
    """Where a server listens."""

    model_config = ConfigDict(title="Listener")

    listen_addr: Address = Field(
        default=Listener().address, description="The address; an empty string listens on every interface."
    )
    port: Port = Field(default=Listener().port, description="The port; 0 is any free one.")


class ServerSection(ListenerSection):
    """The server that clients talk to."""

    model_config = ConfigDict(title="Server")

    grace_period: Annotated[float, Duration(0, DAY)] = Field(
        default=_SETTINGS.grace_period, description="How long running requests may take to end when the service stops."
    )


class InternalServerSection(ListenerSection):
    """The admin listener: health, metrics, status. Keep it away from clients."""

    model_config = ConfigDict(title="Internal server")

    port: Port = Field(default=_SETTINGS.internal_server.port, description="The port; 0 is any free one.")


class BasicProviderSection(Section):
    """Basic authentication (RFC 7617)."""

    model_config = ConfigDict(title="Basic authentication provider")
    shape = "such as `{realm: Files}`"

    realm: Line = Field(
        examples=["Files"], description="The realm, which browsers show when they ask for the password."
    )


class AuthProvidersSection(Section):
    """The ways to sign in, by name."""

    model_config = ConfigDict(title="Authentication providers")

    basic: dict[Line, BasicProviderSection] = Field(
        default_factory=dict, description="Providers of basic authentication, by the name that resources use."
    )


class LimitsSection(Section):
    """Bounds on what a client can make large or slow."""

    model_config = ConfigDict(title="Limits")

    max_header_size: Annotated[int, Size(KIB, 16 * MIB)] = Field(
        default=_LIMITS.max_header_size, description="The bytes of a request's line and headers."
    )
    max_form_field_size: Annotated[int, Size(KIB, 64 * MIB)] = Field(
        default=_LIMITS.max_form_field_size, description="The bytes of all parts of an upload's form but the file."
    )
    idle_timeout: Timeout = Field(
        default=_LIMITS.idle_timeout, description="How long a connection without a request is kept."
    )
    body_timeout: Timeout = Field(
        default=_LIMITS.body_timeout, description="How long a client may send nothing of a body."
    )
    send_timeout: Timeout = Field(
        default=_LIMITS.send_timeout, description="How long a client may take nothing of an answer."
    )


class S3Section(Section):
    """The calls to S3 of all targets together."""

    model_config = ConfigDict(title="S3 calls")

    threads: Annotated[int, Field(ge=1, le=1024)] = Field(
        default=S3Pool().threads,
        description="How many calls run at once for a target; each has a thread and a connection.",
    )


class LogSection(Section):
    """The log on standard error."""

    model_config = ConfigDict(title="Log")

    level: Literal["debug", "info", "warning", "error"] = Field(
        default=_LOG.level, description="The least weight that is told."
    )
    format: Literal["text", "json"] = Field(default=_LOG.format, description="Lines for people or for programs.")


class ConfigurationSection(Section):
    """The configuration of tornado-proxy."""

    model_config = ConfigDict(title="tornado-proxy configuration")

    server: ServerSection = Field(default_factory=ServerSection, description="The server that clients talk to.")
    internal_server: InternalServerSection = Field(
        default_factory=InternalServerSection, description="The admin listener."
    )
    rules: Annotated[list[Line], OneOrMany()] = Field(
        default_factory=list,
        description="Rule files, and directories of `*.rules` files, in order, relative to the configuration file.",
    )
    auth_providers: AuthProvidersSection = Field(
        default_factory=AuthProvidersSection, description="The ways to sign in."
    )
    targets: dict[Line, TargetSection] = Field(
        min_length=1, description="The targets by name; a rule file's `target NAME { … }` speaks of the same name."
    )
    limits: LimitsSection = Field(default_factory=LimitsSection, description="Bounds on what a client can do.")
    s3: S3Section = Field(default_factory=S3Section, description="The calls to S3 of all targets together.")
    log: LogSection = Field(default_factory=LogSection, description="The log.")
