"""What happened lately, for the status page: the last requests, and the hits of rewrites minute by minute.

It is kept in memory, and shown by the admin listener only: paths of requests are no part of metrics.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from typing import Any

import msgspec

from tornado_proxy.routing.replay import KeptRequest
from tornado_proxy.telemetry.events import ErrorServed, Served

MOST_RECENT = 30
"""The most requests that are kept."""

MINUTES = 15
"""The minutes for which hits are kept."""

_MOST_COUNTED = 200  # rewrites whose hits in a minute are kept: the page shows fewer
_LONGEST = 300  # characters of a path
_LONGEST_HOST = 255  # characters; a key is short enough by itself

RewriteId = tuple[str, str, str]
"""A rewrite by its target and its texts: an edit of other rewrites does not change it."""


class RecentRow(msgspec.Struct, frozen=True):
    """A request that was answered; `seconds` is the time to the first byte of the answer."""

    at: float  # Unix time, seconds
    status: int
    method: str
    target: str | None
    path: str
    rule: str | None
    sent: int  # bytes
    seconds: float


def recent_row(event: Served | ErrorServed) -> RecentRow:
    """Returns the row of a request."""
    asked = event.request
    seconds = event.seconds if event.first_byte is None else event.first_byte
    path = asked.path[:_LONGEST]
    return RecentRow(asked.at, event.status, asked.method, asked.target, path, asked.rule, event.sent, seconds)


def latest(rows: Iterable[RecentRow]) -> tuple[RecentRow, ...]:
    """Returns the last requests of several processes, the oldest first."""
    return tuple(sorted(rows, key=lambda each: each.at)[-MOST_RECENT:])


class KeptRequests:
    """The last requests whose key the rules saw, to be decided again by a draft of them; neither query nor headers."""

    def __init__(self, most: int) -> None:
        self._rows: deque[tuple[Any, ...]] = deque(maxlen=most)

    def add(self, event: Served | ErrorServed) -> None:
        """Keeps a request."""
        asked = event.request
        key, host = asked.asked_key, asked.host
        if key is not None and len(host) <= _LONGEST_HOST:
            self._rows.append((asked.at, asked.target, asked.method, host, asked.path, key, asked.user is not None))

    def resize(self, most: int) -> None:
        """Keeps another number of requests from now on."""
        if most != self._rows.maxlen:
            self._rows = deque(self._rows, most)

    def rows(self) -> tuple[KeptRequest, ...]:
        """Returns the requests, the oldest first."""
        return tuple(map(KeptRequest._make, self._rows))


class HitHistory:
    """The hits of rewrites in each of the last minutes."""

    def __init__(self) -> None:
        self._before: Counter[RewriteId] = Counter()
        self._since = 0.0
        self._minutes: deque[dict[RewriteId, int]] = deque(maxlen=MINUTES - 1)

    def add(self, at: float, hits: Counter[RewriteId]) -> None:
        """Notes the hits since the start; `at` is the Unix time in seconds. A minute ends 60 seconds after the last."""
        if 0 <= at - self._since < 60:
            return
        if self._since:
            self._minutes.append(dict((hits - self._before).most_common(_MOST_COUNTED)))
        self._before, self._since = hits.copy(), at

    def minutes(self, rewrite: RewriteId, hits: int) -> tuple[int, ...]:
        """Returns the hits of a rewrite in each minute, the oldest first; `hits` are those since the start."""
        return (*(each.get(rewrite, 0) for each in self._minutes), max(0, hits - self._before[rewrite]))
