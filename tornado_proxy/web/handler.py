"""What all handlers share: a request is decided, answered once, and reported by one event."""

from __future__ import annotations

import asyncio
import logging
import time
from asyncio import CancelledError, Future, Task
from collections.abc import Awaitable
from contextlib import suppress
from email.utils import formatdate
from functools import lru_cache, partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from tornado.httputil import HTTPServerRequest
from tornado.iostream import StreamClosedError
from tornado.web import OutputTransform, RequestHandler

from tornado_proxy.pages.custom import ERROR_PAGES, ErrorData, PageError
from tornado_proxy.pages.render import FAILURE_FORMS, Failure, choose
from tornado_proxy.routing.decide import Decision
from tornado_proxy.routing.request import Request, RequestError, shown_path
from tornado_proxy.semantics.errors import StatusError
from tornado_proxy.semantics.fields import Headers
from tornado_proxy.semantics.forwarded import Origin, client_at
from tornado_proxy.semantics.request import WRITING, RequestData
from tornado_proxy.storage.shares import CLIENT
from tornado_proxy.storage.use import USE, BucketUse
from tornado_proxy.telemetry.events import ErrorServed, Failed, ObjectUsed, RequestRecord, Served
from tornado_proxy.web.answer import Answer, ErrorAnswer, Outcome, Whole, answer_exception, page, private_headers
from tornado_proxy.web.asked import logged_facts
from tornado_proxy.web.body import NO_BODY, Body
from tornado_proxy.web.custom_pages import PageUnavailable, customized
from tornado_proxy.web.generation import Generation
from tornado_proxy.wire.headers import Fields
from tornado_proxy.wire.incoming import TOO_SLOW, ClientDisconnected
from tornado_proxy.wire.stream import Stream

if TYPE_CHECKING:
    from tornado_proxy.web.application import ProxyApplication

_LOG = logging.getLogger("tornado_proxy")

REQUEST_ID = "X-Request-Id"

_value = itemgetter(1)
_PIECE = 64 * 1024  # bytes, which take the least rate a minute, the default of `sendTimeout`


