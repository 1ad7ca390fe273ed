"""Simulates the requests of a log: decides about them as a server with the same sites would.

Many requests are shared between processes: workers are forked, so that they inherit requests and compiled rules as
they are, and only results travel.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from tornado_proxy.routing.decide import Decision, simulate
from tornado_proxy.routing.errors import RequestError, status_of
from tornado_proxy.routing.mounts import Mounts, Site
from tornado_proxy.routing.plan import ReadForm, Refuse
from tornado_proxy.routing.request import Request, read_request
from tornado_proxy.templates.data import User
from tornado_proxy.tools.request_log import LoggedRequest

UPLOAD = "a log does not hold the name of an upload's file"
"""Why nothing is known about an upload."""


class SimulatedAnswer(NamedTuple):
    """What becomes of a request: small, since many are kept, and sent from one process to another.

    `reached` says whether it reached the rules of its target; `number` is that of the rewrite that took its key. A
    request that got no key, or one that cannot be served, has the status and the reason.
    """

    path: str  # decoded; as sent where it cannot be
    target: str | None = None
    reached: bool = False
    number: int | None = None
    key: str | None = None
    status: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RequestDefaults:
    """What holds for all requests: who signs in, and what their lines do not say."""

    user: User | None = None
    host: str = ""
    headers: tuple[tuple[str, str], ...] = ()


class Simulator:
    """Decides about logged requests as a server with these sites would."""

    def __init__(self, sites: Sequence[Site], defaults: RequestDefaults) -> None:
        self.sites = {each.target.name: each for each in sites}
        self.mounts = Mounts(sites)
        self._defaults = defaults

    def read(self, logged: LoggedRequest) -> Request:
        """Reads a logged request; raises `RequestError`."""
        host = logged.host or self._defaults.host
        return read_request(logged.address, logged.method, host, self._defaults.headers)

    def ask(self, logged: LoggedRequest) -> SimulatedAnswer:
        """Returns what becomes of a request."""
        try:
            request = self.read(logged)
        except RequestError as error:
            return SimulatedAnswer(logged.address, status=status_of(error), reason=str(error))
        user = self._defaults.user or (User(logged.user) if logged.user else None)
        return _answer(simulate(self.mounts, request, user))


def _answer(decision: Decision) -> SimulatedAnswer:
    path, match, first, rewrite = decision.request.path, decision.match, decision.plan[0], decision.rewrite
    target = match.site.target.name if match else None
    number, reached = rewrite.number if rewrite else None, decision.data is not None
    key = decision.rewritten.key if decision.rewritten else None
    if isinstance(first, Refuse):
        # A failure is counted by its own text: the rewrite is known by its number.
        reason = str(decision.failure) if decision.failure else first.reason
        return SimulatedAnswer(path, target, reached, number, key, first.status, reason)
    return SimulatedAnswer(path, target, reached, number, key, reason=UPLOAD if isinstance(first, ReadForm) else "")


Item = TypeVar("Item")
Result = TypeVar("Result")

_WORTH_IT = 20_000
"""The number of items below which starting workers takes longer than they save."""

_PORTION = 5_000

_inherited: tuple[Callable[[Sequence[Any]], Any], Sequence[Any]] = (len, ())
"""The work and all items, set for as long as workers are being forked."""


def in_portions(
    work: Callable[[Sequence[Item]], Result],
    items: Sequence[Item],
    progress: Callable[[float], None],
    workers: int | None = None,
) -> Iterator[Result]:
    """Yields the result of `work` for each portion of the items, in order; `progress` is called with the part done.

    `workers` is their number; by default one for each processor, and none for few items.
    """
    starts = range(0, len(items), _PORTION)
    if workers is None:
        workers = len(os.sched_getaffinity(0)) if len(items) >= _WORTH_IT else 1
    done = (work(items[start : start + _PORTION]) for start in starts)
    for number, result in enumerate(done if workers < 2 else _forked(work, items, starts, workers), start=1):
        yield result
        progress(number / len(starts))


def _forked(
    work: Callable[[Sequence[Item]], Result], items: Sequence[Item], starts: Sequence[int], workers: int
) -> Iterator[Result]:
    import multiprocessing  # noqa: PLC0415 - 20 ms that few items need not wait for
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - the same

    global _inherited  # noqa: PLW0603 - what forked workers share has to stand where they find it
    context = multiprocessing.get_context("fork")
    _inherited = (work, items)
    try:
        with ProcessPoolExecutor(workers, context, initializer=_leave_interrupts) as pool:
            yield from pool.map(_portion, starts)
    finally:
        _inherited = (len, ())


def _leave_interrupts() -> None:
    """Ignores Ctrl-C, which reaches every process of a terminal: the process that forked the others ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _portion(start: int) -> Any:
    work, items = _inherited
    return work(items[start : start + _PORTION])
