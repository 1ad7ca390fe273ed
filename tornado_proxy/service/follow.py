"""Follows edits: watches the places, lets an edit settle, has it loaded; and looks for itself now and then.

Notifications miss what happens on network file systems, in bind-mounted files and behind links that lead out of the
places. A slow look at the digest beside them does not.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from tornado_proxy.service.watch import Watch

_LOG = logging.getLogger("tornado_proxy")


@dataclass(frozen=True, slots=True)
class Pace:
    """How soon an edit is taken up, in seconds."""

    quiet: float = 0.05  # without a further change, before an edit counts as done
    patience: float = 0.5  # at most, however long changes go on
    look: float = 10.0  # between looks that nothing asked for
    look_unwatched: float = 1.0  # the same, where the kernel does not notify


class Follower:
    """Calls `reload` after every edit around `places`, which may differ after each."""

    def __init__(
        self,
        places: Callable[[], tuple[Path, ...]],
        reload: Callable[[], Awaitable[object]],
        pace: Pace | None = None,
        watch: Callable[[Callable[[], None]], Watch] = Watch,
    ) -> None:
        self._places = places
        self._reload = reload
        self._pace = pace or Pace()
        self._poked = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._told = ""  # the trouble that was logged last
        self._watch = watch(self.poke)

    def __repr__(self) -> str:
        return f"<Follower of {len(self._places())} places>"

    def poke(self) -> None:
        """Say that something may have changed; from any thread, also after the loop has ended."""
        try:
            self._loop.call_soon_threadsafe(self._poked.set)
        except RuntimeError:
            return

    async def run(self) -> None:
        """Follow edits until cancelled; whatever goes wrong, the next look is taken."""
        try:
            while True:
                try:
                    # Watched first, read then: what changes in between is seen by one or the other.
                    await self._look()
                    await self._reload()
                except Exception:  # noqa: BLE001 - whatever it is, the next look may go well
                    _LOG.exception("following edits met a defect")
                await self._next_poke()
        finally:
            await asyncio.to_thread(self._watch.close)

    async def _look(self) -> None:
        # Walking a large tree takes a while, and so does a network file system.
        await asyncio.to_thread(self._watch.look_at, self._places())
        trouble = self._watch.trouble
        if trouble and trouble != self._told:
            period = self._pace.look_unwatched
            _LOG.warning("edits are looked for every %g s, as the kernel does not notify: %s", period, trouble)
        elif self._told and not trouble:
            _LOG.info("the kernel notifies of edits again")
        self._told = trouble

    async def _next_poke(self) -> None:
        """Wait for a change and for the quiet after it, or for the time of a look."""
        period = self._pace.look_unwatched if self._watch.trouble else self._pace.look
        if await self._poked_within(period):
            end = self._loop.time() + self._pace.patience
            while self._loop.time() < end and await self._poked_within(self._pace.quiet):
                pass

    async def _poked_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._poked.wait()
        except TimeoutError:
            return False
        self._poked.clear()
        return True
