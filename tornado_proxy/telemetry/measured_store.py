"""A store that emits what became of its calls."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.storage.store import LOCAL, WRITES, ForwardingStore, Store, note_wait
from tornado_proxy.telemetry.events import Event, ObjectWritten, S3Called

Result = TypeVar("Result")


class MeasuredStore(ForwardingStore):
    """Emits the outcome of every call to the bucket, and every object that was written."""

    def __init__(self, store: Store, target: str, emit: Callable[[Event], None]) -> None:
        super().__init__(store)
        self._target = target
        self._emit = emit

    async def _forward(self, call: str, key: ObjectKey, result: Awaitable[Result]) -> Result:
        if call in LOCAL:
            return await result
        began, outcome, by_client = time.perf_counter(), "cancelled", False
        try:
            answer = await result
        except StorageError as error:
            outcome, by_client = type(error).__name__, error.by_client
            raise
        else:
            outcome = "ok"
            return answer
        finally:
            seconds = time.perf_counter() - began
            note_wait(seconds)
            self._emit(S3Called(self._target, call, outcome, seconds, by_client))
            if call in WRITES:
                self._emit(ObjectWritten(self._target, key))
