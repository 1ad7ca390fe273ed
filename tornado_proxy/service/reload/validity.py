"""The dates and hosts of the certificates in use: what is wrong with them now, and when that will be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from tornado_proxy.config.model import Settings
from tornado_proxy.config.server import Certificate
from tornado_proxy.lang.diagnostic import Diagnostic, Severity, Span
from tornado_proxy.service.reload.certificates import first
from tornado_proxy.telemetry.log import moment
from tornado_proxy.wire.tls import CertificateUnusable, leaf_of, names_of

if TYPE_CHECKING:
    from tornado_proxy.service.reload.snapshot import Configuration

INVALID_DATES = "certificate-dates"
"""The code of a certificate that has expired, or is not valid yet."""

_SOON = 14 * 86400  # seconds; a certificate that is renewed by a program is younger


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
        return f"expires at {moment(self.not_after)}" if self.not_after - now < _SOON else ""


def validities(settings: Settings) -> Iterator[Validity]:
    """Yields the validity of each certificate that can be used, but for self-signed ones, which are made here."""
    for listener, section in (("server", settings.server), ("internalServer", settings.internal_server)):
        for each in section.ssl.certificates if section.ssl and section.ssl.enabled else ():
            try:
                yield _validity(listener, each)
            except CertificateUnusable:
                continue  # reported as such


def _validity(listener: str, certificate: Certificate) -> Validity:
    names, leaf = names_of(certificate), leaf_of(certificate)
    dates = leaf.not_valid_before_utc.timestamp(), leaf.not_valid_after_utc.timestamp()
    return Validity(listener, names, *dates, first(certificate.spans))


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
    """Yields an error for each certificate that clients do not accept now, and warnings.

    These are for each certificate that ends soon, and for each host without one.
    """
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
    for target in settings.targets if named else ():
        host = target.mount.host
        is_pattern = not host or "*" in host
        if not is_pattern and not {host, f"*.{host.partition('.')[2]}"} & named and not _has_self_signed(settings):
            message = f"no certificate is for `{host}`, where target `{target.name}` is mounted"
            advice = "add one, unless a proxy in front has it"
            yield Diagnostic("other-host", message, target.mount.host_span, advice, severity=Severity.WARNING)


def _has_self_signed(settings: Settings) -> bool:
    return settings.server.ssl is not None and bool(settings.server.ssl.self_signed_hostnames)


def tolerant_of_dates(configuration: Configuration, in_force: Settings | None, now: float) -> Configuration:
    """Returns a configuration where invalid certificates are warnings, unless they would replace valid ones."""
    known = validities(in_force) if in_force else ()
    if in_force is not None and not any(each.objection(now) for each in known):
        return configuration
    return replace(configuration, diagnostics=tuple(map(_milder, configuration.diagnostics)))


def _milder(found: Diagnostic) -> Diagnostic:
    return msgspec.structs.replace(found, severity=Severity.WARNING) if found.code == INVALID_DATES else found
