"""The one way to wait: targets get their turn, and the clients of each, and none of them holds all there is.

`Shares` are places, such as connections. What is no number of places, such as memory that is taken bit by bit, decides
itself who may have more, and has a `Line` for those who wait. A call that may hang has a thread of its own.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from contextvars import ContextVar
from math import inf
from threading import Thread
from typing import Generic, NamedTuple, TypeVar

from tornado_proxy.semantics.request import StatusError
from tornado_proxy.wire.limits import CLIENTS_SHARE, PLACE_OF_BULK_WITHIN, PLACE_WITHIN, TARGETS_SHARE

T = TypeVar("T")

CLIENT: ContextVar[str] = ContextVar("CLIENT", default="")
"""The client for whom the current task works; empty for what no client asked for, which has no limited share."""


def is_fair(held: float, free: float, share: float = CLIENTS_SHARE) -> bool:
    """Whether one who holds some of the places may have one of the free ones."""
    return free > 0 and (not held or held + 1 <= share * (free - 1))


class Line(Generic[T]):
    """Those who wait: targets take turns, and so do the clients of each; what one client asks for stays in order.

    `give` gives what was asked for, if that can be, and says so. `undo` takes it back from a task that was cancelled at
    that moment.
    """

    def __init__(self, give: Callable[[T], bool], undo: Callable[[T], object]) -> None:
        self._give = give
        self._undo = undo
        self._queues: dict[str, dict[Hashable, deque[tuple[T, asyncio.Future[None]]]]] = {}  # by target and client

    def __bool__(self) -> bool:
        return bool(self._queues)

    async def wait(self, target: str, client: Hashable, asked: T, patience: float) -> None:
        """Waits until it is given what it asks for; raises `TimeoutError` after so many seconds."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place = asked, turn
        queue = self._queues.setdefault(target, {}).setdefault(client, deque())
        queue.append(place)
        try:
            async with asyncio.timeout(patience):
                await turn
        except BaseException:
            if place in queue:
                queue.remove(place)
                self._clear(target, client)
            elif not turn.cancelled() and turn.exception() is None:
                self._undo(asked)
            raise

    def serve(self) -> bool:
        """Gives to the first who can have what they ask for; returns whether there was one."""
        for target, clients in self._queues.items():
            for client, queue in clients.items():
                asked, turn = queue[0]
                if not turn.done() and not self._give(asked):
                    continue
                queue.popleft()
                if not turn.done():
                    turn.set_result(None)
                clients[client] = clients.pop(client)
                self._queues[target] = self._queues.pop(target)
                self._clear(target, client)
                return True
        return False

    def refuse(self, error: Callable[[], Exception]) -> None:
        """Ends all waits with an error."""
        for clients in self._queues.values():
            for _, turn in (place for queue in clients.values() for place in queue):
                if not turn.done():
                    turn.set_exception(error())
        self._queues.clear()

    def _clear(self, target: str, client: Hashable) -> None:
        clients = self._queues.get(target, {})
        if not clients.get(client, True):
            del clients[client]
        if not clients:
            self._queues.pop(target, None)


class Place(NamedTuple):
    """Who holds a place, or waits for one."""

    target: str
    client: str


