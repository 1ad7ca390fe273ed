"""Checks of valid sections that contradict each other or have no effect."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tornado_proxy.config import access_checks
from tornado_proxy.config.context import ValidationContext
from tornado_proxy.config.document import Node, ScalarNode
from tornado_proxy.config.model import Target
from tornado_proxy.config.tls import CIPHER_SUITES, Certificate, Ssl
from tornado_proxy.config.values import aws_objection, mount_path
from tornado_proxy.lang.diagnostic import Diagnostic

MOST_PARTS = 10_000
"""The parts that an upload may have (S3 user guide, "Multipart upload limits")."""

_EVERY_INTERFACE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared, not listened on
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_PERCENT_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")


def check(context: ValidationContext) -> Iterator[Diagnostic]:
    """The findings of all checks."""
    for each in _CHECKS:
        yield from each(context)


def _overlapping_mounts(context: ValidationContext) -> Iterator[Diagnostic]:
    first: dict[tuple[str, str], tuple[Target, Node]] = {}
    for target in (each for each in context.settings.targets if context.settled(each, "mount")):
        for path, node in _mount_paths(context, target):
            mount = (target.mount.host, path)
            if mount in first:
                yield _overlap(context, mount, first[mount], (target, node))
            first.setdefault(mount, (target, node))


def _mount_paths(context: ValidationContext, target: Target) -> list[tuple[str, Node]]:
    """The paths of a mount as often as the file has them, each with its node."""
    if context.given(target.mount, "path"):
        items = context.items(target.mount, "path")
        return [(mount_path(node.text), node) for node in items if isinstance(node, ScalarNode)]
    node = context.key(target, "mount") if context.given(target, "mount") else context.name_key("targets", target.name)
    return [(path, node) for path in target.mount.paths]


def _overlap(
    context: ValidationContext, mount: tuple[str, str], first: tuple[Target, Node], second: tuple[Target, Node]
) -> Diagnostic:
    host, path = mount
    where = f"`{path}` of {f'the host `{host}`' if host else 'any host'}"
    (one, one_node), (other, other_node) = first, second
    one_name, other_name = (context.text(context.name_key("targets", each.name)) for each in (one, other))
    if one is other:
        message = f"`{one_name}` is mounted twice at {where}"
        return context.warning("duplicate-mount", message, other_node, None, ("first given here", one_node))
    message = f"targets `{one_name}` and `{other_name}` are both mounted at {where}"
    note = (f"`{one_name}` is mounted here", one_node)
    return context.error("overlapping-mounts", message, other_node, "give one of them another path or host", note)


def _percent_escapes(context: ValidationContext) -> Iterator[Diagnostic]:
    for target in context.settings.targets:
        for section in (target.mount, *target.resources):
            if not (context.given(section, "path") and context.settled(section, "path")):
                continue
            for node in context.items(section, "path"):
                if found := _PERCENT_ESCAPE.search(context.text(node)):
                    message = f"`{found.group()}` is not decoded: paths are compared after decoding"
                    advice = "write the character that is meant"
                    yield context.warning("percent-escape", message, node, advice)


def _same_listener(context: ValidationContext) -> Iterator[Diagnostic]:
    server, internal = context.settings.server, context.settings.internal_server
    overlap = server.address == internal.address or _EVERY_INTERFACE & {server.address, internal.address}
    settled = context.settled(context.settings, "server", "internalServer")
    if settled and overlap and server.port == internal.port != 0:
        written, other = (internal, server) if context.given(internal, "port") else (server, internal)
        message = f"`server` and `internalServer` both listen on port {server.port}"
        note = ("the other one", context.value(other, "port")) if context.given(other, "port") else None
        node = context.value(written, "port")
        yield context.error("same-listener", message, node, "give one of them another port", note)


def _duplicate_places(context: ValidationContext) -> Iterator[Diagnostic]:
    first: dict[Path, Node] = {}
    settings = context.settings
    if not settings.rules or not context.settled(settings, "rules"):
        return
    for path, node in zip(settings.rules, context.items(settings, "rules"), strict=True):
        if path in first:
            message = f"the rules in `{context.text(node)}` are listed twice"
            yield context.error("duplicate-place", message, node, None, ("first listed here", first[path]))
        first.setdefault(path, node)


def _bucket_names(context: ValidationContext) -> Iterator[Diagnostic]:
    for bucket in (each.bucket for each in context.settings.targets):
        objection = aws_objection(bucket.name)
        if objection and bucket.s3_endpoint is None and context.settled(bucket, "name", "s3Endpoint"):
            node = context.value(bucket, "name")
            message = f"`{context.text(node)}` is not a valid bucket name on AWS"
            yield context.warning("bucket-name", message, node, objection)


def _without_effect(context: ValidationContext) -> Iterator[Diagnostic]:
    for bucket in (each.bucket for each in context.settings.targets):
        if bucket.anonymous and bucket.credentials is not None:
            message = "`credentials` have no effect: `anonymous` sends requests without them"
            yield context.warning("no-effect", message, context.key(bucket, "credentials"))
        if bucket.disable_ssl and (bucket.s3_endpoint or "").startswith("https:"):
            message = "`disableSSL` has no effect: the scheme of `s3Endpoint` is `https`"
            yield context.warning("no-effect", message, context.key(bucket, "disableSSL"))


def _upload_sizes(context: ValidationContext) -> Iterator[Diagnostic]:
    for target in context.settings.targets:
        put, bucket = target.actions.put, target.bucket
        most = bucket.part_size * MOST_PARTS
        if put.max_size and put.max_size > most and context.settled(bucket, "partSize"):
            message = f"`maxSize` is larger than {MOST_PARTS} parts of `partSize`, the most that S3 accepts"
            advice = f"raise `bucket.partSize` to at least {-(-put.max_size // MOST_PARTS)} bytes"
            yield context.warning("too-many-parts", message, context.value(put, "config.maxSize"), advice)


def _direct_uploads(context: ValidationContext) -> Iterator[Diagnostic]:
    """A form of S3 stores whatever is there: it has no condition that nothing is."""
    for target in context.settings.targets:
        put = target.actions.put
        if put.direct_uploads and not put.allow_override and context.settled(put, "config.allowOverride"):
            message = "`directUploads` needs `allowOverride`: an upload straight to S3 replaces what is there"
            advice = "add `allowOverride: true`, or leave `directUploads` out"
            yield context.error("contradiction", message, context.key(put, "config.directUploads"), advice)


def _open_secrets(context: ValidationContext) -> Iterator[Diagnostic]:
    """Secret headers of webhooks and traces that go over the network unencrypted."""
    actions = (each.actions for each in context.settings.targets)
    hooks = (hook for each in actions for one in (each.get, each.head, each.put, each.delete) for hook in one.webhooks)
    called: list[tuple[Any, str, str]] = [(hook, "url", hook.url) for hook in hooks if hook.secret_headers]
    tracing = context.settings.tracing
    if tracing is not None and tracing.secret_headers:
        called.append((tracing, "endpoint", tracing.endpoint))
    for section, option, url in called:
        parts = urlsplit(url)
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            message = f"`{option}` is `http`, so `secretHeaders` can be read on the way"
            yield context.warning("open-secret", message, context.value(section, option), "use `https`")


def _disabled_actions(context: ValidationContext) -> Iterator[Diagnostic]:
    for actions in (each.actions for each in context.settings.targets):
        given = context.given(actions.put, "config") and not context.given(actions.put, "enabled")
        if given and context.settled(actions.put, "enabled"):
            node = context.key(actions, "PUT")
            yield context.warning("no-effect", "`PUT` is configured but not enabled", node, "add `enabled: true`")


def _no_targets(context: ValidationContext) -> Iterator[Diagnostic]:
    """A service without targets answers on the admin listener only."""
    if not context.settings.targets and context.settled(context.settings, "targets"):
        key = context.key(context.settings, "targets")
        yield context.warning("no-targets", "there are no targets, so every request is answered with 404", key)


def _sections(context: ValidationContext) -> Iterator[Ssl]:
    for listener in (context.settings.server, context.settings.internal_server):
        if listener.ssl is not None:
            yield listener.ssl


def _no_certificates(context: ValidationContext) -> Iterator[Diagnostic]:
    for ssl in _sections(context):
        settled = context.settled(ssl, "enabled", "certificates", "selfSignedHostnames")
        if ssl.enabled and settled and not ssl.certificates and not ssl.self_signed_hostnames:
            message = "TLS has no certificate"
            advice = "add `certificates`, or `selfSignedHostnames` to try it out"
            yield context.error("no-certificate", message, context.key(ssl, "enabled"), advice)


def _versions(context: ValidationContext) -> Iterator[Diagnostic]:
    for ssl in _sections(context):
        if not context.settled(ssl, "minTLSVersion", "maxTLSVersion"):
            continue
        if ssl.min_version > ssl.max_version:
            option = "minTLSVersion" if context.given(ssl, "minTLSVersion") else "maxTLSVersion"
            message = f"`minTLSVersion` {ssl.min_version} is above `maxTLSVersion` {ssl.max_version}"
            yield context.error("bad-value", message, context.key(ssl, option))
        elif ssl.min_version < "TLSv1.2":
            message = f"{ssl.min_version} is broken, and no browser speaks it any more"
            node = context.key(ssl, "minTLSVersion")
            yield context.warning("old-tls", message, node, "leave it out, for TLS 1.2 and 1.3 (RFC 8996)")


def _cipher_suites(context: ValidationContext) -> Iterator[Diagnostic]:
    for ssl in _sections(context):
        named = ssl.cipher_suites
        if not context.settled(ssl, "cipherSuites", "minTLSVersion") or not named or ssl.min_version == "TLSv1.3":
            continue
        if not any(each in CIPHER_SUITES for each in named):
            message = "`cipherSuites` has none of TLS 1.2, so the usual ones are offered there"
            advice = "add `minTLSVersion: TLSv1.3`, or name suites that begin with `TLS_ECDHE_`"
            yield context.warning("no-effect", message, context.key(ssl, "cipherSuites"), advice)


def _parts(context: ValidationContext) -> Iterator[Diagnostic]:
    """Each certificate has its two parts, from one place each."""
    for ssl in _sections(context):
        for certificate in ssl.certificates:
            for name in ("certificate", "privateKey"):
                given = [each for each in (name, f"{name}Url") if context.given(certificate, each)]
                if len(given) != 1 and context.settled(certificate, name, f"{name}Url"):
                    yield _part(context, certificate, name, given)


def _part(context: ValidationContext, certificate: Certificate, name: str, given: list[str]) -> Diagnostic:
    if given:
        message = f"`{name}` and `{name}Url` are both given"
        return context.error("bad-value", message, context.key(certificate, name), "leave one of them out")
    message = f"a certificate lacks `{name}` or `{name}Url`"
    return context.error("missing-option", message, context.key(certificate, name), Certificate.shape)


def _endpoints(context: ValidationContext) -> Iterator[Diagnostic]:
    configs = (
        config
        for ssl in _sections(context)
        for each in ssl.certificates
        for config in (each.certificate_url_config, each.private_key_url_config)
    )
    for config in configs:
        if config.aws_endpoint and not config.aws_region and context.settled(config, "awsEndpoint", "awsRegion"):
            message = "`awsEndpoint` is given without `awsRegion`"
            yield context.error("missing-option", message, context.key(config, "awsEndpoint"), "add its region")


def _client_authorities(context: ValidationContext) -> Iterator[Diagnostic]:
    """Certificates of clients are asked for together with the authorities that sign them."""
    for ssl in _sections(context):
        if not context.settled(ssl, "clientAuth", "clientCAs"):
            continue
        if ssl.client_auth != "none" and not ssl.client_cas:
            message = "nobody's certificate can be verified: `clientCAs` is missing"
            advice = "such as `clientCAs: clients.pem`"
            yield context.error("missing-option", message, context.key(ssl, "clientAuth"), advice)
        elif ssl.client_cas and ssl.client_auth == "none":
            message = "`clientCAs` has no effect: no client is asked for a certificate"
            advice = "add `clientAuth: request` or `clientAuth: require`"
            yield context.warning("no-effect", message, context.key(ssl, "clientCAs"), advice)


def _proxy_protocol(context: ValidationContext) -> Iterator[Diagnostic]:
    server = context.settings.server
    if server.proxy_protocol and not server.trusted_proxies and context.settled(server, "trustedProxies"):
        message = "`proxyProtocol` has no effect: no proxy is trusted"
        node = context.key(server, "proxyProtocol")
        yield context.warning("no-effect", message, node, "add `server.trustedProxies`")


def _cors(context: ValidationContext) -> Iterator[Diagnostic]:
    cors = context.settings.server.cors
    if cors is None or not cors.enabled or not context.settled(cors, "allowOrigins", "allowAll", "allowCredentials"):
        return
    if cors.allow_credentials and (cors.allow_all or not cors.allow_origins or "*" in cors.allow_origins):
        message = "`allowCredentials` has no effect: no browser accepts it together with every origin"
        node = context.key(cors, "allowCredentials")
        yield context.warning("no-effect", message, node, "name the origins in `allowOrigins`")


_CHECKS: tuple[Callable[[ValidationContext], Iterator[Diagnostic]], ...] = (
    _overlapping_mounts,
    _percent_escapes,
    _same_listener,
    _duplicate_places,
    _bucket_names,
    _without_effect,
    _upload_sizes,
    _direct_uploads,
    _open_secrets,
    _disabled_actions,
    _no_targets,
    *access_checks.CHECKS,
    _no_certificates,
    _versions,
    _cipher_suites,
    _parts,
    _endpoints,
    _client_authorities,
    _proxy_protocol,
    _cors,
)
