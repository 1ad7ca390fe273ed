"""What all handlers share: a request is decided, answered once, and reported by one event."""

from __future__ import annotations

import asyncio
import re
import time
from asyncio import CancelledError, Future, Task
from collections.abc import Awaitable, Callable
from contextlib import suppress
from email.utils import formatdate
from functools import lru_cache, partial
from http.client import responses
from math import inf
from typing import Any, Literal

from msgspec.structs import replace
from tornado.httputil import HTTPConnection, HTTPHeaders, ResponseStartLine
from tornado.iostream import StreamClosedError
from tornado.web import Application, RequestHandler

from tornado_proxy.pages.custom import ERROR_PAGES, ErrorData, PageError, PageUnavailable
from tornado_proxy.pages.render import FAILURE_FORMS, Failure, choose
from tornado_proxy.routing.decide import Decision
from tornado_proxy.routing.request import RequestError, shown_path
from tornado_proxy.semantics.fields import Headers
from tornado_proxy.semantics.request import WRITING, Origin, Request, RequestPath, StatusError, client_at
from tornado_proxy.storage.errors import Busy
from tornado_proxy.storage.store import USE, BucketUse
from tornado_proxy.telemetry.events import Event, Failed, ObjectUsed, RequestRecord, Served
from tornado_proxy.web import limits
from tornado_proxy.web.answer import (
    Answer,
    ErrorAnswer,
    Outcome,
    Whole,
    answer_exception,
    customized,
    page,
    private_headers,
    value_of,
)
from tornado_proxy.web.generation import Generation
from tornado_proxy.wire.incoming import TOO_SLOW, ClientDisconnected, Fields, HeadTooLarge, MalformedMessage
from tornado_proxy.wire.shares import CLIENT, Shares
from tornado_proxy.wire.stream import NO_BODY, Body, Stream

REQUEST_ID = "X-Request-Id"

HEALTHY = Whole(
    200,
    (("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store"), ("Content-Length", "8")),
    b"healthy\n",
)
"""The answer to a load balancer that the service is there; it emits no event."""

AnswerProgress = Literal["awaited", "changing", "begun", "ended"]
"""How far the answer to a request has come.

While it is `changing`, S3 may have taken a change, of which webhooks must be told: the request goes on without its
client. Once it has `begun`, its head was sent, and only the rest of it may follow.
"""


