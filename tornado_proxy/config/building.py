"""From valid sections to settings: values in their one form, secrets fetched."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tornado_proxy.config.model import (
    Actions,
    BasicProvider,
    BasicUser,
    Bucket,
    Credentials,
    DeleteAction,
    GetAction,
    HeadAction,
    Limits,
    Listener,
    Log,
    Mount,
    PutAction,
    Resource,
    S3Pool,
    Settings,
    Target,
)
from tornado_proxy.config.quoting import span_of
from tornado_proxy.config.scene import item_nodes
from tornado_proxy.config.secrets import Resolver, Secret, SecretMissing
from tornado_proxy.config.section import NOWHERE
from tornado_proxy.config.sections import ConfigurationSection, ListenerSection
from tornado_proxy.config.target_sections import (
    ActionsSection,
    BasicUserSection,
    BucketSection,
    CredentialsSection,
    MountSection,
    ResourceSection,
    SecretSection,
    TargetSection,
)
from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.lang.source import SourceFile

_HASHES = ("$2a$", "$2b$", "$2y$", "$argon2")
_METHODS = ("GET", "HEAD", "PUT", "DELETE")


def methods_of(resource: ResourceSection) -> tuple[str, ...]:
    """The methods that a resource speaks of, in the order of an Allow header; HEAD goes with GET."""
    named = {*resource.methods} | ({"HEAD"} if "GET" in resource.methods else set())
    return tuple(method for method in _METHODS if method in named)


def endpoint_of(bucket: BucketSection) -> str | None:
    """The URL of the S3 server, its scheme told by `disableSSL` where it has none."""
    if bucket.s3_endpoint is None or "://" in bucket.s3_endpoint:
        return bucket.s3_endpoint
    return f"{'http' if bucket.disable_ssl else 'https'}://{bucket.s3_endpoint}"


class Builder:
    """Makes settings of a configuration; what is to say of its secrets is collected in `diagnostics`.

    `directory` is the configuration file's.
    """

    def __init__(self, shown: SourceFile, secrets: Resolver, directory: Path) -> None:
        self.shown = shown
        self._secrets = secrets
        self._directory = directory
        self.diagnostics: list[Diagnostic] = []

    def settings(self, configuration: ConfigurationSection) -> Settings:
        """The settings; where a secret is missing, an empty one stands."""
        providers = configuration.auth_providers.basic.items()
        limits = configuration.limits
        places = [self._directory / place for place in configuration.rules]
        spans = [span_of(node, self.shown) for node in item_nodes(configuration, "rules")]
        return Settings(
            targets=tuple(self._target(name, each) for name, each in configuration.targets.items()),
            rules=tuple(places),
            server=_listener(configuration.server),
            internal_server=_listener(configuration.internal_server),
            basic_providers=tuple(BasicProvider(name, each.realm) for name, each in providers),
            limits=Limits(**limits.model_dump()),
            s3=S3Pool(configuration.s3.threads),
            log=Log(configuration.log.level, configuration.log.format),
            grace_period=configuration.server.grace_period,
            directory=self._directory,
            rule_spans=dict(zip(places, spans, strict=False)),  # no item where `rules` is left out
        )

    def _target(self, name: str, section: TargetSection) -> Target:
        return Target(
            name=name,
            mount=_mount(section.mount),
            bucket=self._bucket(section.bucket),
            actions=_actions(section.actions),
            resources=tuple(self._resource(each) for each in section.resources),
        )

    def _bucket(self, section: BucketSection) -> Bucket:
        return Bucket(
            name=section.name,
            prefix=section.prefix,
            leading_slash=section.leading_slash,
            region=section.region,
            s3_endpoint=endpoint_of(section),
            disable_ssl=section.disable_ssl,
            force_path_style=section.s3_force_path_style,
            credentials=self._credentials(section.credentials) if section.credentials else None,
            list_max_keys=section.s3_list_max_keys,
            connect_timeout=section.connect_timeout,
            read_timeout=section.read_timeout,
            max_attempts=section.max_attempts,
            part_size=section.part_size,
        )

    def _credentials(self, section: CredentialsSection) -> Credentials:
        token = section.session_token
        return Credentials(
            access_key=self._secret(section.access_key),
            secret_key=self._secret(section.secret_key),
            session_token=self._secret(token) if token else None,
        )

    def _resource(self, section: ResourceSection) -> Resource:
        users = section.basic.credentials if section.basic else ()
        return Resource(
            path=section.path,
            methods=methods_of(section),
            white_list=section.white_list,
            provider=section.provider,
            users=tuple(self._user(each) for each in users),
        )

    def _user(self, section: BasicUserSection) -> BasicUser:
        place = span_of(section.key_node("password"), self.shown)
        return BasicUser(section.user, self._password(section.password), place)

    def _password(self, section: SecretSection) -> Secret:
        # A hash tells no password, so it may stand in the file.
        is_hash = section.value is not None and section.value.startswith(_HASHES)
        return self._resolved(section) if is_hash else self._secret(section)

    def _secret(self, section: SecretSection) -> Secret:
        if section.value is not None:
            place = span_of(section.key_node("value"), self.shown)
            message = "a secret stands in the configuration file itself"
            self.diagnostics.append(Diagnostic("plain-secret", message, place, section.shape, (), Severity.WARNING))
        return self._resolved(section)

    def _resolved(self, section: SecretSection) -> Secret:
        reference = section.reference
        if section.node is NOWHERE:
            return Secret(reference.origin, "")
        try:
            return self._secrets(reference)
        except SecretMissing as missing:
            place = span_of(section.value_node(reference.source.value), self.shown)
            self.diagnostics.append(Diagnostic("missing-secret", missing.message, place, missing.help))
            return Secret(reference.origin, "")


def _listener(section: ListenerSection) -> Listener:
    return Listener(section.listen_addr, section.port)


def _mount(section: MountSection) -> Mount:
    return Mount(section.host, _distinct(section.path))


def _distinct(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))


def _actions(section: ActionsSection) -> Actions:
    return Actions(
        get=GetAction(
            enabled=section.get.enabled,
            index_document=section.get.config.index_document,
            redirect_with_trailing_slash_for_not_found_file=section.get.config.redirect_with_trailing_slash_for_not_found_file,
            disable_listing=section.get.config.disable_listing,
            redirect_to_signed_url=section.get.config.redirect_to_signed_url,
            signed_url_expiration=round(section.get.config.signed_url_expiration),
        ),
        head=HeadAction(section.head.enabled),
        put=PutAction(section.put.enabled, section.put.config.allow_override, section.put.config.max_size),
        delete=DeleteAction(section.delete.enabled),
    )
