"""Basic authentication (RFC 7617): users whom a configuration lists, with hashes that threads check, few at a time."""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from math import inf

import argon2
import bcrypt
import msgspec

from tornado_proxy.auth import limits
from tornado_proxy.auth.authenticator import AuthBusy, Authenticator, SignIn, header_values
from tornado_proxy.config.model import Settings
from tornado_proxy.config.providers import BasicProvider, BasicUser
from tornado_proxy.config.secrets import HASHES
from tornado_proxy.config.values import Unshown
from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.rules.model import segment_objection
from tornado_proxy.semantics.fields import BasicCredentials, challenge
from tornado_proxy.semantics.request import Request, User, client_at
from tornado_proxy.wire.shares import Shares

# The last character of the salt has four unused bits, which the library requires to be zero.
_BCRYPT = re.compile(r"\$2[aby]\$(?:0[4-9]|[12][0-9]|3[01])\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{31}")


# Hashes of htpasswd (MD5, SHA-1), crypt(3) and LDAP.
_FOREIGN_HASH = re.compile(
    r"\$(?:apr1|1|5|6|7|y|gy|md5|sha1|scrypt|pbkdf2[\w-]*)\$|\{(?:SHA|SSHA|MD5|CRYPT)\}", re.IGNORECASE
)


class UnreadableHash(ValueError):
    """A text that begins like a hash but is not a valid one; the message names the kind, never the text."""


class PlainPassword(Unshown, frozen=True):
    """A password that was configured in plain text; only its digest is kept."""

    _digest: bytes

    def matches(self, offered: str) -> bool:
        """Whether it is the password; every wrong password takes the same time."""
        return hmac.compare_digest(self._digest, sha256(offered.encode()).digest())


class HashedPassword(Unshown, frozen=True):
    """A bcrypt or argon2 hash; `matches` takes as long as its cost parameters demand."""

    text: str

    @property
    def cost(self) -> str:
        """The cost of a check, equal for hashes of the same cost: the hash without its salt and digest."""
        return self.text.rsplit("$", 2)[0] if self.text.startswith("$argon2") else self.text[4:6]

    def matches(self, offered: str) -> bool:
        """Whether this password has the hash."""
        if not self.text.startswith("$argon2"):
            return bcrypt.checkpw(offered.encode()[: limits.LONGEST_FOR_BCRYPT], self.text.encode())
        try:
            return argon2.PasswordHasher().verify(self.text, offered)
        except argon2.exceptions.VerificationError:
            # A mismatch, or parameters that the library does not support: either way the user is refused.
            return False


Password = PlainPassword | HashedPassword


def read_password(text: str) -> Password:
    """Reads a password of the configuration; raises `UnreadableHash`."""
    prefix = next((each for each in HASHES if text.startswith(each)), None)
    if prefix is None:
        return PlainPassword(sha256(text.encode()).digest())
    if not (_argon2_cost(text) if prefix == "$argon2" else _BCRYPT.fullmatch(text)):
        raise UnreadableHash(f"it begins like a hash, with `{prefix}`, but is not a valid one")
    return HashedPassword(text)


def doubt(text: str) -> str | None:
    """Returns a warning about a configured password, or None; never the text itself. Raises `UnreadableHash`."""
    if isinstance(read_password(text), PlainPassword):
        looks_hashed = _FOREIGN_HASH.match(text)
        return "it looks like a hash of an unknown kind, and is taken for the password itself" if looks_hashed else None
    is_argon2 = text.startswith("$argon2")
    is_costly = (
        _argon2_cost(text) > limits.MOST_ARGON2_KIBIBYTES if is_argon2 else int(text[4:6]) > limits.MOST_BCRYPT_ROUNDS
    )
    return "a check of it takes seconds, or gigabytes of memory" if is_costly else None


def _argon2_cost(text: str) -> int:
    """KiB of memory times the passes over it; 0 for a text that is not an argon2 hash."""
    try:
        cost = argon2.extract_parameters(text)
    except argon2.exceptions.InvalidHashError:
        return 0
    return cost.memory_cost * cost.time_cost


class BasicAuthenticator(Authenticator):
    """Signs in the users of one provider; `users` are all users of its resources."""

    def __init__(self, provider: BasicProvider, users: Iterable[BasicUser], verifier: Verifier) -> None:
        self._name = provider.name
        self._challenge = challenge(provider.realm)
        self._passwords = {each: read_password(each.password.reveal()) for each in users}
        hashed = [each for each in self._passwords.values() if isinstance(each, HashedPassword)]
        self._by_cost = {each.cost: each for each in hashed}
        self._verifier = verifier

    async def authenticate(self, request: Request, guard: SignedIn) -> SignIn | Refuse:
        """Returns the user if the resource lists it and the password is right; raises `AuthBusy`."""
        sent = header_values(request, "authorization")
        if not sent:
            return self._refuse("no credentials were sent")
        # Two headers contradict each other (RFC 9110 5.3), so both are refused.
        offered = BasicCredentials.from_header(sent[0]) if len(sent) == 1 else None
        if offered is None:
            return self._refuse("the credentials cannot be read")
        if objection := segment_objection(offered.user):
            return self._refuse(f"the user's name {objection}")
        claim = Claim(self._name, offered.user, request.remote_address)
        listed = guard.find(offered.user)
        own = self._passwords[listed] if listed else None
        # One hash of each cost of the provider, except for the cost of the user's own: the time of an answer then
        # reveals neither user names nor whether a password is plain text.
        cost = own.cost if isinstance(own, HashedPassword) else None
        decoys = (each for each in self._by_cost.values() if each.cost != cost)
        if await self._verifier.verify(claim, own, offered.password, decoys):
            return SignIn(User(offered.user))
        # An unlisted name is not logged: it may be a password that was typed into the wrong field.
        wrong = f"the password of `{offered.user}` is wrong"
        return self._refuse(wrong if listed else "the name that was sent is not listed")

    def _refuse(self, reason: str) -> Refuse:
        return Refuse(401, reason, challenge=self._challenge)


