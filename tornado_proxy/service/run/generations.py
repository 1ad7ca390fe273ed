"""The generation in force, and earlier ones that still have requests."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from tornado_proxy.telemetry.events import Event, Retired
from tornado_proxy.web.generation import Generation

_LOG = logging.getLogger("tornado_proxy")


class Generations:
    """The generation in force, and earlier ones, which are closed when their last requests have left."""

    def __init__(self, first: Generation, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self.in_force = first
        self._retiring: set[asyncio.Task[None]] = set()

    @property
    def retiring(self) -> int:
        """The number of earlier generations that still have requests."""
        return len(self._retiring)

    def swap(self, generation: Generation) -> None:
        """Puts a new generation in force; running requests keep the generation that they have."""
        self._retire(self.in_force)
        self.in_force = generation
        generation.since = time.time()

    async def close(self) -> None:
        """Retires all generations and waits for them; call it when no new request can come."""
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
