"""Sign-in by headers: a proxy has signed the user in and names the user.

Every client can send such headers, so only connections from `server.trustedProxies` are trusted.
"""

from __future__ import annotations

from tornado_proxy.auth.authenticator import Challenge, SignIn
from tornado_proxy.config.providers import HeaderProvider
from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.request import Request
from tornado_proxy.rules.model import segment_objection
from tornado_proxy.templates.template import User


class HeaderAuthenticator:
    """Signs in the users that a trusted proxy names."""

    def __init__(self, provider: HeaderProvider) -> None:
        self._provider = provider

    async def authenticate(self, request: Request, guard: SignedIn) -> SignIn | Challenge:  # noqa: ARG002 - the protocol
        """Returns the user that the headers name, or a 401 if the connection is not trusted."""
        if not request.from_trusted_proxy:
            return Challenge(401, f"`{request.remote_address}` is not one of `server.trustedProxies`")
        provider = self._provider
        username = _only(request, provider.username_header)
        email = _only(request, provider.email_header)
        if not username or not email:
            missing = provider.email_header if username else provider.username_header
            return Challenge(401, f"the header `{missing}` is missing, empty or given twice")
        objection = segment_objection(username)
        if objection is not None:
            return Challenge(401, f"the user's name {objection}")
        listed = _only(request, provider.groups_header) if provider.groups_header else ""
        groups = tuple(group for each in listed.split(",") if (group := each.strip()))
        return SignIn(User(username, "HEADER", email, groups))


def _only(request: Request, name: str) -> str:
    """Returns the value of a header, decoded as UTF-8; empty if it is missing or, being forged, repeated."""
    values = [value for each, value in request.headers if each.lower() == name.lower()]
    if len(values) != 1:
        return ""
    try:
        return values[0].encode("latin-1").decode()
    except ValueError:
        return values[0]
