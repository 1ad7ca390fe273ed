"""Messages between the process that keeps workers and each of them: pickled values over a socket pair.

Both ends are this program at the same version, and nobody else has the socket.
"""

from __future__ import annotations

import asyncio
import pickle
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from tornado_proxy.service.sources import Sources
from tornado_proxy.telemetry.totals import Counts

_LENGTH = struct.Struct("!Q")


@dataclass(frozen=True, slots=True)
class Begin:
    """To a worker, once: what to serve, and under which number.

    `inherited` says whether the service manager holds the sockets too.
    """

    number: int
    sources: Sources
    name_generation: bool
    inherited: bool = False


@dataclass(frozen=True, slots=True)
class Put:
    """To a worker: put this in force."""

    number: int
    sources: Sources


@dataclass(frozen=True, slots=True)
class Stop:
    """To a worker: accept no more, finish what runs within so many seconds, and end."""

    grace: float


@dataclass(frozen=True, slots=True)
class Beat:
    """From a worker: its loop turns, it serves this generation, and this is what it does.

    Also the answer to `Begin` and `Put`.
    """

    number: int
    view: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Count:
    """To a worker: tell what it has counted."""


@dataclass(frozen=True, slots=True)
class Counted:
    """From a worker: everything that it has counted so far. Also unasked, since a worker may be killed."""

    counts: Counts = field(repr=False)


Message = Begin | Put | Stop | Beat | Count | Counted


class Channel:
    """One end of a socket pair."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, end: socket.socket) -> Channel:
        """The channel over a connected socket, which it takes over."""
        return cls(*await asyncio.open_connection(sock=end))

    async def send(self, message: Message) -> bool:
        """Send a message; false where the other end has gone."""
        data = pickle.dumps(message)
        try:
            self._writer.write(_LENGTH.pack(len(data)) + data)
            await self._writer.drain()
        except ConnectionError:
            return False
        return True

    async def receive(self) -> Message | None:
        """The next message; None where the other end has gone."""
        try:
            (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
            data = await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        message: Message = pickle.loads(data)  # noqa: S301 - from the other half of this program
        return message

    async def close(self) -> None:
        """Close this end."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            return
