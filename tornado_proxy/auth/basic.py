"""Basic authentication (RFC 7617): names and passwords that a configuration lists."""

from __future__ import annotations

from collections.abc import Iterable

from tornado_proxy.auth.authenticator import Challenge
from tornado_proxy.auth.passwords import Password, UnreadableHash, read_password
from tornado_proxy.auth.verifier import Verifier
from tornado_proxy.config.model import BasicProvider, BasicUser, Settings
from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.request import Request
from tornado_proxy.rules.keys import segment_objection
from tornado_proxy.semantics.credentials import BasicCredentials, challenge
from tornado_proxy.templates.data import User


class BasicAuthenticator:
    """Signs in users of one provider; `users` are all whom any guard of that provider lists.

    Raises `UnreadableHash` where a user's password is a hash that cannot be checked.
    """

    def __init__(self, provider: BasicProvider, users: Iterable[BasicUser], verifier: Verifier) -> None:
        self._name = provider.name
        self._challenge = challenge(provider.realm)
        self._passwords = {each: _password(each) for each in users}
        self._verifier = verifier

    async def authenticate(self, request: Request, guard: SignedIn) -> User | Challenge:
        """Who asks, if the guard lists the user and the password is right; raises `AuthBusy`."""
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
        return await self._verify(guard, offered)

    async def _verify(self, guard: SignedIn, offered: BasicCredentials) -> User | Challenge:
        who = (self._name, offered.user)
        listed = guard.find(offered.user)
        if listed is None:
            await self._pretend(guard, who, offered.password)
            # Not the name: it may be a password that was typed into the wrong field.
            return self._refuse("nobody of the name that was sent is listed")
        if await self._verifier.verify(who, self._passwords[listed], offered.password):
            return User(listed.user)
        return self._refuse(f"the password of `{offered.user}` is wrong")

    async def _pretend(self, guard: SignedIn, who: tuple[str, str], offered: str) -> None:
        """Take the time of one whom the guard lists, so that time does not tell who is listed."""
        if guard.users:
            other = guard.users[self._verifier.pick(who, len(guard.users))]
            await self._verifier.pretend(who, self._passwords[other], offered)

    def _refuse(self, reason: str) -> Challenge:
        return Challenge(self._challenge, reason)


def basic_authenticators(settings: Settings, verifier: Verifier) -> dict[str, BasicAuthenticator]:
    """An authenticator for each basic provider of a configuration, by its name; raises `UnreadableHash`."""
    resources = [each for target in settings.targets for each in target.resources]
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