def basic_authenticators(settings: Settings, verifier: Verifier) -> dict[str, BasicAuthenticator]:
    """An authenticator for each basic provider of a configuration, by its name."""
    authenticators = {}
    for provider in settings.basic_providers:
        users = (user for each in settings.resources if each.provider == provider.name for user in each.users)
        authenticators[provider.name] = BasicAuthenticator(provider, users, verifier)
    return authenticators


class Claim(msgspec.Struct, frozen=True):
    """A claimed user name, and the address of the client."""

    provider: str
    name: str
    address: str = ""


class _Check(msgspec.Struct):
    """A check, and the requests with the same password that wait for its result."""

    turn: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    requests: int = 0
    result: bool | None = None


class Verifier:
    """Checks passwords; one for a process, to be closed with it. All but the hashing happens on the event loop.

    Clients take turns, by their addresses, and each one's checks run in order. Of one client, only so many wait. So
    wrong passwords, however many, neither turn away nor long delay a right one that comes from elsewhere.

    Successes are remembered as digests under a random key that ends with the process. They do not help to guess
    passwords.
    """

    def __init__(
        self,
        *,
        threads: int = limits.CHECKING_THREADS,
        waiting: int = limits.MOST_CHECKS_WAITING,
        remembered: int = limits.MOST_CHECKS_REMEMBERED,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._remembered, self._clock = remembered, clock
        self._key = secrets.token_bytes(32)
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="password")
        self._threads = Shares("a password check", threads, inf, AuthBusy, waiting)
        self._checks: dict[bytes, _Check] = {}  # waiting and running ones
        self._right_until: OrderedDict[bytes, float] = OrderedDict()

    async def verify(
        self, claim: Claim, password: Password | None, offered: str, decoys: Iterable[HashedPassword] = ()
    ) -> bool:
        """Whether the offered password is right; `password` is None for an unknown user. Raises `AuthBusy`.

        If it is wrong, it is compared with the `decoys` too. The answer takes the same time for all claims whose
        own hash and decoys cost the same in total.
        """
        if isinstance(password, PlainPassword):
            if password.matches(offered):
                return True
            password = None
        hashes = tuple(decoys)
        if password is None and not hashes:
            return False
        # The digest includes the hash, so that a changed password is checked again.
        digest = self._digest(claim.provider, claim.name, password.text if password else "", offered)
        if self._right_until.get(digest, 0.0) > self._clock():
            return True
        check = self._checks.setdefault(digest, _Check())
        check.requests += 1
        try:
            async with check.turn:  # the next request takes over if this one is cancelled
                if check.result is None:
                    check.result = await self._compute(client_at(claim.address), password, hashes, offered)
                    if check.result:
                        self._right_until.pop(digest, None)
                        self._right_until[digest] = self._clock() + limits.CHECK_REMEMBERED
                        while len(self._right_until) > self._remembered:
                            self._right_until.popitem(last=False)
                return check.result
        finally:
            check.requests -= 1
            if not check.requests:
                del self._checks[digest]

    async def close(self) -> None:
        """Waits for running checks and refuses waiting ones."""
        self._threads.close(lambda: AuthBusy("the service stops"))
        await asyncio.to_thread(self._executor.shutdown)

    async def _compute(
        self, client: str, password: HashedPassword | None, decoys: Iterable[HashedPassword], offered: str
    ) -> bool:
        """Compares a password with hashes on a thread, when it is the client's turn; raises `AuthBusy`."""
        thread = await self._threads.take(client=client)
        computed = asyncio.get_running_loop().run_in_executor(self._executor, _is_right, password, decoys, offered)
        computed.add_done_callback(lambda _: self._threads.give_back(thread))
        # A request that is cancelled does not end the thread.
        return await asyncio.shield(computed)

    def _digest(self, *texts: str) -> bytes:
        keyed = hmac.new(self._key, digestmod="sha256")
        for text in texts:
            encoded = text.encode()
            # The length distinguishes `a`, `bc` from `ab`, `c`.
            keyed.update(len(encoded).to_bytes(8) + encoded)
        return keyed.digest()


def _is_right(password: HashedPassword | None, decoys: Iterable[HashedPassword], offered: str) -> bool:
    """Whether a password is right; a wrong one is compared with the other hashes too, to take their time."""
    if password is not None and password.matches(offered):
        return True
    for other in decoys:
        other.matches(offered)
    return False
