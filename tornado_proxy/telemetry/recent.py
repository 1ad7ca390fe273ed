"""What happened lately, for the status page: the last requests, and the hits of rewrites minute by minute.

It is kept in memory, and shown by the admin listener only: paths of requests are no part of metrics.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from tornado_proxy.routing.compare import KeptRequest
from tornado_proxy.telemetry.events import ErrorServed, Served
from tornado_proxy.telemetry.limits import (
    LONGEST_HOST,
    LONGEST_KEPT,
    MINUTES_KEPT,
    MOST_COUNTED,
    MOST_ERRORS,
    MOST_RECENT,
)

RewriteId = tuple[str, str, str]  # a rewrite by its target and its texts: an edit of other rewrites does not change it


class RequestRow(msgspec.Struct, frozen=True):
    """A request that was answered; `seconds` is the time to the first byte of the answer."""

    at: float  # Unix time, seconds
    status: int
    method: str
    target: str | None
    path: str
    rule: str | None
    sent: int  # bytes
    seconds: float
    reason: str = ""  # of an error
    request_id: str = ""


def request_row(event: Served | ErrorServed) -> RequestRow:
    """Returns the row of a request."""
    asked = event.request
    seconds = event.seconds if event.first_byte is None else event.first_byte
    path, reason = asked.path[:LONGEST_KEPT], (event.reason or "")[:LONGEST_KEPT]
    row = asked.at, event.status, asked.method, asked.target, path, asked.rule, event.sent, seconds
    return RequestRow(*row, reason, asked.request_id)


def latest(rows: Iterable[RequestRow], most: int = MOST_RECENT) -> tuple[RequestRow, ...]:
    """Returns the last requests of several processes, the oldest first."""
    return tuple(sorted(rows, key=lambda each: each.at)[-most:])


def latest_errors(rows: Sequence[RequestRow]) -> tuple[RequestRow, ...]:
    """Returns the last requests of each kind, the oldest first."""
    # Apart, so that neither a scanner's requests nor a bucket that is down hides the other kind.
    faults = latest((each for each in rows if each.status >= 500), MOST_ERRORS)
    others = latest((each for each in rows if each.status < 500), MOST_ERRORS)
    return latest((*faults, *others), 2 * MOST_ERRORS)


class KeptRequests:
    """The last requests whose key the rules saw, to be decided again by a draft of them; neither query nor headers."""

    def __init__(self, most: int) -> None:
        self._rows: deque[tuple[Any, ...]] = deque(maxlen=most)

    def add(self, event: Served | ErrorServed) -> None:
        """Keeps a request."""
        asked = event.request
        key, host = asked.asked_key, asked.host
        if key is not None and len(host) <= LONGEST_HOST:
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
        self._minutes: deque[dict[RewriteId, int]] = deque(maxlen=MINUTES_KEPT - 1)

    def add(self, at: float, hits: Counter[RewriteId]) -> None:
        """Notes the hits since the start; `at` is the Unix time in seconds. A minute ends 60 seconds after the last."""
        if 0 <= at - self._since < 60:
            return
        if self._since:
            self._minutes.append(dict((hits - self._before).most_common(MOST_COUNTED)))
        self._before, self._since = hits.copy(), at

    def minutes(self, rewrite: RewriteId, hits: int) -> tuple[int, ...]:
        """Returns the hits of a rewrite in each minute, the oldest first; `hits` are those since the start."""
        return (*(each.get(rewrite, 0) for each in self._minutes), max(0, hits - self._before[rewrite]))
