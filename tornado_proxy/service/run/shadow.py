"""The staged generation of a process: it decides beside the one in force, and answers some clients."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextvars import Context

from tornado_proxy.routing.compare import Difference, Kind, Pair, beside_edit
from tornado_proxy.routing.decide import Decision
from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.service.reload.stage import place_of
from tornado_proxy.service.reload.stores import bare_stores
from tornado_proxy.storage.probe import find_object
from tornado_proxy.telemetry.events import Event, KeySampled, Shadowed
from tornado_proxy.web.generation import Generation

_LOG = logging.getLogger("tornado_proxy")

MOST_SAMPLED = 10_000  # keys that are remembered, so that none is asked for twice

MOST_TIME = 0.05
"""The part of the event loop's processor time that deciding beside takes at most: not all requests are compared."""

_SAMPLED_WITHIN = 10.0  # seconds
_MOST_AT_ONCE = 8


class Shadow:
    """Decides about each answered request with the mounts of a staged generation, without an effect."""

    def __init__(
        self,
        staged: Generation,
        emit: Callable[[Event], None],
        samples: float,
        clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self._clock = clock
        self._next = clock() - 1
        self._number = staged.number
        self._mounts = staged.parts.mounts
        self._emit = emit
        self._sampler = HeadSampler(staged, emit, samples) if samples else None

    def __call__(self, decision: Decision, status: int) -> None:
        """Decides about a request that was answered with a status, unless others used up its part of the time."""
        began = self._clock()
        if began < self._next:
            return
        self._compare(decision, status)
        # What was not used of the last second is left: a service with few requests compares them all.
        self._next = max(self._next, began - 1) + (self._clock() - began) / MOST_TIME

    def _compare(self, decision: Decision, status: int) -> None:
        try:
            difference = beside_edit(self._mounts, decision)
        except Exception:  # noqa: BLE001 - the request in force was answered; with the edit it would be a 500
            _LOG.exception("the staged generation failed on a request")
            request = decision.request
            difference = Difference(Kind.ERROR, Pair("", None, None), request.method, request.path, "", "(500)")
        self._emit(Shadowed(self._number, difference, status))
        if self._sampler is not None and status < 400 and difference.kind in (Kind.KEY, Kind.ANSWER):
            self._sampler.offer(difference)


def canary(in_force: Generation, staged: Generation, share: float) -> Callable[[str], Generation]:
    """Returns what chooses the generation that answers a client, by its address: the staged one for a share of them."""
    return lambda client: staged if place_of(client, staged.parts.digest) < share else in_force


class HeadSampler:
    """Asks the buckets of a staged generation for new keys by HEAD, at most `rate` a second."""

    def __init__(
        self,
        staged: Generation,
        emit: Callable[[Event], None],
        rate: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._staged = staged
        self._stores = {target.name: (target.bucket, store) for target, store in bare_stores(staged.parts)}
        self._emit = emit
        self._pause = 1 / rate
        self._clock = clock
        self._next = clock()
        self._asked: set[tuple[str, ObjectKey]] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def offer(self, difference: Difference) -> None:
        """Asks for the key of a difference, unless it was asked for or the budget is used up."""
        key, now = difference.key, self._clock()
        if key is None or now < self._next or len(self._tasks) >= _MOST_AT_ONCE:
            return
        asked = difference.pair.target, key
        if asked in self._asked or len(self._asked) >= MOST_SAMPLED:
            return
        self._asked.add(asked)
        self._next = max(self._next, now - 1) + self._pause
        # Without the context of the request: its client has a share of the connections, and this call is not its own.
        task = asyncio.get_running_loop().create_task(self._ask(difference, key), context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ask(self, difference: Difference, key: ObjectKey) -> None:
        bucket, store = self._stores[difference.pair.target]
        with self._staged:
            answer = await find_object(bucket, store, key, _SAMPLED_WITHIN)
            exists = answer if isinstance(answer, bool) else None
            self._emit(KeySampled(self._staged.number, difference, exists))
