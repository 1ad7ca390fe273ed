"""TLS of a listener: certificates, where they stand, and what clients may speak. Sections of the configuration."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal
from urllib.parse import unquote, urlsplit

from tornado_proxy.config import values
from tornado_proxy.config.options import Constraint, Duration, Mark, option, place_of
from tornado_proxy.config.secrets import Credentials, Reference, Secret
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.lang.diagnostic import Span

VERSIONS = ("TLSv1.0", "TLSv1.1", "TLSv1.2", "TLSv1.3")

CIPHER_SUITES = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
}
"""OpenSSL's names of the suites of TLS 1.2 and earlier, by the names of IANA and of Go's crypto/tls."""

SUITES_OF_TLS13 = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
"""Always offered: neither Go nor Python lets a program choose among them."""

_VERSION = re.compile(r"(?:tlsv|tls[-_ ]?)?1[._-]([0-3])", re.IGNORECASE)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_LOCATIONS = "a file, or a URL that begins with `file:`, `http:`, `https:`, `s3:` or `arn:`"
_ARN_RESOURCES = {"secretsmanager": "secret:", "ssm": "parameter/"}


def tls_version(text: str) -> str:
    """A version of TLS, as in `1.2`, `TLSv1.2` or `tls-1_2`, in the form `TLSv1.2`."""
    found = _VERSION.fullmatch(text)
    if found is None:
        raise InvalidValue("is not a version of TLS", "such as `TLSv1.2` or `TLSv1.3`")
    return VERSIONS[int(found[1])]


def cipher_suite(text: str) -> str:
    """The name of a cipher suite in Go's crypto/tls."""
    if text not in CIPHER_SUITES and text not in SUITES_OF_TLS13:
        raise InvalidValue(f"cannot be `{text}`", f"one of {', '.join((*CIPHER_SUITES, *SUITES_OF_TLS13))}")
    return text


def document_url(text: str) -> str:
    """Where a certificate or key stands: a file's path, or a URL or ARN that can be fetched."""
    values.line(text)
    try:
        location = Location.of(text)
        location.check()
    except ValueError as error:
        if isinstance(error, InvalidValue):
            raise
        raise InvalidValue("is not a URL", _LOCATIONS) from None
    return text


@dataclass(frozen=True, slots=True)
class Location:
    """The parts of a document's place. `host` is the bucket where the scheme is `s3`; `path` is then the key.

    Of an ARN, `scheme` is `secretsmanager` or `ssm`, and `path` the ARN itself; an ARN of S3 is as its URL.
    """

    scheme: str
    host: str = ""
    path: str = ""
    query: str = ""
    fragment: str = ""
    region: str = ""
    account: str = ""

    @classmethod
    def of(cls, text: str) -> Location:
        """The location that a text names; raises `ValueError`."""
        scheme = _SCHEME.match(text)
        if scheme is None:
            if text.startswith(":"):
                raise InvalidValue("is not a URL", _LOCATIONS)
            return cls("file", path=text)
        if scheme[1].lower() == "arn":
            return cls._of_arn(text)
        url = urlsplit(text)
        _ = url.port
        path = unquote(url.path)
        key = path.removeprefix("/") if url.scheme == "s3" else path
        return cls(url.scheme, url.netloc, key, url.query, url.fragment)

    @classmethod
    def _of_arn(cls, text: str) -> Location:
        parts = text.split(":", 5)
        if len(parts) < 6:
            raise InvalidValue("is not an ARN", "such as `arn:aws:s3:::bucket/key`")
        _, _, service, region, account, resource = parts
        if service == "s3":
            bucket, _, key = resource.partition("/")
            return cls("s3", bucket, key, region=region, account=account)
        if service not in _ARN_RESOURCES:
            message = f"is an ARN of `{service}`"
            raise InvalidValue(message, "certificates can be fetched from `s3`, `secretsmanager` and `ssm`")
        if not resource.startswith(_ARN_RESOURCES[service]) or resource == _ARN_RESOURCES[service]:
            raise InvalidValue("names no secret or parameter", f"the resource begins with `{_ARN_RESOURCES[service]}`")
        return cls(service, path=text, region=region, account=account)

    def check(self) -> None:
        """Raises `InvalidValue` where nothing can be fetched from here."""
        if self.scheme not in {"file", "http", "https", "s3", *_ARN_RESOURCES}:
            raise InvalidValue(f"has an unsupported scheme, `{self.scheme}`", _LOCATIONS)
        if self.fragment:
            raise InvalidValue("has a fragment", "leave out the `#` and what follows it")
        if self.query and self.scheme in ("file", "s3"):
            raise InvalidValue("has a query", "leave out the `?` and what follows it")
        if self.scheme == "file" and (self.host not in ("", "localhost") or not self.path):
            raise InvalidValue("names no file on this machine", "such as `file:///etc/ssl/files.pem`")
        if self.scheme in ("http", "https") and not self.host:
            raise InvalidValue("names no host", "such as `https://example.org/files.pem`")
        if self.scheme == "s3" and (self.region or self.account):
            raise InvalidValue("has a region or an account", "an ARN of S3 is `arn:aws:s3:::bucket/key`")
        if self.scheme == "s3" and not (self.host and self.path):
            raise InvalidValue("names no object", "such as `s3://bucket/key`")
        if self.scheme in _ARN_RESOURCES and not (self.region and self.account):
            raise InvalidValue("lacks a region or an account", f"such as `arn:aws:{self.scheme}:REGION:ACCOUNT:…`")


