"""Basic authentication (RFC 7617): names and passwords that a configuration lists; few are checked at a time."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from tornado_proxy.auth.authenticator import AuthBusy, Challenge, SignIn
from tornado_proxy.auth.passwords import HashedPassword, Password, PlainPassword, UnreadableHash, read_password
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
            f"the password of `{offered.user}` is wrong" if listed else "the name that was sent is not listed"
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


@dataclass(frozen=True, slots=True)
class VerifierLimits:
    """The limits of hashing: one argon2 hash of the usual cost needs 64 MiB and 50 ms of a processor."""

    threads: int = 2
    waiting: int = 64  # checks beyond those that run
    waiting_per_name: int = 8
    waiting_per_address: int = 32  # which may be that of a proxy
    remembered: int = 4096  # successes
    remembered_for: float = 60.0  # seconds from the check


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed user name, and the address of the client."""

    provider: str
    name: str
    address: str = ""


@dataclass(frozen=True, slots=True)
class _Check:
    """A check that waits or runs."""

    claim: Claim
    password: HashedPassword | None
    beside: tuple[HashedPassword, ...]
    offered: str
    result: asyncio.Future[bool]

    def compute(self) -> bool:
        """Whether the password is right; a wrong one is compared with the other hashes too, to take their time."""
        if self.password is not None and self.password.matches(self.offered):
            return True
        for other in self.beside:
            other.matches(self.offered)
        return False


class Verifier:
    """Checks passwords; one for a process, to be closed with it. All but the hashing happens on the event loop.

    Of the checks that wait the newest runs next, and the oldest is turned away where there are too many for a name, an
    address or the process. So a right password is not kept waiting by any number of wrong ones that came before.

    What is remembered is a digest under a key that nobody else has and that ends with the process: neither
    passwords nor anything that helps to guess them.
    """

    def __init__(self, limits: VerifierLimits | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits or VerifierLimits()
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._executor = ThreadPoolExecutor(self._limits.threads, thread_name_prefix="password")
        self._waiting: dict[bytes, _Check] = {}  # the newest last
        self._running: dict[bytes, _Check] = {}
        self._right_until: OrderedDict[bytes, float] = OrderedDict()

    def __repr__(self) -> str:
        return f"<Verifier, {len(self._running)} running, {len(self._right_until)} remembered>"

    async def verify(
        self, claim: Claim, password: Password | None, offered: str, beside: Iterable[HashedPassword] = ()
    ) -> bool:
        """Whether the offered password is right; None stands for an unknown user. Raises `AuthBusy`.

        Where it is not, the hashes `beside` are computed too: the answer takes the same time for every claim for which
        the own hash and these cost the same together.
        """
        if isinstance(password, PlainPassword):
            if password.matches(offered):
                return True
            password = None
        hashes = tuple(beside)
        if password is None and not hashes:
            return False
        # The hash is part of it: a password that was changed is asked for again.
        digest = self._digest(claim.provider, claim.name, password.text if password else "", offered)
        if self._is_remembered(digest):
            return True
        check = self._running.get(digest) or self._waiting.get(digest)
        if check is None:
            result = asyncio.get_running_loop().create_future()
            check = self._waiting[digest] = _Check(claim, password, hashes, offered, result)
            self._start()
            self._make_room(claim)
        # Several requests may wait for one check; that one of them gives up is nothing to the others.
        return await asyncio.shield(check.result)

    async def close(self) -> None:
        """Waits for running checks and drops waiting ones."""
        self._turn_away(list(self._waiting))
        await asyncio.to_thread(self._executor.shutdown)

    def _start(self) -> None:
        while self._waiting and len(self._running) < self._limits.threads:
            digest, check = self._waiting.popitem()
            self._running[digest] = check
            computed = asyncio.get_running_loop().run_in_executor(self._executor, check.compute)
            computed.add_done_callback(partial(self._ended, digest))

    def _make_room(self, claim: Claim) -> None:
        limits = self._limits
        named = [digest for digest, each in self._waiting.items() if each.claim.name == claim.name]
        self._turn_away(named[: max(0, len(named) - limits.waiting_per_name)])
        near = [digest for digest, each in self._waiting.items() if each.claim.address == claim.address]
        self._turn_away(near[: max(0, len(near) - limits.waiting_per_address)])
        self._turn_away([*self._waiting][: max(0, len(self._waiting) - limits.waiting)])

    def _turn_away(self, digests: Iterable[bytes]) -> None:
        for digest in digests:
            self._waiting.pop(digest).result.set_exception(AuthBusy("too many passwords wait to be checked"))

    def _ended(self, digest: bytes, computed: asyncio.Future[bool]) -> None:
        check = self._running.pop(digest)
        error = computed.exception()
        if error is not None:
            check.result.set_exception(error)
        else:
            check.result.set_result(computed.result())
            if computed.result():
                self._remember(digest)
        self._start()

    def _remember(self, digest: bytes) -> None:
        self._right_until[digest] = self._clock() + self._limits.remembered_for
        if len(self._right_until) > self._limits.remembered:
            self._right_until.popitem(last=False)

    def _is_remembered(self, digest: bytes) -> bool:
        until = self._right_until.get(digest)
        if until is not None and until <= self._clock():
            del self._right_until[digest]
            return False
        return until is not None

    def _digest(self, *parts: str) -> bytes:
        keyed = hmac.new(self._key, digestmod="sha256")
        for part in parts:
            encoded = part.encode()
            # The length parts `a`, `bc` from `ab`, `c`.
            keyed.update(len(encoded).to_bytes(8) + encoded)
        return keyed.digest()
