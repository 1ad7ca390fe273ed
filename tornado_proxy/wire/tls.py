"""TLS contexts of a listener: its certificates, each chosen by the name that a client asks for (SNI, RFC 6066 3)."""

from __future__ import annotations

import os
import ssl
import warnings
from collections.abc import Mapping
from functools import partial

from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tornado_proxy.config.server import CIPHER_SUITES, VERSIONS, Certificate, Ssl

_VERSIONS = dict(
    zip(
        VERSIONS,
        (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3),
        strict=True,
    )
)

# ECDHE and AEAD, for both kinds of keys: what https://ciphersuite.info recommends of what OpenSSL has.
_RECOMMENDED = tuple(name for name in CIPHER_SUITES.values() if "GCM" in name or "CHACHA" in name)

# OpenSSL refuses TLS 1.0 and 1.1 at its usual level, since they sign with SHA-1.
_OLD_LEVEL = "@SECLEVEL=0"


class CertificateUnusable(Exception):
    """A certificate or private key that cannot be served; the text says why, `advice` what to do.

    `of_key` is true if it is the key.
    """

    def __init__(self, reason: str, advice: str = "give both in PEM, the leaf first", *, of_key: bool = False) -> None:
        super().__init__(reason)
        self.advice = advice
        self.of_key = of_key


def make_context(settings: Ssl, *, http2: bool = False) -> ssl.SSLContext:
    """Returns the context of a listener; raises `CertificateUnusable`."""
    # With older versions and suites, browsers refuse HTTP/2 (RFC 9113 9.2).
    is_fit = settings.min_version >= "TLSv1.2" and not any("CBC" in name for name in settings.cipher_suites)
    protocols = ["h2", "http/1.1"] if http2 and is_fit else ["http/1.1"]
    contexts = [(names_of(each), _context(settings, each, protocols)) for each in settings.all_certificates]
    (_, first), *others = contexts
    if others:
        by_name: dict[str, ssl.SSLContext] = {}
        for names, context in contexts:
            for name in names:
                by_name.setdefault(name, context)
        first.sni_callback = partial(_choose, by_name)
    return first


def _choose(
    by_name: Mapping[str, ssl.SSLContext], connection: ssl.SSLObject, name: str | None, _first: ssl.SSLContext
) -> None:
    """Chooses the context with the host name that a client requests, else the first."""
    asked = (name or "").lower().removesuffix(".")
    context = by_name.get(asked) or by_name.get(f"*.{asked.partition('.')[2]}")
    if context is not None:
        connection.context = context


def _context(settings: Ssl, certificate: Certificate, protocols: list[str]) -> ssl.SSLContext:
    assert certificate.chain is not None
    assert certificate.key is not None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of old versions: the configuration's check warns of them
        context.minimum_version = _VERSIONS[settings.min_version]
        context.maximum_version = _VERSIONS[settings.max_version]
    chosen = tuple(CIPHER_SUITES[name] for name in settings.cipher_suites if name in CIPHER_SUITES)
    if settings.cipher_suites and not chosen:
        context.minimum_version = ssl.TLSVersion.TLSv1_3  # no suite of an older version is wanted
    if settings.min_version < "TLSv1.2":
        # No suite with AEAD is older than TLS 1.2.
        context.set_ciphers(":".join((*(chosen or CIPHER_SUITES.values()), _OLD_LEVEL)))
    else:
        context.set_ciphers(":".join(chosen or _RECOMMENDED))
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION | ssl.OP_CIPHER_SERVER_PREFERENCE
    context.set_alpn_protocols(protocols)
    ask_clients(context, settings)
    # Python reads certificates from files only. This file is in memory only.
    with os.fdopen(os.memfd_create("certificate"), "wb") as file:
        file.write(f"{certificate.key.reveal()}\n{certificate.chain.reveal()}\n".encode())
        file.flush()
        try:
            # Without a passphrase, OpenSSL would ask for one on the terminal.
            context.load_cert_chain(f"/proc/self/fd/{file.fileno()}", password=lambda: b"")
        except ssl.SSLError as error:
            raise CertificateUnusable(f"OpenSSL refuses the certificate: {error.reason or error}") from None
    return context


def ask_clients(context: ssl.SSLContext, settings: Ssl) -> None:
    """Requests certificates of clients; raises `CertificateUnusable`."""
    if settings.client_auth == "none":
        return
    try:
        context.load_verify_locations(cadata="\n".join(each.reveal() for each in settings.client_roots))
    except (ssl.SSLError, ValueError):
        raise CertificateUnusable("`clientCAs` has no certificate in PEM") from None
    context.verify_mode = ssl.CERT_REQUIRED if settings.client_auth == "require" else ssl.CERT_OPTIONAL


def names_of(certificate: Certificate) -> tuple[str, ...]:
    """Returns the host names of a certificate, in lower case.

    Raises `CertificateUnusable` unless certificate and key are valid and belong together.
    """
    # Loaded only where there is TLS.
    leaf = leaf_of(certificate)
    try:
        key = load_pem_private_key(certificate.key.reveal().encode() if certificate.key else b"", None)
    except TypeError:
        advice = "write it without one: `openssl pkey -in OLD -out NEW`"
        raise CertificateUnusable("the private key has a passphrase", advice, of_key=True) from None
    except ValueError:
        raise CertificateUnusable("the private key is not one in PEM", of_key=True) from None
    if key.public_key() != leaf.public_key():
        raise CertificateUnusable("the private key does not belong to the certificate", of_key=True)
    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        hosts = names.get_values_for_type(x509.DNSName)
    except x509.ExtensionNotFound:
        # Old certificates (RFC 2818) have it there; s3-proxy looks there too.
        hosts = [str(each.value) for each in leaf.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)]
    return tuple(name.lower() for name in hosts)


def leaf_of(certificate: Certificate) -> x509.Certificate:
    """Returns the first certificate of a chain, which names the hosts; raises `CertificateUnusable`."""
    try:
        return x509.load_pem_x509_certificates(certificate.chain.reveal().encode() if certificate.chain else b"")[0]
    except ValueError:
        raise CertificateUnusable("the certificate is not one in PEM") from None