DocumentUrl = Annotated[str, Constraint(document_url)]
TlsVersion = Annotated[str, Constraint(tls_version)]
CipherSuite = Annotated[str, Constraint(cipher_suite)]


@dataclass(frozen=True, slots=True)
class UrlConfig:
    """How a certificate or key is fetched."""

    http_timeout: Annotated[float, Duration(0.001, 300)] = option("How long fetching may take.", default=5.0)
    aws_region: Annotated[str, Constraint(values.region)] | None = option(
        "The region to ask; without it, an ARN's own, or the one that boto3 finds.", default=None
    )
    aws_endpoint: Annotated[str, Constraint(values.endpoint, (("minLength", 1),))] | None = option(
        "The URL of a server that is not AWS.", default=None
    )
    aws_disable_ssl: bool = option(
        "Whether to use HTTP where `awsEndpoint` has no scheme.", default=False, name="awsDisableSSL"
    )
    aws_credentials: Credentials | None = option(
        "The key pair. Without one, boto3 looks for credentials.", default=None
    )


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate with its chain and private key, each in PEM."""

    shape: ClassVar[str] = "such as `{certificateUrl: files.crt, privateKeyUrl: files.key}`"

    certificate: str | None = option("The certificate and its chain, the certificate first.", default=None)
    certificate_url: DocumentUrl | None = option(
        "The location: a file, relative to the configuration, or a URL with `file:`, `http:`, `https:`, "
        "`s3:` or `arn:` (S3, Secrets Manager, SSM).",
        default=None,
    )
    certificate_url_config: UrlConfig = option("How to fetch it.", default=UrlConfig())
    private_key: Secret | None = option("The private key, without a passphrase.", default=None)
    private_key_url: DocumentUrl | None = option(
        "The location of the private key, as for `certificateUrl`.", default=None
    )
    private_key_url_config: UrlConfig = option("How to fetch it.", default=UrlConfig())
    span: Span | None = place_of("certificateUrl")
    # What was found, once it was looked for.
    chain: Secret | None = field(default=None, repr=False)
    key: Secret | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Ssl:
    """TLS of a listener."""

    shape: ClassVar[str] = "such as `{certificates: [{certificateUrl: files.crt, privateKeyUrl: files.key}]}`"

    enabled: bool = option("Whether the listener speaks TLS, and nothing else.", default=True)
    certificates: tuple[Certificate, ...] = option(
        "The certificates. A client gets the first one for the name that it requests, or else the first.", default=()
    )
    self_signed_hostnames: tuple[
        Annotated[str, Constraint(values.host, (("pattern", values.HOST), ("minLength", 1)))], ...
    ] = option(
        "Host names of a self-signed certificate, which is made at start and offered first; for tests.", default=()
    )
    min_version: TlsVersion = option("The oldest version of TLS.", default="TLSv1.2", name="minTLSVersion")
    max_version: TlsVersion = option("The newest version of TLS.", default="TLSv1.3", name="maxTLSVersion")
    cipher_suites: tuple[CipherSuite, ...] = option(
        "The cipher suites of TLS 1.2 by their IANA names; those of TLS 1.3 are fixed. The default is all "
        "with ECDHE and AEAD.",
        default=(),
    )
    client_auth: Literal["none", "request", "require"] = option(
        "Whether clients are asked for a certificate, and whether those without one are turned away.", default="none"
    )
    client_cas: Annotated[tuple[DocumentUrl, ...], Mark.ONE_OR_MANY] = option(
        "Where the certificates of the authorities stand that sign those of clients, as `certificateUrl`.",
        default=(),
        name="clientCAs",
    )
    span: Span | None = place_of("clientCAs")
    # What was made and found, once it was looked for.
    self_signed: Certificate | None = None
    client_roots: tuple[Secret, ...] = field(default=(), repr=False)

    @property
    def all_certificates(self) -> tuple[Certificate, ...]:
        """The certificates, the self-signed one first."""
        return (*((self.self_signed,) if self.self_signed else ()), *self.certificates)


def file_reference(url: str | None) -> Reference | None:
    """The reference to a document in a file of this machine; None for any other place."""
    if url is None:
        return None
    location = Location.of(url)
    return Reference(path=location.path) if location.scheme == "file" else None
