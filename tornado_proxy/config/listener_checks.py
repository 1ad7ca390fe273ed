"""Checks of the two listeners: TLS without a certificate, versions and cipher suites that do not fit together."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tornado_proxy.config.context import Finding, ValidationContext
from tornado_proxy.config.tls import CIPHER_SUITES, Certificate, Ssl
from tornado_proxy.lang.diagnostic import Diagnostic


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
            yield context.error(Finding("no-certificate", message, context.key(ssl, "enabled"), advice))


def _versions(context: ValidationContext) -> Iterator[Diagnostic]:
    for ssl in _sections(context):
        if not context.settled(ssl, "minTLSVersion", "maxTLSVersion"):
            continue
        if ssl.min_version > ssl.max_version:
            option = "minTLSVersion" if context.given(ssl, "minTLSVersion") else "maxTLSVersion"
            message = f"`minTLSVersion` {ssl.min_version} is above `maxTLSVersion` {ssl.max_version}"
            yield context.error(Finding("bad-value", message, context.key(ssl, option)))
        elif ssl.min_version < "TLSv1.2":
            message = f"{ssl.min_version} is broken, and no browser speaks it any more"
            node = context.key(ssl, "minTLSVersion")
            yield context.warning(Finding("old-tls", message, node, "leave it out, for TLS 1.2 and 1.3 (RFC 8996)"))


def _cipher_suites(context: ValidationContext) -> Iterator[Diagnostic]:
    for ssl in _sections(context):
        named = ssl.cipher_suites
        if not context.settled(ssl, "cipherSuites", "minTLSVersion") or not named or ssl.min_version == "TLSv1.3":
            continue
        if not any(each in CIPHER_SUITES for each in named):
            message = "`cipherSuites` has none of TLS 1.2, so the usual ones are offered there"
            advice = "add `minTLSVersion: TLSv1.3`, or name suites that begin with `TLS_ECDHE_`"
            yield context.warning(Finding("no-effect", message, context.key(ssl, "cipherSuites"), advice))


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
        return context.error(Finding("bad-value", message, context.key(certificate, name), "leave one of them out"))
    message = f"a certificate lacks `{name}` or `{name}Url`"
    return context.error(Finding("missing-option", message, context.key(certificate, name), Certificate.shape))


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
            yield context.error(
                Finding("missing-option", message, context.key(config, "awsEndpoint"), "add its region")
            )


def _client_authorities(context: ValidationContext) -> Iterator[Diagnostic]:
    """Certificates of clients are asked for together with the authorities that sign them."""
    for ssl in _sections(context):
        if not context.settled(ssl, "clientAuth", "clientCAs"):
            continue
        if ssl.client_auth != "none" and not ssl.client_cas:
            message = "nobody's certificate can be verified: `clientCAs` is missing"
            advice = "such as `clientCAs: clients.pem`"
            yield context.error(Finding("missing-option", message, context.key(ssl, "clientAuth"), advice))
        elif ssl.client_cas and ssl.client_auth == "none":
            message = "`clientCAs` has no effect: no client is asked for a certificate"
            advice = "add `clientAuth: request` or `clientAuth: require`"
            yield context.warning(Finding("no-effect", message, context.key(ssl, "clientCAs"), advice))


def _proxy_protocol(context: ValidationContext) -> Iterator[Diagnostic]:
    server = context.settings.server
    if server.proxy_protocol and not server.trusted_proxies and context.settled(server, "trustedProxies"):
        message = "`proxyProtocol` has no effect: no proxy is trusted"
        node = context.key(server, "proxyProtocol")
        yield context.warning(Finding("no-effect", message, node, "add `server.trustedProxies`"))


def _cors(context: ValidationContext) -> Iterator[Diagnostic]:
    cors = context.settings.server.cors
    if cors is None or not cors.enabled or not context.settled(cors, "allowOrigins", "allowAll", "allowCredentials"):
        return
    if cors.allow_credentials and (cors.allow_all or not cors.allow_origins or "*" in cors.allow_origins):
        message = "`allowCredentials` has no effect: no browser accepts it together with every origin"
        node = context.key(cors, "allowCredentials")
        yield context.warning(Finding("no-effect", message, node, "name the origins in `allowOrigins`"))


CHECKS: tuple[Callable[[ValidationContext], Iterator[Diagnostic]], ...] = (
    _no_certificates,
    _versions,
    _cipher_suites,
    _parts,
    _endpoints,
    _client_authorities,
    _proxy_protocol,
    _cors,
)
"""The checks of this module."""
