"""Limited places, such as connections: the clients who wait for one get their turn, and none of them holds all."""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import ContextVar

from tornado_proxy.storage.errors import Busy, Unreachable
from tornado_proxy.storage.limits import PLACE_OF_BULK_WITHIN, PLACE_WITHIN, SHARE

CLIENT: ContextVar[str] = ContextVar("CLIENT", default="")
"""The client for whom the current task works; empty for what no client asked for, which has no limited share."""


_Queue = dict[str, deque[asyncio.Future[None]]]


def is_fair(held: int, free: int) -> bool:
    """Whether a client who holds some of the places may have one of the free ones."""
    return free > 0 and (not held or held + 1 <= SHARE * (free - 1))


class Shares:
    """A number of places, which the log calls by `name`; at most `waiting` tasks wait for one, client after client.

    Tasks that are not urgent get a place when no urgent one can have it, and any number of them may wait: they go on
    with what was begun. A share may be smaller when a place is held than it was when the place was given; nothing is
    taken away.
    """

    def __init__(self, name: str, size: int, waiting: int) -> None:
        self._name = name
        self._free = size
        self._held: dict[str, int] = {}
        self._room = waiting  # for waiting tasks
        # By client, the next one's turn first: the urgent tasks, and the others.
        self._queues: tuple[_Queue, _Queue] = ({}, {})
        self._closed = ""  # the reason

    def has_one(self) -> bool:
        """Whether the client of the current task may have a place at once."""
        return self._may_have(CLIENT.get())

    def is_waited_for(self) -> bool:
        """Whether a task waits for a place."""
        return any(self._queues)

    async def take(self, *, is_urgent: bool = True) -> str:
        """Waits for a place, and returns the client to give it back for; raises `Busy`, or `Unreachable` if closed."""
        if self._closed:
            raise Unreachable(self._closed)
        client = CLIENT.get()
        if self._may_have(client):
            self._hold(client)
        else:
            await (self._wait(client) if is_urgent else self._turn(client, self._queues[1], PLACE_OF_BULK_WITHIN))
        return client

    def give_back(self, client: str) -> None:
        """Gives a client's place to a waiting task, or keeps it for another."""
        self._free += 1
        self._held[client] -= 1
        if not self._held[client]:
            del self._held[client]
        while any(self._queues) and self._serve_next():
            pass

    def close(self, reason: str) -> None:
        """Refuses all waiting and later tasks; places can still be given back."""
        self._closed = reason
        for queues in self._queues:
            for turn in [turn for queue in queues.values() for turn in queue if not turn.done()]:
                turn.set_exception(Unreachable(reason))
            queues.clear()

    def _may_have(self, client: str) -> bool:
        return is_fair(self._held.get(client, 0) if client else 0, self._free)

    def _hold(self, client: str) -> None:
        self._free -= 1
        self._held[client] = self._held.get(client, 0) + 1

    async def _wait(self, client: str) -> None:
        waiting = len(self._queues[0].get(client, ()))
        if not is_fair(waiting if client else 0, self._room):
            raise Busy(f"too many requests already wait for {self._name}")
        self._room -= 1
        try:
            await self._turn(client, self._queues[0], PLACE_WITHIN)
        finally:
            self._room += 1

    async def _turn(self, client: str, queues: _Queue, patience: float) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queues.setdefault(client, deque()).append(turn)
        try:
            async with asyncio.timeout(patience):
                await turn
        except BaseException as error:
            self._leave(client, turn, queues)
            if isinstance(error, TimeoutError):
                raise Busy(f"{self._name} was not free for {patience:g} seconds") from None
            raise

    def _leave(self, client: str, turn: asyncio.Future[None], queues: _Queue) -> None:
        """Ends the wait of a cancelled task, which may have been given a place in the same turn of the loop."""
        queue = queues.get(client)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del queues[client]
        elif not turn.cancelled() and turn.exception() is None:
            self.give_back(client)

    def _serve_next(self) -> bool:
        """Gives a place to the first client who may have one; returns whether there is one."""
        queues = next((each for each in self._queues if any(map(self._may_have, each))), None)
        if queues is None:
            return False
        client = next(filter(self._may_have, queues))
        queue = queues.pop(client)
        turn = queue.popleft()
        if queue:
            queues[client] = queue
        if not turn.done():
            self._hold(client)
            turn.set_result(None)
        return True