class SharedApplication(Application):
    """What the requests of an application share: who hears of events, and where they wait."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        super().__init__()
        self.emit = emit
        self.in_flight = 0  # requests that are being answered
        self.walks = Shares("a walk through a directory", limits.WALKS_AT_ONCE, limits.MOST_WAITING_WALKS, Busy)
        self.archives = Shares("an archive", limits.ARCHIVES_AT_ONCE, limits.MOST_WAITING_WALKS, Busy)
        self.readmes = Shares("the rendering of a README", limits.READMES_AT_ONCE, inf, Busy)


class Handler(RequestHandler):
    """A request that is being answered, with the parts of one generation, from its start to its end."""

    application: SharedApplication
    used: ObjectUsed | None = None  # what webhooks get once the answer was sent
    cookies_to_set: Headers = ()  # of a sign-in, which the answer must carry
    progress: AnswerProgress = "awaited"
    _task: Task[None] | None = None  # that runs the handler
    _departure: ClientDisconnected | None = None  # of the client
    _fault: ErrorAnswer | None = None  # that was answered
    _broken: str | None = None  # why the answer broke off
    _location = ""  # where the answer redirects
    _first_byte: float | None = None  # seconds to the head of the answer
    _sent = 0  # bytes of the answer's body that were taken

    def initialize(self, given: Any, generation: Generation, origin: Origin, request_id: str) -> None:
        """Holds the generation.

        `given` is what it answers from: a decision under way, an answer, or an error. `origin` says where the request
        comes from, behind the proxies that are trusted.
        """
        assert self.request.connection is not None
        self.connection: HTTPConnection = self.request.connection
        self.given = given
        self.generation = generation.__enter__()
        self.parts = generation.parts
        self.origin = origin
        self.id = request_id
        self.use = None if self.parts.settings.log.format == "text" else BucketUse()
        self._at, self._started_at = time.time(), time.perf_counter()
        self.application.in_flight += 1
        length, coding = self.request.headers.get("Content-Length"), self.request.headers.get("Transfer-Encoding")
        is_announced = coding is not None or (length is not None and length.strip("0") != "")  # RFC 9112 6
        self.body = Body(self.parts.settings.limits.body_timeout) if is_announced else NO_BODY
        if self.body is not NO_BODY and self.request.method not in WRITING:
            self.body.discard()

    @property
    def decision(self) -> Decision | None:
        """The decision so far; None for a request that needs none."""
        return None

    def start(self) -> None:
        """Begins to answer, in a task."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        """Calls `prepare` and the method; an error becomes the answer, or cuts the one that was begun.

        Tornado's own way to run a handler calls the method when the whole body has arrived.
        """
        try:
            try:
                if (preparing := self.prepare()) is not None:
                    await preparing
                if self.progress != "ended":
                    # `prepare` has refused a method that the handler does not have.
                    await getattr(self, self.request.method.lower())()
            except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer and the operator a reason
                await self.answer_error(error)
                if isinstance(error, StatusError):
                    _let_go_of_frames(error)
        except CancelledError:
            if self._departure is None or self._task is None:
                raise
            self._task.uncancel()
            self.cut(self._departure)

    # What Tornado names.

    def clear(self) -> None:
        """Begins an answer without a status and headers: it has all of its own."""

    def prepare(self) -> Awaitable[None] | None:
        """Notes for whom the calls to S3 are made, and what adds them up."""
        CLIENT.set(client_at(self.origin.address))
        USE.set(self.use)
        return None

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        """Hands a piece of the body to its reader; the connection reads on when there is room for more."""
        return self.body.deliver(chunk)

    def on_connection_close(self) -> None:
        """Ends the request: its body, or its connection, is broken."""
        if self.progress == "ended":
            return
        reason = self.broken_by()
        if not self.body.ended:
            self.body.end(reason)
        if isinstance(reason, ClientDisconnected):
            self._departure = reason
            # In the next turn: a task that is cancelled before its first step would emit no event.
            asyncio.get_running_loop().call_soon(self._cancel)

    def _cancel(self) -> None:
        # The error in its body ends an upload, so that it can clean up.
        if self._task is not None and self.progress not in ("ended", "changing"):
            self._task.cancel()

    def on_finish(self) -> None:
        """Emits the one event of the request, and lets go of the generation."""
        is_begun, self.progress = self.progress == "begun", "ended"
        received = self.body.received
        if self.body is not NO_BODY:
            self.body.discard()
        counts = self._sent, received, time.perf_counter() - self._started_at
        if self.used is not None and self._fault is None and self._broken is None:
            self.application.emit(self.used)
        if self._fault is None:
            served = Served(
                self._record(), self.get_status(), *counts, self._broken is None, self._broken, self._first_byte
            )
        else:
            status = self.get_status() if is_begun else self._fault.status
            reason, first_byte = self._fault.reason, self._first_byte
            served = Served(self._record(), status, *counts, reason=reason, first_byte=first_byte, is_error=True)
        if self.given is not HEALTHY:
            # Balancers that ask each second would fill the log and flatter the metrics.
            self.application.emit(served)
        self.application.in_flight -= 1
        self.generation.__exit__()

    # What handlers call.

    def broken_by(self) -> RequestError:
        """Returns the error of a request that gets no further: its connection's, or that its client has left."""
        mistake: RequestError | None = getattr(self.connection, "mistake", None)
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
        head = self._head(answer)
        if isinstance(answer, Whole):
            await self._write(answer.body, head)
        else:
            try:
                async for chunk in answer.chunks:
                    await self._write(chunk, head)
                if self.progress != "begun":
                    await self._write(b"", head)
            finally:
                await answer.close()
        self._end()

    def _end(self) -> None:
        """Ends an answer that `send` has written, as `finish` ends one that Tornado's `write` and `flush` have."""
        # Both break reference cycles.
        self.connection.set_close_callback(None)  # type: ignore[attr-defined] # each has it
        self.ui.clear()
        self.connection.finish()
        self.on_finish()

    async def refuse(self, error_answer: ErrorAnswer) -> None:
        """Sends the page of an error: a custom one if there is one, else the service's own."""
        self._fault = error_answer
        await self.send(await self._page(error_answer))

    # Answering.

    async def answer_error(self, error: Exception) -> None:
        """Answers an error; nothing may be appended to an answer that was begun, so that is cut."""
        for _ in range(2):  # an error, and the error of its page
            if self.progress == "ended":
                raise error
            if self.progress == "begun" or isinstance(error, ClientDisconnected):
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
        if self.progress == "begun":
            self._broken = self._answer_exception(error).reason
        else:
            self._fault = self._answer_exception(error)
        self.connection.close()  # type: ignore[attr-defined] # Tornado's connections have it, and so have ours
        with suppress(Exception):  # the connection may have an objection to an end here
            self._end()

    def _answer_exception(self, error: Exception) -> ErrorAnswer:
        error_answer = answer_exception(error)
        if error_answer.is_defect:
            self.application.emit(Failed(self._record(), error))
        return error_answer

    async def _page(self, error_answer: ErrorAnswer) -> Whole:
        decision = self.decision
        if decision is None:  # the address cannot be read: its path is as it was sent
            asked, origin = self.request, self.origin
            path, _, query = asked.uri.partition("?")
            host, fields = asked.headers.get("Host", ""), tuple(asked.headers.get_all())
            where = (RequestPath(path), query, (), fields, origin.scheme, origin.address)
            request, user = Request(asked.method, host, *where, asked.version), None
        else:
            request, user = decision.request, decision.user
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
            self._fault = ErrorAnswer(error.status, str(error), error_answer.headers)
            return self._plain_page(self._fault)
        return customized(self._plain_page(error_answer), custom)

    def _plain_page(self, error_answer: ErrorAnswer) -> Whole:
        decision, accept = self.decision, self.request.headers.get("Accept")
        request, match = (decision.request, decision.match) if decision else (Request(), None)
        form = choose(FAILURE_FORMS, accept, request.parameters.get("format"))
        mount, path = (match.mount, decision.request.path) if decision and match else ("/", "/")
        mount, path = f"{self.origin.public_path}{mount}", f"{self.origin.public_path}{path}"
        sign_out = self.parts.sign_out(decision) if decision and decision.user else ""
        failure = Failure(
            error_answer.status, error_answer.message, self.id, mount, path, sign_out, error_answer.sign_in
        )
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

    def _head(self, answer: Answer) -> tuple[ResponseStartLine, HTTPHeaders]:
        """Returns the head of an answer; raises `ValueError` for a header with a line end."""
        values = "".join(map(value_of, answer.headers))
        if "\n" in values or "\r" in values:
            raise ValueError("a header of an answer has several lines")
        self._first_byte = time.perf_counter() - self._started_at
        self.set_status(answer.status)
        if 300 <= answer.status < 400 and answer.status != 304:
            self._location = dict(answer.headers).get("Location", "")
        headers = (("Date", _date(int(time.time()))), (REQUEST_ID, self.id), *self.generation.headers, *answer.headers)
        line = ResponseStartLine("", answer.status, responses.get(answer.status, "Unknown"))
        if isinstance(self.connection, Stream):
            return line, Fields(headers)
        fields = HTTPHeaders()  # to which Tornado's server adds
        for each in headers:
            fields.add(*each)
        if not self.body.ended:
            # That server closes the connection of a body that it has not read, and does not say so.
            fields["Connection"] = "close"
        return line, fields

    async def _write(self, chunk: bytes, head: tuple[ResponseStartLine, HTTPHeaders]) -> None:
        """Writes a piece of the body, the first one behind the head, and waits until the client takes more."""
        content = b"" if self.request.method == "HEAD" else chunk
        if isinstance(self.connection, Stream):
            await self._put(content, head)
            self._sent += len(content)
            return
        # Another server than the wire may wait for ever for a client that reads nothing.
        for start in range(0, max(1, len(content)), limits.PIECE_SENT):
            piece = content[start : start + limits.PIECE_SENT]
            try:
                async with asyncio.timeout(self.parts.settings.limits.send_timeout):
                    await self._put(piece, head)
            except TimeoutError:
                raise ClientDisconnected(TOO_SLOW) from None
            except StreamClosedError:
                raise self.broken_by() from None
            self._sent += len(piece)

    def _put(self, content: bytes, head: tuple[ResponseStartLine, HTTPHeaders]) -> Future[None]:
        if self.progress == "begun":
            return self.connection.write(content)
        self.progress = "begun"
        return self.connection.write_headers(*head, content)

    def _record(self) -> RequestRecord:
        decision, asked = self.decision, self.request
        if decision is None:
            # The method and path of a head that cannot be read may be anything, even secrets.
            is_read = not isinstance(self.broken_by(), HeadTooLarge | MalformedMessage)
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
            _facts(asked.headers, self.use, self._location) if self.use is not None else {},
            asked.version,
            data.key if data else None,
        )


def _let_go_of_frames(error: BaseException | None) -> None:
    """Cuts the cycle of an error and the frames that it was raised in.

    These hold the request and its generation, which nothing would free: what a reload makes is kept from the collector,
    and with it what waits for that.
    """
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def _facts(headers: HTTPHeaders, use: BucketUse, location: str) -> dict[str, str | float]:
    """Returns User-Agent, Referer and the place of a redirect, and the use of S3.

    Queries, which may carry signatures and tokens, are left out.
    """
    agent, referrer = headers.get("User-Agent", ""), headers.get("Referer", "")
    bare = re.sub(r"(?<=//)[^/?#]*@", "", re.split(r"[?#]", referrer, maxsplit=1)[0])
    place = location.partition("?")[0][: limits.LONGEST_LOGGED_HEADER]
    facts: dict[str, str | float] = {
        "userAgent": agent[: limits.LONGEST_LOGGED_HEADER],
        "referrer": bare[: limits.LONGEST_LOGGED_HEADER],
        "s3Ms": round(use.seconds * 1000, 1),
        "s3RequestId": use.request_id[: limits.LONGEST_LOGGED_HEADER],
    }
    return facts | {"location": place} if place else facts


@lru_cache(1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)
