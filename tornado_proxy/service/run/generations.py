"""The generation in force, and earlier ones that still have requests."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from tornado_proxy.telemetry.events import Event, Retired
from tornado_proxy.web.generation import Generation, Parts

_LOG = logging.getLogger("tornado_proxy")


class Generations:
    """The generation in force, and earlier ones, which are closed when their last requests have left."""

    def __init__(self, parts: Parts, emit: Callable[[Event], None], number: int = 1) -> None:
        self._emit = emit
        self.in_force = Generation(number, parts)
        self.staged: Generation | None = None
        self._retiring: set[asyncio.Task[None]] = set()

    @property
    def retiring(self) -> int:
        """The number of earlier generations that still have requests."""
        return len(self._retiring)

    def swap(self, parts: Parts, number: int) -> None:
        """Puts new parts in force under a number; running requests keep the generation that they have."""
        self.discard()
        self._retire(self.in_force)
        self.in_force = Generation(number, parts)

    def stage(self, parts: Parts, number: int) -> Generation:
        """Holds new parts beside the ones in force; those that were staged before are discarded."""
        self.discard()
        self.staged = Generation(number, parts)
        return self.staged

    def promote(self) -> None:
        """Puts the staged generation in force."""
        assert self.staged is not None, "something is staged"
        self._retire(self.in_force)
        self.in_force, self.staged = self.staged, None
        self.in_force.since = time.time()

    def discard(self) -> None:
        """Takes the staged generation away."""
        self.in_force.shadow = self.in_force.canary = None
        if self.staged is not None:
            self._retire(self.staged)
            self.staged = None

    async def close(self) -> None:
        """Retires all generations and waits for them; call it when no new request can come."""
        self.discard()
        self._retire(self.in_force)
        await asyncio.gather(*self._retiring)

    def _retire(self, generation: Generation) -> None:
        task = asyncio.get_running_loop().create_task(self._wait(generation))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    async def _wait(self, generation: Generation) -> None:
        try:
            await generation.retire()
        except Exception:  # noqa: BLE001 - a store that cannot be closed must not keep later generations from retiring
            _LOG.exception("generation %d could not be closed completely", generation.number)
        self._emit(Retired(generation.number))
