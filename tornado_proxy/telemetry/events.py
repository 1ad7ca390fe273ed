"""The events, and the bus that passes each to its listeners."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, get_args

import msgspec

from tornado_proxy.config.actions import Webhook
from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.rules.diagnostic import Diagnostic
from tornado_proxy.rules.model import Rule
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.storage.probe import ProbeResult
from tornado_proxy.storage.store import LOCAL, WRITES, ForwardingStore, Store, note_wait


class RequestRecord(msgspec.Struct, frozen=True):
    """The data of a request at its end; None for steps that were not reached.

    It never holds the query, where signatures and tokens travel.
    """

    request_id: str
    at: float  # Unix time, seconds
    client: str
    method: str
    host: str
    path: str  # decoded, or the raw one if it cannot be decoded
    generation: int
    target: str | None = None
    key: str | None = None  # rewritten, without the prefix
    rule: str | None = None
    user: str | None = None
    trace_context: tuple[tuple[str, str], ...] = ()  # the headers of W3C Trace Context, as sent
    rewrite: Rule | None = None  # the one that `rule` names
    facts: Mapping[str, str | float] = MappingProxyType({})  # what JSON lines show besides, by name
    protocol: str = ""  # such as `HTTP/2.0`
    asked_key: str | None = None  # which the rules saw


class Served(msgspec.Struct, frozen=True):
    """A request was answered; `complete` is false if the answer broke off after its first byte.

    `reason` says why it broke off, or why it is an error: to the operator, never to the client.
    """

    request: RequestRecord
    status: int
    sent: int  # bytes of the body
    received: int  # bytes of the request's body
    seconds: float
    complete: bool = True
    reason: str | None = None
    first_byte: float | None = None  # seconds to the head of the answer, None if unknown
    is_error: bool = False


class Failed(msgspec.Struct, frozen=True):
    """A request raised an unexpected exception, a defect of ours; the error carries its traceback."""

    request: RequestRecord
    error: BaseException


class ReloadOutcome(Enum):
    """The result of a reload."""

    LOADED = "loaded"
    UNCHANGED = "unchanged"
    REVERTED = "reverted"  # a bad edit was taken back: the files on disk are in force again
    REFUSED = "refused"
    RENEWED = "renewed"  # what is in force got other secrets or certificates, while the files on disk are refused
    FAILED = "failed"  # a defect of ours


@dataclass(frozen=True, slots=True)
class ReloadReport:
    """The report of a reload; an event unless it found nothing new."""

    outcome: ReloadOutcome
    generation: int  # the one in force afterwards
    digest: str = ""
    since: float = 0.0  # Unix time, seconds, at which that generation was put in force
    diagnostics: tuple[Diagnostic, ...] = ()
    news: tuple[Diagnostic, ...] = ()  # those that the generation before did not have
    changes: tuple[str, ...] = ()  # from the generation before, a line each
    kept_back: tuple[str, ...] = ()  # names of changed settings that need a restart
    rewrites: int = 0
    error: BaseException | None = field(default=None, compare=False)
    at: float = field(default=0.0, compare=False)  # Unix time, seconds
    seconds: float = field(default=0.0, compare=False)

    @property
    def is_in_force(self) -> bool:
        """Whether the files on disk are in force."""
        return self.outcome in (ReloadOutcome.LOADED, ReloadOutcome.UNCHANGED, ReloadOutcome.REVERTED)

    @property
    def is_failure(self) -> bool:
        """Whether the files on disk will not be in force until they are edited again."""
        return self.outcome in (ReloadOutcome.REFUSED, ReloadOutcome.FAILED)

    @property
    def is_new(self) -> bool:
        """Whether another generation is in force than before."""
        return self.outcome in (ReloadOutcome.LOADED, ReloadOutcome.RENEWED)

    def says_as(self, other: ReloadReport) -> bool:
        """Whether another report says the same of the files."""
        return (self.outcome, self.digest, self.diagnostics) == (other.outcome, other.digest, other.diagnostics)


class Retired(msgspec.Struct, frozen=True):
    """The last request of an old generation has ended, and its resources are closed."""

    generation: int


class S3Called(msgspec.Struct, frozen=True):
    """A call to a bucket ended."""

    target: str
    call: str  # a method of the store
    outcome: str  # `ok`, or the name of a storage error
    seconds: float  # to the answer: for a download, to its first byte
    by_client: bool = False  # whether the client caused the error


class ReadResumed(NamedTuple):
    """A read of an object key was to go on where it stopped, after `received` bytes."""

    target: str
    cause: str  # `broken`, `stalled`, or `slow`: a slow client let its connection to S3 go
    outcome: str  # `ok`, `changed` (another version is there), `refused` or `failed`
    key: str
    received: int


class Probed(msgspec.Struct, frozen=True):
    """A bucket was probed; `is_news` is true if the result differs from the last one."""

    result: ProbeResult
    is_news: bool = False


class ObjectWritten(msgspec.Struct, frozen=True):
    """A write to a bucket or a deletion ended, successful or not; `key` is the object key."""

    target: str
    key: str


class SignInTried(msgspec.Struct, frozen=True):
    """A provider authenticated a request, or made a step of a login."""

    provider: str
    step: str  # `request`, `login`, `callback` or `logout`
    outcome: str  # `ok`, `refused` (missing or wrong credentials) or `failed` (the provider did not answer)


class AccessDecided(msgspec.Struct, frozen=True):
    """It was decided whether a signed-in user may make a request."""

    provider: str
    outcome: str  # `ok`, `refused` or `failed` (the policy server did not decide)


class ObjectUsed(msgspec.Struct, frozen=True):
    """A request of an action with webhooks succeeded; `body` is their body for JSON."""

    webhooks: tuple[Webhook, ...]
    target: str
    method: str
    body: Mapping[str, Any]


class WebhookCalled(msgspec.Struct, frozen=True):
    """A webhook was called, repetitions included; `outcome` is `ok`, `failed` or `dropped`."""

    target: str
    method: str
    outcome: str


Event = (
    Served
    | Failed
    | ReloadReport
    | Retired
    | S3Called
    | Probed
    | ReadResumed
    | ObjectWritten
    | ObjectUsed
    | WebhookCalled
    | SignInTried
    | AccessDecided
)


_LOG = logging.getLogger(__name__)


class Bus:
    """The listeners of each kind of event, in order."""

    def __init__(self) -> None:
        self._listeners: dict[type[object], list[Callable[[Any], None]]] = {kind: [] for kind in get_args(Event)}
        self._served: list[Served] = []  # what `emit_soon` has yet to pass on

    def add(self, listener: Callable[[Any], None], *kinds: type[Event]) -> None:
        """Adds a listener for some kinds of events; it runs on the event loop, so it must not block."""
        for kind in kinds:
            self._listeners[kind].append(listener)

    def emit(self, event: Event) -> None:
        """Passes an event to every listener of its kind; never raises."""
        self._pass_on(type(event), (event,))

    def emit_soon(self, event: Event) -> None:
        """Passes `Served` on with the others of this turn of the event loop; any other event at once, after these.

        A listener that runs for several events in a row takes half as long for each, and a request a tenth less.
        """
        if isinstance(event, Served):
            if not self._served:
                asyncio.get_running_loop().call_soon(self.flush)
            self._served.append(event)
        else:
            self.flush()
            self.emit(event)

    def flush(self) -> None:
        """Passes on what `emit_soon` has collected."""
        served, self._served = self._served, []
        self._pass_on(Served, served)

    def _pass_on(self, kind: type[object], events: Iterable[Event]) -> None:
        for listener in self._listeners[kind]:
            for event in events:
                try:
                    listener(event)
                except Exception:  # noqa: BLE001 - a listener's defect must not stop the request or another listener
                    _LOG.exception("a listener failed on `%s`", kind.__name__)


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
