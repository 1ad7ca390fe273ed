"""Basic authentication (RFC 7617): names and passwords that a configuration lists."""

from __future__ import annotations

from collections.abc import Iterable

from tornado_proxy.auth.authenticator import Challenge, SignIn
from tornado_proxy.auth.passwords import HashedPassword, Password, UnreadableHash, read_password
from tornado_proxy.auth.verifier import Claim, Verifier
from tornado_proxy.config.model import BasicUser, Settings
from tornado_proxy.config.providers import BasicProvider
from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.request import Request
from tornado_proxy.rules.model import segment_objection
from tornado_proxy.semantics.fields import BasicCredentials, challenge
from tornado_proxy.templates.template import User


class BasicAuthenticator:
    """Signs in the users of one provider; `users` are all users of its resources.

    Raises `UnreadableHash` where a user's password is a hash that cannot be checked.
    """

    def __init__(self, provider: BasicProvider, users: Iterable[BasicUser], verifier: Verifier) -> None:
        self._name = provider.name
        self._challenge = challenge(provider.realm)
        self._passwords = {each: _password(each) for each in users}
        hashed = [each for each in self._passwords.values() if isinstance(each, HashedPassword)]
        self._by_cost = {each.cost: each for each in hashed}
        self._verifier = verifier

    async def authenticate(self, request: Request, guard: SignedIn) -> SignIn | Challenge:
        """Returns the user if the resource lists it and the password is right; raises `AuthBusy`."""
        sent = [value for name, value in request.headers if name.lower() == "authorization"]
        if not sent:
            return self._refuse("no credentials were sent")
        # Two of them say two things (RFC 9110 5.3), so neither counts.
        offered = BasicCredentials.from_header(sent[0]) if len(sent) == 1 else None
        if offered is None:
            return self._refuse("the credentials cannot be read")
        objection = segment_objection(offered.user)
        if objection is not None:
            return self._refuse(f"the user's name {objection}")
        claim = Claim(self._name, offered.user, request.remote_address)
        listed = guard.find(offered.user)
        own = self._passwords[listed] if listed else None
        if await self._verifier.verify(claim, own, offered.password, self._beside(own)):
            return SignIn(User(offered.user))
        # The name only of one who is listed: else it may be a password that was typed into the wrong field.
        return self._refuse(
            f"the password of `{offered.user}` is wrong" if listed else "nobody of the name that was sent is listed"
        )

    def _beside(self, own: Password | None) -> Iterable[HashedPassword]:
        """Returns one hash of each cost of the provider, except for the cost of the user's own hash.

        So the time of an answer reveals neither user names nor whether a password is plain text.
        """
        cost = own.cost if isinstance(own, HashedPassword) else None
        return (each for each in self._by_cost.values() if each.cost != cost)

    def _refuse(self, reason: str) -> Challenge:
        return Challenge(401, reason, self._challenge)


def basic_authenticators(settings: Settings, verifier: Verifier) -> dict[str, BasicAuthenticator]:
    """An authenticator for each basic provider of a configuration, by its name; raises `UnreadableHash`."""
    resources = settings.resources
    return {
        provider.name: BasicAuthenticator(
            provider, (user for each in resources if each.provider == provider.name for user in each.users), verifier
        )
        for provider in settings.basic_providers
    }


def _password(user: BasicUser) -> Password:
    try:
        return read_password(user.password.reveal())
    except UnreadableHash as error:
        raise UnreadableHash(f"the password of `{user.user}` in {user.password.origin}: {error}") from None
