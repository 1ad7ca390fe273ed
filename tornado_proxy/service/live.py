"""The generation in force: asked for by every request, swapped by one assignment, retired behind the scenes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from tornado_proxy.gateway.generation import Generation, Parts
from tornado_proxy.telemetry.events import Event, Retired

_LOG = logging.getLogger("tornado_proxy")


class Live:
    """Holds the current generation, and waits for those before it to be left by their last requests."""

    def __init__(self, first: Parts, tell: Callable[[Event], None], number: int = 1) -> None:
        self._tell = tell
        self._current = Generation(number, first)
        self._retiring: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"<Live {self._current!r}, {len(self._retiring)} retiring>"

    def current(self) -> Generation:
        """The generation in force."""
        return self._current

    @property
    def retiring(self) -> int:
        """How many generations still wait for requests to leave."""
        return len(self._retiring)

    def swap(self, parts: Parts, number: int) -> None:
        """Put new parts in force under a number; requests that run keep the generation that they have."""
        before, self._current = self._current, Generation(number, parts)
        self._retire(before)

    async def close(self) -> None:
        """Retire the current generation too, once no request can find it, and wait for all."""
        self._retire(self._current)
        await asyncio.gather(*self._retiring)

    def _retire(self, generation: Generation) -> None:
        task = asyncio.get_running_loop().create_task(self._wait(generation))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    async def _wait(self, generation: Generation) -> None:
        try:
            await generation.retire()
        except Exception:  # noqa: BLE001 - whatever keeps a store open, later generations retire
            _LOG.exception("generation %d could not be closed whole", generation.number)
        self._tell(Retired(generation.number))