class Handler(RequestHandler):
    """A request that is being answered, with the parts of one generation, from its start to its end."""

    application: ProxyApplication
    is_recorded = True  # by events
    decision: Decision | None = None  # so far; None for a request that needs none
    use: BucketUse | None = None
    used: ObjectUsed | None = None  # what webhooks get once the answer was sent
    task: Task[None] | None = None  # that runs the handler
    has_left = False  # the client
    is_changing = False  # S3 may have taken a change, and webhooks must be told of it
    cookies_to_set: Headers = ()  # of a sign-in, which the answer must carry
    _first_byte: float | None = None  # seconds to the head of the answer
    _is_started = False
    _is_ended = False
    _sent = 0  # bytes of the answer's body that were taken
    _last_piece = 0  # bytes of it that were written last
    _error_answer: ErrorAnswer | None = None
    _broken: str | None = None  # why the answer broke off
    _written: Future[None] | None = None  # done when the client has taken enough of the answer for more
    _transforms: list[OutputTransform] = []  # noqa: RUF012 - Tornado's name, and of no use here

    def __init__(
        self,
        application: ProxyApplication,
        request: HTTPServerRequest,
        *,
        generation: Generation,
        origin: Origin,
        **arguments: Any,
    ) -> None:
        """`RequestHandler.__init__` without what only templates and `_execute` need; that would take 4 µs.

        Pins the generation; `origin` says where the request comes from, behind the proxies that are trusted.
        """
        self.application = application
        self.request = request
        self._headers_written = self._finished = False
        self.clear()
        assert request.connection is not None
        request.connection.set_close_callback(self.on_connection_close)  # type: ignore[attr-defined] # each has it
        self.generation = generation.__enter__()
        self.parts = generation.parts
        self.origin = origin
        self.id = ""  # the application sets it
        self.body = Body(self.parts.settings.limits.body_timeout) if _has_body(self) else NO_BODY
        if self.body is not NO_BODY and self.request.method not in WRITING:
            self.body.discard()
        self._at, self._started_at = time.time(), time.perf_counter()
        self.application.in_flight += 1
        self.initialize(**arguments)

    def start(self) -> None:
        """Begins to answer: in the next turn of the loop if an answer is at hand, else in a task, which costs more."""
        answer = None
        if isinstance(self.request.connection, Stream):
            with suppress(Exception):  # `run` meets the error again, and answers it
                answer = self.at_hand()
        if answer is None:
            self.task = asyncio.get_running_loop().create_task(self.run())
        else:
            asyncio.get_running_loop().call_soon(self._answer_at_once, answer)

    def at_hand(self) -> Whole | None:
        """Returns the answer if nothing must be awaited for it."""
        return None

    def _answer_at_once(self, answer: Whole) -> None:
        Handler.prepare(self)
        try:
            answer = self._filtered(answer)
            self._begin(answer)
            written = self._put(answer.body)
            if written.done():
                written.result()
                self._sent += self._last_piece
                self.finish()
                return
        except Exception as error:  # noqa: BLE001 - as in `run`, which gets it
            self._written = asyncio.get_running_loop().create_future()
            self._written.set_exception(error)
        self.task = asyncio.get_running_loop().create_task(self.run())

    async def run(self) -> None:
        """Answers the request by `prepare` and its method; an error becomes its answer, or cuts the one that was begun.

        `RequestHandler._execute`, in whose place this stands, calls a method when the whole body has arrived, refuses
        other methods before `prepare`, and answers a request that is cancelled.
        """
        try:
            try:
                if self._written is not None:
                    await self._written  # what could not be sent at once
                    self._sent += self._last_piece
                    self.finish()
                    return
                if (preparing := self.prepare()) is not None:
                    await preparing
                if not self._is_ended:
                    await getattr(self, str(self.request.method).lower())()  # `prepare` has refused all others
            except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer and the operator a reason
                await self.answer_error(error)
        except CancelledError:
            if not self.has_left or self.task is None:
                raise
            self.task.uncancel()
            self.cut(self.broken_by())

    # What Tornado calls.

    def clear(self) -> None:
        """Begins an answer without headers."""
        self._headers = Fields()
        self._write_buffer: list[bytes] = []
        self._status_code, self._reason = 200, "OK"

    def prepare(self) -> Awaitable[None] | None:
        """Notes for whom the calls to S3 are made, and what they take if the log shows it."""
        CLIENT.set(client_at(self.origin.address))
        if self.parts.settings.log.format != "text":
            self.use = BucketUse()
            USE.set(self.use)
        return None

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        """Hands a piece of the body to its reader; the connection reads on when that has room for more."""
        return None if self._is_ended else self.body.deliver(chunk)

    def on_connection_close(self) -> None:
        """Ends the request: its body, or its connection, is broken."""
        if self._is_ended:
            return
        reason = self.broken_by()
        if self.body is not NO_BODY:
            self.body.break_off(reason)
        self.has_left = isinstance(reason, ClientDisconnected)
        if self.has_left and self.task is not None:
            # In the next turn: a task that is cancelled before its first step would emit no event.
            asyncio.get_running_loop().call_soon(self._cancel)

    def _cancel(self) -> None:
        # The error in its body ends an upload, so that it can clean up.
        if self.task is not None and not self._is_ended and not self.is_changing:
            self.task.cancel()

    def flush(self, include_footers: bool = False) -> Future[None]:  # noqa: FBT001, FBT002 - Tornado's signature
        """Writes what waits; the end of an answer whose body was written has nothing more."""
        if include_footers and self._written is not None and not self._write_buffer:
            return self._written
        self._written = super().flush(include_footers)
        return self._written

    def compute_etag(self) -> None:
        """An ETag is the object's own."""

    def _log(self) -> None:
        """Logs nothing: a listener of the events writes the access log."""

    def on_finish(self) -> None:
        """Emits the one event of the request, and lets go of the generation."""
        self._is_ended = True
        if self.body is NO_BODY:
            received = 0
        else:
            received = self.body.received
            self.body.discard()
        counts = self._sent, received, time.perf_counter() - self._started_at
        if self.used is not None and self._error_answer is None and self._broken is None:
            self.application.emit(self.used)
        event: Served | ErrorServed
        if self._error_answer is None:
            event = Served(
                self._record(), self._status_code, *counts, self._broken is None, self._broken, self._first_byte
            )
        else:
            status = self._status_code if self._is_started else self._error_answer.status
            event = ErrorServed(self._record(), status, *counts, self._error_answer.reason, self._first_byte)
        if self.is_recorded:
            self.application.emit(event)
        self.application.in_flight -= 1
        self.generation.__exit__()

    # What handlers call.

    def broken_by(self) -> RequestError:
        """Returns the error of a request that gets no further: its connection's, or that its client has left."""
        mistake: RequestError | None = getattr(self.request.connection, "mistake", None)
        return mistake or ClientDisconnected()

    async def give(self, outcome: Outcome) -> None:
        """Sends an answer, or the page of an error."""
        if isinstance(outcome, ErrorAnswer):
            await self.refuse(outcome)
        else:
            await self.send(outcome)

    async def send(self, answer: Answer) -> None:
        """Sends an answer to its end; raises `ClientDisconnected`, and what the body of a streamed one raises."""
        answer = self._filtered(answer)
        self._begin(answer)
        write = self._write if isinstance(self.request.connection, Stream) else self._write_in_time
        if isinstance(answer, Whole):
            await write(answer.body)
        else:
            try:
                async for chunk in answer.opened.chunks():
                    await write(chunk)
                if not self._is_started:
                    await write(b"")
            finally:
                await answer.opened.close()
        self.finish()

    async def refuse(self, error_answer: ErrorAnswer) -> None:
        """Sends the page of an error: a custom one if there is one, else the service's own."""
        self._error_answer = error_answer
        await self.send(await self._page(error_answer))

    # Answering.

    async def answer_error(self, error: Exception) -> None:
        """Answers an error; nothing may be appended to an answer that was begun, so that is cut."""
        for _ in range(2):  # an error, and the error of its page
            if self._is_ended:
                raise error
            if self._is_started or isinstance(error, ClientDisconnected):
                break
            try:
                await self.refuse(self._answer_exception(error))
            except Exception as again:  # noqa: BLE001 - as above
                error = again
            else:
                return
        self.cut(error)

    def cut(self, error: Exception) -> None:
        """Closes the connection: the client sees that the answer is not complete."""
        if self._is_started:
            self._broken = self._answer_exception(error).reason
        else:
            self._error_answer = self._answer_exception(error)
        assert self.request.connection is not None
        self.request.connection.close()  # type: ignore[attr-defined] # Tornado's connections have it, and so have ours
        with suppress(Exception):  # the connection may have an objection to an end here
            self.finish()

    def _answer_exception(self, error: Exception) -> ErrorAnswer:
        error_answer = answer_exception(error)
        if error_answer.is_defect:
            self.application.emit(Failed(self._record(), error))
        return error_answer

    async def _page(self, error_answer: ErrorAnswer) -> Whole:
        decision = self.decision
        request, user = (decision.request, decision.user) if decision else (self._unread(), None)
        target = decision.match.site.target.name if decision and decision.match else None
        if (kind := ERROR_PAGES.get(error_answer.status)) is None:
            return self._plain_page(error_answer)
        store = self.parts.stores[target].store if target else None
        data = partial(ErrorData, request, user, PageError(error_answer.message))
        try:
            custom = await self.parts.renderer.render(kind, target, store, data)
        except PageUnavailable:
            return self._plain_page(error_answer)
        except StatusError as error:
            # The page that failed is in the log; the client gets one that cannot fail.
            self._error_answer = ErrorAnswer(error.status, str(error), error_answer.headers)
            return self._plain_page(self._error_answer)
        return customized(self._plain_page(error_answer), custom)

    def _unread(self) -> RequestData:
        """Returns what is known of a request whose address cannot be read: its path is as it was sent."""
        asked, origin = self.request, self.origin
        path, _, query = (asked.uri or "").partition("?")
        host, fields = asked.headers.get("Host", ""), tuple(asked.headers.get_all())
        where = (asked.method or "", host, path, query)
        return RequestData(*where, (), fields, origin.scheme, origin.address, asked.version)

    def _plain_page(self, error_answer: ErrorAnswer) -> Whole:
        decision, accept = self.decision, self.request.headers.get("Accept")
        request, match = (decision.request, decision.match) if decision else (Request(), None)
        form = choose(FAILURE_FORMS, accept, request.parameters.get("format"))
        mount, path = (match.mount, decision.request.path) if decision and match else ("/", "/")
        sign_out = self.parts.sign_out(decision) if decision and decision.user else ""
        failure = Failure(error_answer.status, error_answer.message, self.id, mount, path, sign_out)
        pages = self.parts.pages_of(match.site.target.name if match else None)
        return page(error_answer.status, pages.failure(failure, form), error_answer.headers)

    def _filtered(self, answer: Any) -> Any:
        """Returns an answer with what sign-in and configuration add to every answer."""
        decision, parts, asked = self.decision, self.parts, self.request
        if self.cookies_to_set or (decision is not None and decision.user is not None):
            match = decision.match if decision else None
            is_isolated = match is not None and match.site.target.actions.get.user_isolation
            headers = private_headers(answer.headers, self.cookies_to_set, is_isolated=is_isolated)
            answer = replace(answer, headers=headers)
        if parts.compressor is not None:
            answer = parts.compressor.applied(answer, asked)
        if answer.status == 304:
            answer = answer.shortened()
        if parts.policy_headers is not None:
            answer = parts.policy_headers.added_to(answer, asked)
        return answer

    def _begin(self, answer: Answer) -> None:
        """Begins an answer; raises `ValueError` for a header with a line end."""
        values = "".join(map(_value, answer.headers))
        if "\n" in values or "\r" in values:
            raise ValueError("a header of an answer has several lines")
        self._first_byte = time.perf_counter() - self._started_at
        self.set_status(answer.status)
        headers = (("Date", _date(int(time.time()))), (REQUEST_ID, self.id), *self.generation.headers, *answer.headers)
        if not self.body.ended and not isinstance(self.request.connection, Stream):
            # Tornado's server closes the connection of a body that it has not read, and does not say so.
            headers = (*headers, ("Connection", "close"))
        self._headers = Fields(headers)

    def _put(self, chunk: bytes) -> Future[None]:
        self.write(chunk)
        self._is_started = True
        self._last_piece = 0 if self.request.method == "HEAD" else len(chunk)
        return self.flush()

    async def _write(self, chunk: bytes) -> None:
        try:
            await self._put(chunk)
        except StreamClosedError:  # of Tornado's own connections
            raise self.broken_by() from None
        self._sent += self._last_piece

    async def _write_in_time(self, chunk: bytes) -> None:
        """Writes to a client of another server than the wire, which may wait for ever for one that reads nothing."""
        for start in range(0, max(1, len(chunk)), _PIECE):
            try:
                async with asyncio.timeout(self.parts.settings.limits.send_timeout):
                    await self._write(chunk[start : start + _PIECE])
            except TimeoutError:
                raise ClientDisconnected(TOO_SLOW) from None

    def _record(self) -> RequestRecord:
        decision, asked = self.decision, self.request
        if decision is None:
            # The method and path of a head that cannot be read may be anything, even secrets.
            is_read = getattr(asked.connection, "mistake", None) is None
            method, path, version = (asked.method, shown_path(asked.uri), asked.version) if is_read else ("", "", "")
            known = (self.id, self._at, self.origin.address, method, "", path, self.generation.number)
            return RequestRecord(*known, protocol=version)
        rewrite, traceparent = decision.rewrite, asked.headers.get("Traceparent")
        request, match, rewritten, user = decision.request, decision.match, decision.rewritten, decision.user
        data = decision.data
        return RequestRecord(
            self.id,
            self._at,
            self.origin.address,
            request.method,
            request.host,
            request.path,
            self.generation.number,
            match.site.target.name if match else None,
            rewritten.key if rewritten else None,
            rewrite.label if rewrite else None,
            user.username if user else None,
            (("traceparent", traceparent), ("tracestate", asked.headers.get("Tracestate", ""))) if traceparent else (),
            rewrite,
            logged_facts(asked, self.use) if self.use is not None else {},
            asked.version,
            data.key if data else None,
        )


def _has_body(handler: Handler) -> bool:
    """Whether a body was announced that is not empty (RFC 9112 6)."""
    headers = handler.request.headers
    length = headers.get("Content-Length")
    return (length is not None and length.strip("0") != "") or headers.get("Transfer-Encoding") is not None


@lru_cache(1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)
