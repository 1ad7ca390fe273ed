"""Checks of options that are valid one by one, but contradict each other or have no effect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from tornado_proxy.config.actions import Webhook
from tornado_proxy.config.document import bare
from tornado_proxy.config.model import Bucket, Mount, ObjectCache, Target
from tornado_proxy.config.providers import Resource
from tornado_proxy.config.reader import ValidationContext, warning
from tornado_proxy.config.server import SUITES_OF_TLS13, Certificate, Cors, Ssl, Tracing, UrlConfig
from tornado_proxy.config.values import EVERY_INTERFACE, aws_objection, mount_path
from tornado_proxy.rules.diagnostic import Diagnostic, Note, Span
from tornado_proxy.rules.model import TRIED_PATH

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_PERCENT_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")


def _listeners(context: ValidationContext) -> Iterator[Diagnostic]:
    server, internal = context.settings.server, context.settings.internal_server
    overlap = server.address == internal.address or EVERY_INTERFACE & {server.address, internal.address}
    if overlap and server.port == internal.port != 0:
        second, first = (internal, server) if context.is_set(internal, "port") else (server, internal)
        message = f"`server` and `internalServer` both listen on port {server.port}"
        notes = (Note("the other one", context.values(first, "port")[0]),) if context.is_set(first, "port") else ()
        advice = "give one of them another port"
        yield Diagnostic("same-listener", message, context.values(second, "port")[0], advice, notes)


def _rules(context: ValidationContext) -> Iterator[Diagnostic]:
    settings = context.settings
    first: dict[str, Span] = {}
    for place, node in zip(settings.rules, context.values(settings, "rules") if settings.rules else (), strict=True):
        if str(place) in first:
            message = f"the rules in `{bare(node)}` are listed twice"
            yield Diagnostic("duplicate-place", message, node, None, (Note("first listed here", first[str(place)]),))
        first.setdefault(str(place), node)


def _tls(context: ValidationContext) -> Iterator[Diagnostic]:
    for ssl in context.sections(Ssl):
        if ssl.enabled and not ssl.certificates and not ssl.self_signed_hostnames:
            advice = "add `certificates`, or `selfSignedHostnames` to try it out"
            yield Diagnostic("no-certificate", "TLS has no certificate", context.key(ssl, "enabled"), advice)
        if ssl.min_version > ssl.max_version:
            option = "minTLSVersion" if context.is_set(ssl, "minTLSVersion") else "maxTLSVersion"
            message = f"`minTLSVersion` {ssl.min_version} is above `maxTLSVersion` {ssl.max_version}"
            yield Diagnostic("bad-value", message, context.key(ssl, option))
        elif ssl.min_version < "TLSv1.2":
            message = f"{ssl.min_version} is broken, and browsers no longer support it"
            advice = "leave it out, for TLS 1.2 and 1.3 (RFC 8996)"
            yield warning("old-tls", message, context.key(ssl, "minTLSVersion"), advice)
        if ssl.max_version < "TLSv1.3" and ssl.cipher_suites and {*ssl.cipher_suites} <= {*SUITES_OF_TLS13}:
            message = f"`cipherSuites` has no suite of {ssl.max_version}, so nobody can connect"
            yield Diagnostic("bad-value", message, context.key(ssl, "cipherSuites"), "add one, or leave it out")
        if ssl.client_auth != "none" and not ssl.client_cas:
            message = "client certificates cannot be verified: `clientCAs` is missing"
            advice = "such as `clientCAs: clients.pem`"
            yield Diagnostic("missing-option", message, context.key(ssl, "clientAuth"), advice)
        elif ssl.client_cas and ssl.client_auth == "none":
            message = "`clientCAs` has no effect: clients are not asked for a certificate"
            advice = "add `clientAuth: request` or `clientAuth: require`"
            yield warning("no-effect", message, context.key(ssl, "clientCAs"), advice)


def _certificates(context: ValidationContext) -> Iterator[Diagnostic]:
    """Checks that each certificate and each key is given exactly once."""
    for certificate in context.sections(Certificate):
        for name in ("certificate", "privateKey"):
            both = context.is_set(certificate, name), context.is_set(certificate, f"{name}Url")
            if all(both):
                message = f"`{name}` and `{name}Url` are both given"
                yield Diagnostic("bad-value", message, context.key(certificate, name), "leave one of them out")
            elif not any(both):
                message = f"a certificate lacks `{name}` or `{name}Url`"
                yield Diagnostic("missing-option", message, context.key(certificate, name), Certificate.shape)
    for fetched in context.sections(UrlConfig):
        if fetched.aws_endpoint and not fetched.aws_region:
            message = "`awsEndpoint` is given without `awsRegion`"
            yield Diagnostic("missing-option", message, context.key(fetched, "awsEndpoint"), "add its region")


def _proxies(context: ValidationContext) -> Iterator[Diagnostic]:
    server, providers = context.settings.server, context.settings.header_providers
    advice = "add `server.trustedProxies`"
    if server.proxy_protocol and not server.trusted_proxies:
        message = "`proxyProtocol` has no effect: no proxy is trusted"
        yield warning("no-effect", message, context.key(server, "proxyProtocol"), advice)
    if providers and not server.trusted_proxies:
        message = "nobody can sign in by headers: no proxy is trusted"
        yield warning("untrusted-headers", message, context.name(providers[0]), advice)
    if any(network.endswith("/0") for network in server.trusted_proxies):
        message = "everyone is trusted as a proxy, so everyone can claim to be any user"
        advice = "name the addresses of your proxies"
        yield warning("trusted-everyone", message, context.key(server, "trustedProxies"), advice)


def _cors(context: ValidationContext) -> Iterator[Diagnostic]:
    for cors in context.sections(Cors):
        all_origins = cors.allow_all or not cors.allow_origins or "*" in cors.allow_origins
        if cors.enabled and cors.allow_credentials and all_origins:
            message = "`allowCredentials` has no effect: browsers refuse it together with every origin"
            node = context.key(cors, "allowCredentials")
            yield warning("no-effect", message, node, "name the origins in `allowOrigins`")


def _open_secrets(context: ValidationContext) -> Iterator[Diagnostic]:
    """Reports secret headers of webhooks and traces that are sent over the network unencrypted."""
    hooks = [(each, "url", each.url) for each in context.sections(Webhook) if each.secret_headers]
    traces = [(each, "endpoint", each.endpoint) for each in context.sections(Tracing) if each.secret_headers]
    for section, option, url in (*hooks, *traces):
        split = urlsplit(url.reveal())
        if split.scheme == "http" and split.hostname not in _LOOPBACK:
            message = f"`{option}` is `http`, so `secretHeaders` can be read on the way"
            yield warning("open-secret", message, context.values(section, option)[0], "use `https`")


def _mounts(context: ValidationContext) -> Iterator[Diagnostic]:
    if not context.settings.targets:
        key = context.key(context.settings, "targets")
        yield warning("no-targets", "there are no targets, so every request is answered with 404", key)
    first: dict[tuple[str, str], Target] = {}
    for target in context.settings.targets:
        host = target.mount.host
        for path in target.mount.paths:
            other = first.setdefault((host, path), target)
            if other is not target:
                one, two = context.quoted_name(other), context.quoted_name(target)
                where = f"`{path}` of {f'the host `{host}`' if host else 'any host'}"
                message = f"targets {one} and {two} are both mounted at {where}"
                notes = (Note(f"{one} is mounted here", _mount_place(context, other, path)),)
                advice = "give one of them another path or host"
                yield Diagnostic("overlapping-mounts", message, _mount_place(context, target, path), advice, notes)


def _mount_place(context: ValidationContext, target: Target, path: str) -> Span:
    """The first item that names a path; the target's name if the file has no paths."""
    if not context.is_set(target.mount, "path"):
        return context.name(target)
    paths = [mount_path(text) for text in context.texts(target.mount, "path")]
    return context.values(target.mount, "path")[paths.index(path)]


