"""Sign-in by client certificates: the TLS handshake has verified one, and it says who the user is.

A proxy that ends TLS keeps the user's certificate for itself; it can name the user in headers, see `auth.headers`.
"""

from __future__ import annotations

from collections.abc import Callable

from tornado_proxy.auth.authenticator import Challenge, SignIn
from tornado_proxy.auth.origins import is_same_origin, only_reads
from tornado_proxy.config.providers import CertificateProvider
from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.request import Request
from tornado_proxy.rules.model import segment_objection
from tornado_proxy.templates.template import User


class CertificateAuthenticator:
    """Signs in the users whom certificates name; `clock` gives the seconds since 1970."""

    def __init__(self, provider: CertificateProvider, clock: Callable[[], float]) -> None:
        self._provider = provider
        self._clock = clock

    async def authenticate(self, request: Request, guard: SignedIn) -> SignIn | Challenge:  # noqa: ARG002 - the protocol
        """Returns the user whom the connection's certificate names, or a refusal."""
        certificate = request.certificate
        if certificate is None:
            reason = "a proxy's certificate names no user" if request.from_trusted_proxy else "there is no certificate"
            return Challenge(401, reason)
        if certificate.expires <= self._clock():
            return Challenge(401, "the certificate has expired since the connection began")
        by_email = self._provider.username == "email"
        names = certificate.emails if by_email else certificate.common_names
        if len(names) != 1:
            return Challenge(
                401, f"the certificate has {len(names)} {'email addresses' if by_email else 'common names'}"
            )
        objection = segment_objection(names[0])
        if objection is not None:
            return Challenge(401, f"the user's name {objection}")
        # Browsers send certificates along by themselves, as they do cookies.
        if not only_reads(request) and not is_same_origin(request):
            return Challenge(403, "a page of another origin made the request")
        email = certificate.emails[0] if certificate.emails else ""
        return SignIn(User(names[0], "CERTIFICATE", email, certificate.units))
