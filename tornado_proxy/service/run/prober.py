"""Probes of the buckets in force, again and again."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from tornado_proxy.storage.probe import ProbeResult
from tornado_proxy.telemetry.events import Event, Probed

_LOG = logging.getLogger("tornado_proxy")

_JITTER = 0.1  # of the interval, so that many instances do not probe at once


class Prober:
    """Calls `probe` every `interval` seconds; an interval of 0 turns it off."""

    def __init__(
        self, probe: Callable[[], Awaitable[Sequence[ProbeResult]]], interval: float, emit: Callable[[Event], None]
    ) -> None:
        self._probe = probe
        self._interval = interval
        self._emit = emit
        self._poked = asyncio.Event()
        self._settled = asyncio.Event()
        self.results: dict[str, ProbeResult] = {}  # the last one of each target in force

    @property
    def finds_bucket(self) -> bool:
        """Whether the last probe could use any bucket; true if probes are off."""
        return not self._interval or any(result.is_up for result in self.results.values())

    def poke(self) -> None:
        """Probes again at once, because other buckets may be in force."""
        self._poked.set()
        self._settled.clear()

    async def settled(self, within: float) -> None:
        """Waits until the results are those of what is in force, for some seconds at most."""
        if self._interval:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._settled.wait(), within)

    async def run(self) -> None:
        """Probes until cancelled; a defect only ends the current probe."""
        while self._interval:
            self._poked.clear()
            try:
                results = await self._probe()
                if self._poked.is_set():
                    continue  # what was probed is not in force any more
                problems = {target: result.problem for target, result in self.results.items()}
                # In place: the status page looks at the same dictionary.
                self.results.clear()
                self.results.update((result.target, result) for result in results)
                self._settled.set()
                for result in results:
                    self._emit(Probed(result, is_news=result.problem != problems.get(result.target)))
            except Exception:  # noqa: BLE001 - the next probe may go well
                _LOG.exception("probing the buckets failed")
            try:
                async with asyncio.timeout(self._interval * random.uniform(1 - _JITTER, 1 + _JITTER)):  # noqa: S311 - no secret
                    await self._poked.wait()
            except TimeoutError:
                continue