def _percent_escapes(context: ValidationContext) -> Iterator[Diagnostic]:
    for section in (*context.sections(Mount), *context.sections(Resource)):
        for node in context.values(section, "path") if context.is_set(section, "path") else ():
            if escape := _PERCENT_ESCAPE.search(bare(node)):
                message = f"`{escape.group()}` is not decoded: paths are compared after decoding"
                yield warning("percent-escape", message, node, "write the decoded character")


def _buckets(context: ValidationContext) -> Iterator[Diagnostic]:
    for bucket in context.sections(Bucket):
        objection = aws_objection(bucket.name)
        if objection and bucket.s3_endpoint is None:
            node = context.values(bucket, "name")[0]
            message = f"`{bare(node)}` is not a valid bucket name on AWS"
            yield warning("bucket-name", message, node, objection)
        if bucket.anonymous and bucket.credentials is not None:
            message = "`credentials` have no effect: `anonymous` sends requests without them"
            yield warning("no-effect", message, context.key(bucket, "credentials"))


def _caches(context: ValidationContext) -> Iterator[Diagnostic]:
    for cache in context.sections(ObjectCache):
        if cache.max_object_size > cache.max_size:
            name = "maxObjectSize" if context.is_set(cache, "maxObjectSize") else "maxSize"
            message = "objects up to `maxObjectSize` do not fit into the cache, whose `maxSize` is less"
            yield warning("no-effect", message, context.key(cache, name), "raise `maxSize`")


def _tried_files(context: ValidationContext) -> Iterator[Diagnostic]:
    for target in context.settings.targets:
        get = target.actions.get
        if not get.try_files:
            continue
        key = context.key(get, "config.tryFiles")
        if TRIED_PATH not in get.try_files:
            message = f"no file is served at its own address: `tryFiles` lacks `{TRIED_PATH}`"
            yield warning("no-effect", message, key, f'begin with it, such as `["{TRIED_PATH}", "{TRIED_PATH}.html"]`')
        if not get.index_document and any(each.endswith("/") for each in get.try_files):
            message = "a path of `tryFiles` that ends in `/` has no effect: the target has no `indexDocument`"
            yield warning("no-effect", message, key, "add `indexDocument: index.html`")


def _uploads(context: ValidationContext) -> Iterator[Diagnostic]:
    for target in context.settings.targets:
        put = target.actions.put
        # A form of S3 has no condition that the key is new.
        if put.direct_uploads and not put.allow_override:
            message = "`directUploads` needs `allowOverride`: an upload straight to S3 replaces what is there"
            advice = "add `allowOverride: true`, or leave `directUploads` out"
            yield Diagnostic("contradiction", message, context.key(put, "config.directUploads"), advice)
        if context.is_set(put, "config") and not context.is_set(put, "enabled"):
            node = context.key(target.actions, "PUT")
            yield warning("no-effect", "`PUT` is configured but not enabled", node, "add `enabled: true`")


CHECKS = (
    *(_listeners, _rules, _tls, _certificates, _proxies, _cors, _open_secrets),
    *(_mounts, _percent_escapes, _buckets, _caches, _tried_files, _uploads),
)
"""The checks of this module."""
