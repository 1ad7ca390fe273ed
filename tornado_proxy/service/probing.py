"""Probes the buckets in force at start, after each reload and now and then, and keeps the last result of each."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence

from tornado_proxy.storage.probe import ProbeResult
from tornado_proxy.telemetry.events import Event, Probed
from tornado_proxy.telemetry.log import moment

_LOG = logging.getLogger("tornado_proxy")

_JITTER = 0.1  # the part of the interval by which it varies, so that many instances do not probe at once


class Prober:
    """Calls `probe` every `interval` seconds; an interval of 0 turns it off."""

    def __init__(
        self, probe: Callable[[], Awaitable[Sequence[ProbeResult]]], interval: float, emit: Callable[[Event], None]
    ) -> None:
        self._probe = probe
        self._interval = interval
        self._emit = emit
        self._poked = asyncio.Event()
        self._results: dict[str, ProbeResult] = {}

    def __repr__(self) -> str:
        return f"<Prober of {len(self._results)} buckets>"

    @property
    def finds_bucket(self) -> bool:
        """Whether a bucket can be used, as far as is known: true where nothing is probed."""
        return not self._interval or any(result.is_up for result in self._results.values())

    def results(self) -> Sequence[ProbeResult]:
        """The last result of each bucket in force."""
        return list(self._results.values())

    def poke(self) -> None:
        """Notes that other buckets may be in force."""
        self._poked.set()

    async def run(self) -> None:
        """Probes until cancelled; a defect only ends the current probe."""
        while self._interval:
            self._poked.clear()
            try:
                results = await self._probe()
                if self._poked.is_set():
                    continue  # what was probed is not in force any more
                self._take(results)
            except Exception:  # noqa: BLE001 - the next probe may go well
                _LOG.exception("probing the buckets failed")
            try:
                async with asyncio.timeout(self._interval * random.uniform(1 - _JITTER, 1 + _JITTER)):  # noqa: S311 - no secret
                    await self._poked.wait()
            except TimeoutError:
                continue

    def _take(self, results: Sequence[ProbeResult]) -> None:
        before, self._results = self._results, {result.target: result for result in results}
        for result in results:
            known = before.get(result.target)
            problem = known.problem if known else None
            self._emit(Probed(result, is_news=result.problem != problem))

    def view(self, target: str) -> dict[str, object] | None:
        """The last result of a target, as `GET /-/status` answers it; None where there is none yet."""
        result = self._results.get(target)
        return probe_view(result) if result else None


def probe_view(result: ProbeResult) -> dict[str, object]:
    """A result, fit for JSON."""
    problem = result.problem
    return {
        "up": result.is_up,
        "at": moment(result.at),
        "seconds": round(result.seconds, 6),
        "granted": list(result.granted),
        "problem": problem and {"code": problem.code, "message": problem.message, "help": problem.help},
    }
