"""The certificates and private keys of a configuration: in files, at URLs or self-signed; what is wrong with them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from itertools import zip_longest
from ssl import PROTOCOL_TLS_SERVER, SSLContext

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from msgspec.structs import replace

from tornado_proxy.config.model import Settings
from tornado_proxy.config.secrets import Resolver, Secret, SecretMissing, file_reference
from tornado_proxy.config.server import Certificate, Ssl, UrlConfig
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.rules.diagnostic import Diagnostic, Severity, Span
from tornado_proxy.s3.documents import DocumentUnavailable, fetch_document
from tornado_proxy.service.limits import CERTIFICATES_FRESH, EXPIRES_SOON
from tornado_proxy.telemetry.log import moment
from tornado_proxy.wire.tls import CertificateUnusable, ask_clients, leaf_of, make_context, names_of

_VALID = timedelta(days=825)  # the longest that all browsers accept of a certificate
INVALID_DATES = "certificate-dates"  # the code of a certificate that has expired, or is not valid yet

Document = tuple[GuardedUrl, UrlConfig]
Fetch = Callable[[GuardedUrl, UrlConfig], bytes]


class FetchedDocuments(msgspec.Struct, frozen=True):
    """Documents that were fetched, and certificates that were made, by their names: a client accepts one only once."""

    documents: Mapping[Document, Secret] = {}
    due: float = math.inf  # monotonic seconds at which they are fetched again
    self_signed: Mapping[tuple[str, ...], Certificate] = {}


def find_certificates(
    settings: Settings, resolve: Resolver, last: FetchedDocuments, fetch: Fetch = fetch_document
) -> tuple[Settings, tuple[Diagnostic, ...], FetchedDocuments]:
    """Looks for the certificates of both listeners; returns the settings with them, diagnostics, and fetched documents.

    A document that cannot be fetched again is the one that was fetched before, and so is a self-signed certificate.
    """
    search = _Search(resolve, last, fetch)
    server, internal = settings.server, settings.internal_server
    settings = replace(
        settings,
        server=replace(server, ssl=search.filled(server.ssl)),
        internal_server=replace(internal, ssl=search.filled(internal.ssl)),
    )
    due = time.monotonic() + CERTIFICATES_FRESH if search.fetched else math.inf
    return settings, tuple(search.diagnostics), FetchedDocuments(search.fetched, due, search.self_signed)


class _Search:
    def __init__(self, resolve: Resolver, last: FetchedDocuments, fetch: Fetch) -> None:
        self._resolve = resolve
        self._last = last
        self._fetch = fetch
        self._failures: dict[Document, str] = {}  # empty for what was fetched
        self.fetched: dict[Document, Secret] = {}
        self.self_signed: dict[tuple[str, ...], Certificate] = {}
        self.diagnostics: list[Diagnostic] = []

    def filled(self, ssl: Ssl | None) -> Ssl | None:
        if ssl is None or not ssl.enabled:
            return ssl
        certificates = tuple(map(self._filled, ssl.certificates))
        names, made = ssl.self_signed_hostnames, None
        if names:
            made = self.self_signed.get(names) or self._last.self_signed.get(names) or self_signed(names)
            self.self_signed[names] = made
        named = zip_longest(ssl.client_cas, ssl.place.values("clientCAs"))
        roots = (self._document(url, UrlConfig(), span) for url, span in named)
        return replace(ssl, certificates=certificates, self_signed=made, client_roots=tuple(filter(None, roots)))

    def _filled(self, section: Certificate) -> Certificate:
        chain = Secret("the configuration file", section.certificate) if section.certificate else None
        place, config = section.place.value("certificateUrl"), section.certificate_url_config
        chain = chain or self._document(section.certificate_url, config, place)
        place, config = section.place.value("privateKeyUrl"), section.private_key_url_config
        key = section.private_key or self._document(section.private_key_url, config, place)
        return replace(section, chain=chain, key=key)

    def _document(self, url: GuardedUrl | None, config: UrlConfig, span: Span | None) -> Secret | None:
        if url is None:
            return None
        if (reference := file_reference(url)) is not None:
            try:
                return self._resolve(reference)
            except SecretMissing as error:
                self.diagnostics.append(Diagnostic("missing-certificate", error.message, span, error.help))
                return None
        document = url, config
        if document not in self._failures:
            self._failures[document] = ""
            try:
                self.fetched[document] = Secret(f"`{url}`", self._fetch(url, config).decode())
            except (DocumentUnavailable, UnicodeDecodeError) as error:
                self._failures[document] = "it is not text" if isinstance(error, UnicodeDecodeError) else str(error)
                if document in self._last.documents:
                    self.fetched[document] = self._last.documents[document]
        if reason := self._failures[document]:
            is_kept = document in self.fetched
            message = f"`{url}` cannot be fetched: {reason}"
            advice = "the one that was fetched before stays in use" if is_kept else None
            severity = Severity.WARNING if is_kept else Severity.ERROR
            self.diagnostics.append(Diagnostic("missing-certificate", message, span, advice, (), severity))
        return self.fetched.get(document)


def unusable_certificates(settings: Settings) -> Iterator[Diagnostic]:
    """Yields a diagnostic for each certificate that cannot be used."""
    for ssl in (settings.server.ssl, settings.internal_server.ssl):
        if ssl is None or not ssl.enabled:
            continue
        # Missing certificates are reported elsewhere; secrets that only the service can read are empty here.
        if ssl.client_auth != "none" and any(each.reveal() for each in ssl.client_roots):
            try:
                ask_clients(SSLContext(PROTOCOL_TLS_SERVER), ssl)
            except CertificateUnusable as error:
                yield Diagnostic("unusable-certificate", str(error), ssl.place.value("clientCAs"))
        for each in ssl.certificates:
            if each.chain and each.key and each.chain.reveal() and each.key.reveal():
                try:
                    make_context(replace(ssl, certificates=(each,), self_signed=None, client_auth="none"))
                except CertificateUnusable as error:
                    span = each.place.value("privateKeyUrl" if error.of_key else "certificateUrl")
                    yield Diagnostic("unusable-certificate", str(error), span, error.advice)


class Validity(msgspec.Struct, frozen=True):
    """The names of a certificate, and the Unix times between which clients accept it."""

    listener: str  # `server` or `internalServer`
    names: tuple[str, ...]
    not_before: float
    not_after: float
    span: Span | None = None

    @property
    def name(self) -> str:
        """The name that labels it: its first."""
        return self.names[0] if self.names else ""

    def objection(self, now: float) -> str:
        """Returns why clients do not accept it now; empty if they do."""
        if now > self.not_after:
            return f"expired at {moment(self.not_after)}"
        return f"is not valid before {moment(self.not_before)}" if now < self.not_before else ""

    def warning(self, now: float) -> str:
        """Returns that it ends soon; empty if it does not."""
        return f"expires at {moment(self.not_after)}" if self.not_after - now < EXPIRES_SOON else ""


def validities(settings: Settings) -> Iterator[Validity]:
    """Yields the validity of each certificate that can be used, but for self-signed ones, which are made here."""
    for listener, section in (("server", settings.server), ("internalServer", settings.internal_server)):
        for each in section.ssl.certificates if section.ssl and section.ssl.enabled else ():
            with suppress(CertificateUnusable):  # reported as such
                names, leaf = names_of(each), leaf_of(each)
                dates = leaf.not_valid_before_utc.timestamp(), leaf.not_valid_after_utc.timestamp()
                yield Validity(listener, names, *dates, each.place.value("certificateUrl"))


def certificate_views(settings: Settings, now: float) -> list[dict[str, object]]:
    """Returns the certificates as JSON; `problem` is null for one that clients accept for two weeks more."""
    return [
        {
            "listener": each.listener,
            "names": list(each.names),
            "notBefore": moment(each.not_before),
            "notAfter": moment(each.not_after),
            "problem": each.objection(now) or each.warning(now) or None,
        }
        for each in validities(settings)
    ]


def doubtful_certificates(settings: Settings, now: float) -> Iterator[Diagnostic]:
    """Yields errors for certificates that clients refuse now, warnings for ones that end soon and for hosts without."""
    known = [*validities(settings)]
    for each in known:
        if objection := each.objection(now):
            yield Diagnostic(INVALID_DATES, f"the certificate for `{each.name}` {objection}", each.span, "renew it")
        elif warning := each.warning(now):
            advice = "renew it; what renews it by itself may have failed"
            message = f"the certificate for `{each.name}` {warning}"
            yield Diagnostic(INVALID_DATES, message, each.span, advice, severity=Severity.WARNING)
    named = {name for each in known if each.listener == "server" for name in each.names}
    # Without a certificate that can be read there is nothing to compare.
    has_self_signed = settings.server.ssl is not None and settings.server.ssl.self_signed_hostnames
    for target in settings.targets if named and not has_self_signed else ():
        host = target.mount.host
        is_pattern = not host or "*" in host
        if not is_pattern and not {host, f"*.{host.partition('.')[2]}"} & named:
            message = f"no certificate is for `{host}`, where target `{target.name}` is mounted"
            advice = "add one, unless a proxy in front has it"
            yield Diagnostic("other-host", message, target.mount.place.key("host"), advice, severity=Severity.WARNING)


def self_signed(names: tuple[str, ...]) -> Certificate:
    """Makes a self-signed certificate for host names."""

    def general_name(name: str) -> x509.GeneralName:
        try:
            return x509.IPAddress(ip_address(name))
        except ValueError:
            return x509.DNSName(name)

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0][:64])])
    begin = datetime.now(UTC) - timedelta(hours=1)  # for clients whose clocks are slow
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + _VALID)
        .add_extension(x509.SubjectAlternativeName(map(general_name, names)), critical=False)
        .sign(key, SHA256())
    )
    text = certificate.public_bytes(Encoding.PEM).decode()
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return Certificate(chain=Secret("made here", text), key=Secret("made here", secret))