class Shares:
    """A number of places, which the log calls by `name`.

    At most `waiting` tasks wait for one, and at most `each` of a client. Tasks that are not urgent get a place when no
    urgent one can have it, and any number of them may wait: they go on
    with what was begun. A share may be smaller when a place is held than it was when the place was given; nothing is
    taken away. Who gets no place, or none in time, gets the error `refusal`.
    """

    def __init__(
        self, name: str, size: int, waiting: float, refusal: Callable[[str], StatusError], each: float = inf
    ) -> None:
        self._name = name
        self._free = size
        self._refusal = refusal
        self._held: dict[Place | str, int] = {}  # by target and client, and by target
        self._room = waiting
        self._each = each
        self._waiting: dict[Place | str, int] = {}  # urgent tasks
        self._urgent = Line(self._give, self.give_back)
        self._bulk = Line(self._give, self.give_back)
        self._closed: Callable[[], StatusError] | None = None

    def has_one(self) -> bool:
        """Whether the client of the current task may have a place at once."""
        return self._may_have(Place("", CLIENT.get()))

    def is_waited_for(self) -> bool:
        """Whether a task waits for a place."""
        return bool(self._urgent or self._bulk)

    async def take(self, target: str = "", client: str | None = None, *, is_urgent: bool = True) -> Place:
        """Waits for a place, and returns it; raises an error if there is none in time, or they are closed."""
        self._check_open()
        place = Place(target, CLIENT.get() if client is None else client)
        if not self._give(place):
            await (self._wait(place) if is_urgent else self._in(self._bulk, place, PLACE_OF_BULK_WITHIN))
            try:
                self._check_open()  # it may have been closed since the place was given
            except BaseException:
                self.give_back(place)
                raise
        return place

    @asynccontextmanager
    async def taken(self, target: str = "", client: str | None = None) -> AsyncIterator[None]:
        """Holds a place; raises as `take`."""
        place = await self.take(target, client)
        try:
            yield
        finally:
            self.give_back(place)

    def give_back(self, place: Place) -> None:
        """Gives a place to a waiting task, or keeps it for another."""
        self._free += 1
        _count(self._held, place, -1)
        while self._urgent.serve() or self._bulk.serve():
            pass

    def close(self, error: Callable[[], StatusError]) -> None:
        """Refuses all waiting and later tasks with an error; places can still be given back."""
        self._closed = error
        self._urgent.refuse(error)
        self._bulk.refuse(error)

    def _check_open(self) -> None:
        if self._closed is not None:
            raise self._closed()

    def _may_have(self, place: Place) -> bool:
        return _is_fair(self._held, place, self._free)

    def _give(self, place: Place) -> bool:
        if not self._may_have(place):
            return False
        self._free -= 1
        _count(self._held, place, 1)
        return True

    async def _wait(self, place: Place) -> None:
        if self._waiting.get(place, 0) >= self._each or not _is_fair(self._waiting, place, self._room):
            raise self._refusal(f"too many requests already wait for {self._name}")
        self._room -= 1
        _count(self._waiting, place, 1)
        try:
            await self._in(self._urgent, place, PLACE_WITHIN)
        finally:
            self._room += 1
            _count(self._waiting, place, -1)

    async def _in(self, line: Line[Place], place: Place, patience: float) -> None:
        try:
            await line.wait(place.target, place.client, place, patience)
        except TimeoutError:
            raise self._refusal(f"{self._name} was not free for {patience:g} seconds") from None


def _is_fair(counts: dict[Place | str, int], place: Place, free: float) -> bool:
    """Whether neither the client nor the target has too much; what nobody asked for has no limited share."""
    by_client = counts.get(place, 0) if place.client else 0
    by_target = counts.get(place.target, 0) if place.target else 0
    return is_fair(by_client, free) and is_fair(by_target, free, TARGETS_SHARE)


def _count(counts: dict[Place | str, int], place: Place, by: int) -> None:
    for name in (place, place.target) if place.target else (place,):
        if count := counts.pop(name, 0) + by:
            counts[name] = count


def in_thread(call: Callable[[], T]) -> Future[T]:
    """Begins a call that may hang: nobody else waits for its thread, and the process does not either."""
    made: Future[T] = Future()
    made.set_running_or_notify_cancel()

    def make() -> None:
        try:
            made.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised where the call is awaited
            made.set_exception(error)

    Thread(target=make, name="own", daemon=True).start()
    return made


async def in_own_thread(call: Callable[[], T]) -> T:
    """Returns the result of a call that may hang."""
    return await asyncio.wrap_future(in_thread(call))
