"""Checks offered passwords without stopping the event loop, few at a time, and remembers who was right for a while."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tornado_proxy.auth.authenticator import AuthBusy
from tornado_proxy.auth.passwords import HashedPassword, Password, PlainPassword


@dataclass(frozen=True, slots=True)
class VerifierLimits:
    """What hashing may take: one argon2 hash of the usual cost needs 64 MiB and 50 ms of a processor."""

    threads: int = 2
    waiting: int = 64  # checks beyond those that run; one more is turned away
    remembered: int = 4096  # successes
    remembered_for: float = 60.0  # seconds from the check


class Verifier:
    """Checks passwords; one for a process, to be closed with it. All but the hashing happens on the event loop.

    What is remembered is a digest under a key that nobody else has and that ends with the process: neither
    passwords nor anything that helps to guess them.
    """

    def __init__(self, limits: VerifierLimits | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits or VerifierLimits()
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._executor = ThreadPoolExecutor(self._limits.threads, thread_name_prefix="password")
        self._running: dict[bytes, asyncio.Future[bool]] = {}
        self._right_until: OrderedDict[bytes, float] = OrderedDict()

    def __repr__(self) -> str:
        return f"<Verifier, {len(self._running)} running, {len(self._right_until)} remembered>"

    async def verify(self, who: tuple[str, str], password: Password, offered: str) -> bool:
        """Whether a password is the one offered by `who`, a provider and a user's name; raises `AuthBusy`."""
        if isinstance(password, PlainPassword):
            return password.matches(offered)
        # The hash is part of it: a password that was changed is asked for again.
        digest = self._digest(*who, password.text, offered)
        return self._is_remembered(digest) or await self._hashed(digest, password, offered)

    async def pretend(self, who: tuple[str, str], password: Password, offered: str) -> None:
        """Take as long as `verify` would with somebody else's password, to no avail; raises `AuthBusy`.

        A success is not remembered: a quick second answer would tell that somebody has this password.
        """
        if isinstance(password, HashedPassword):
            await self._hashed(self._digest("", *who, password.text, offered), password, offered, remember=False)

    def pick(self, who: tuple[str, str], count: int) -> int:
        """A number below `count`, always the same for the same name, that nobody else can foretell."""
        return int.from_bytes(self._digest(*who)) % count

    async def close(self) -> None:
        """Let the checks that run end, and drop those that wait."""
        await asyncio.to_thread(self._executor.shutdown, cancel_futures=True)

    async def _hashed(self, digest: bytes, password: HashedPassword, offered: str, *, remember: bool = True) -> bool:
        running = self._running.get(digest)
        if running is None:
            running = self._start(digest, password, offered)
            running.add_done_callback(lambda done: self._ended(digest, done, remember=remember))
        # Several requests may wait for one check; that one of them gives up is nothing to the others.
        return await asyncio.shield(running)

    def _start(self, digest: bytes, password: HashedPassword, offered: str) -> asyncio.Future[bool]:
        if len(self._running) >= self._limits.threads + self._limits.waiting:
            raise AuthBusy(f"{len(self._running)} passwords wait to be checked")
        running = asyncio.get_running_loop().run_in_executor(self._executor, password.matches, offered)
        self._running[digest] = running
        return running

    def _ended(self, digest: bytes, done: asyncio.Future[bool], *, remember: bool) -> None:
        del self._running[digest]
        if remember and not done.cancelled() and done.exception() is None and done.result():
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
