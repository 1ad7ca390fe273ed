"""Calls webhooks in the background: a bounded queue, retries with back-off, a bounded shutdown."""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from tornado_proxy.config.actions import Webhook
from tornado_proxy.rules.diagnostic import counted
from tornado_proxy.telemetry.events import Bus, Event, ObjectUsed, WebhookCalled
from tornado_proxy.telemetry.limits import MOST_QUEUED, WEBHOOK_WORKERS
from tornado_proxy.wire.dialing import Fetch, Fetcher

_LOG = logging.getLogger("tornado_proxy")

_REPEATED = frozenset({429, 500, 502, 503, 504})


class WebhookCaller:
    """Calls the webhooks of each event, one after another; several events are handled at the same time."""

    def __init__(
        self,
        fetch: Fetcher,
        emit: Callable[[Event], None],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        most_queued: int = MOST_QUEUED,
    ) -> None:
        self._fetch = fetch
        self._emit = emit
        self._sleep = sleep
        self._queue: asyncio.Queue[ObjectUsed] = asyncio.Queue(most_queued)
        self._workers: list[asyncio.Task[None]] = []
        self._dropped = 0  # events since the queue was full, until half of it is free

    def listen(self, bus: Bus) -> None:
        """Calls the webhooks of a bus's events."""
        bus.add(self.queue, ObjectUsed)

    def queue(self, event: ObjectUsed) -> None:
        """Queues an event, or drops it if too many wait; returns at once."""
        if not self._workers:
            loop = asyncio.get_running_loop()
            self._workers = [loop.create_task(self._work()) for _ in range(WEBHOOK_WORKERS)]
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            self._dropped += 1
            if self._dropped == 1:
                _LOG.warning("webhooks are not called: %d events wait, further ones are dropped", self._queue.qsize())
            for _ in event.webhooks:
                self._emit(WebhookCalled(event.target, event.method, "dropped"))

    async def close(self, within: float) -> None:
        """Waits for the queue for some seconds, then drops the rest."""
        try:
            async with asyncio.timeout(within):
                await self._queue.join()
        except TimeoutError:
            _LOG.warning("abandoned webhooks that do not end, and %d events that wait", self._queue.qsize())
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            event = await self._queue.get()
            if self._dropped and self._queue.qsize() <= self._queue.maxsize // 2:
                _LOG.warning(
                    "webhooks are called again: %s dropped", counted(self._dropped, "event was", "events were")
                )
                self._dropped = 0
            try:
                for webhook in event.webhooks:
                    await self._call(webhook, event)
            except Exception:  # noqa: BLE001 - the next event must find a worker
                _LOG.exception("a webhook of target `%s` failed", event.target)
            finally:
                self._queue.task_done()

    async def _call(self, webhook: Webhook, event: ObjectUsed) -> None:
        secret = {name: value.reveal() for name, value in webhook.secret_headers}
        headers = {**dict(webhook.headers), **secret, "Content-Type": "application/json"}
        request = Fetch(webhook.url, headers, json.dumps(event.body), webhook.method, webhook.timeout)
        wait = webhook.default_wait_time
        failure = await self._attempt(request)
        for _ in range(webhook.retry_count):
            if failure is None or not failure.may_pass:
                break
            # Spread out, so that calls that failed together are not repeated together.
            await self._sleep(min(wait, webhook.max_wait_time) * random.uniform(0.5, 1))  # noqa: S311 - no secret
            wait *= 2
            failure = await self._attempt(request)
        if failure is not None:
            _LOG.warning(
                "a webhook of target `%s` failed: %s %s: %s", event.target, request.method, webhook.url, failure.reason
            )
        self._emit(WebhookCalled(event.target, event.method, "ok" if failure is None else "failed"))

    async def _attempt(self, request: Fetch) -> _Failure | None:
        try:
            answer = await self._fetch(request)
        except OSError as error:
            return _Failure(f"no answer: {error}", may_pass=True)
        if 200 <= answer.status < 300:
            return None
        return _Failure(f"status {answer.status}", may_pass=answer.status in _REPEATED)


class _Failure(NamedTuple):
    reason: str
    may_pass: bool
