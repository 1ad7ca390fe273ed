"""One request and its answer: from its facts to the event that tells what became of it, in one line of steps."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tornado.httputil import HTTPServerRequest

from tornado_proxy.gateway.admission import admit
from tornado_proxy.gateway.answer import Answer, Outcome, page
from tornado_proxy.gateway.body import Body
from tornado_proxy.gateway.errors import Departed
from tornado_proxy.gateway.facts import read_facts, shown_path
from tornado_proxy.gateway.failures import Refusal, refusal
from tornado_proxy.gateway.generation import Generation
from tornado_proxy.gateway.intake import announced_form, store_file
from tornado_proxy.gateway.perform import Scene, perform
from tornado_proxy.gateway.reply import Reply
from tornado_proxy.pages.forms import choose
from tornado_proxy.pages.render import FAILURE_FORMS, Failure
from tornado_proxy.routing.errors import RequestError
from tornado_proxy.routing.keys import RequestPath
from tornado_proxy.routing.mounts import Routed
from tornado_proxy.routing.plan import Receive
from tornado_proxy.routing.planner import Planned, plan, plan_upload, upload_path
from tornado_proxy.routing.request import Facts
from tornado_proxy.telemetry.events import Event, Failed, Refused, RequestRecord, Served
from tornado_proxy.templates.data import User


@dataclass(frozen=True, slots=True)
class Incoming:
    """A request as it came in: its head as Tornado read it, its body on the way, and what is wrong with either."""

    id: str
    request: HTTPServerRequest
    method: str  # as sent; the request's own may stand in for one that Tornado does not know
    body: Body
    mistake: RequestError | None = None
    at: float = field(default_factory=time.time)
    started: float = field(default_factory=time.perf_counter)


class Exchange:
    """A request being answered; what is known of it grows with each step."""

    def __init__(self, incoming: Incoming, reply: Reply, generation: Generation, emit: Callable[[Event], None]) -> None:
        self._incoming = incoming
        self._reply = reply
        self._generation = generation
        self._emit = emit
        self._facts: Facts | None = None
        self._routed: Routed | None = None
        self._user: User | None = None
        self._planned: Planned | None = None

    async def run(self) -> None:
        """Answer the request and tell what became of it; raises nothing but cancellation."""
        outcome = await self._outcome()
        error = await self._send(outcome)
        if error is not None and not self._reply.started and not isinstance(error, Departed):
            # Nothing has been said yet, so the failure can still be answered as one.
            outcome = self._refusal(error)
            error = await self._send(outcome)
        broken = None
        if error is not None:
            self._reply.cut()
            broken = self._refusal(error).reason
        self._emit(self._event(outcome, broken))

    async def _outcome(self) -> Outcome:
        try:
            return await self._answer()
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer and the operator a reason
            return self._refusal(error)

    async def _answer(self) -> Outcome:
        if self._incoming.mistake is not None:
            raise self._incoming.mistake
        self._facts = facts = read_facts(self._incoming.request, self._incoming.method)
        self._routed = routed = self._generation.parts.mounts.find(facts.host, facts.path)
        if routed is None:
            return Refusal(404, "no target is mounted there")
        # A method that is not enabled is told before anyone is asked to sign in for it.
        if facts.method in routed.site.target.actions.methods:
            refused = await self._admit(routed, facts, facts.path)
            if refused is not None:
                return refused
        self._planned = plan(routed, facts, self._user)
        scene = self._scene(routed, facts)
        return await (perform(self._planned.plan, scene) if self._planned.plan else self._receive(scene))

    async def _receive(self, scene: Scene) -> Outcome:
        """Take an upload in: its form names the file, and so the path that must be allowed and planned once more."""
        routed, facts, parts = scene.routed, scene.facts, self._generation.parts
        limit, max_size = parts.settings.limits.max_form_field_size, routed.site.target.actions.put.max_size
        form = announced_form(scene.headers, self._incoming.body, limit, max_size)
        file = await form.file()
        refused = await self._admit(routed, facts, upload_path(facts.path, file.file_name))
        if refused is not None:
            return refused
        self._planned = plan_upload(routed, facts, self._user, file.file_name)
        match self._planned.plan:
            case (Receive() as attempt,):
                return await store_file(attempt, form, file, scene)
            case refusing:
                return await perform(refusing, scene)

    async def _admit(self, routed: Routed, facts: Facts, path: RequestPath) -> Refusal | None:
        guard = routed.site.access.guard(path, facts.method)
        admitted = await admit(guard, facts, self._generation.parts.authenticators)
        if isinstance(admitted, Refusal):
            return admitted
        self._user = admitted or self._user
        return None

    def _scene(self, routed: Routed, facts: Facts) -> Scene:
        store = self._generation.store(routed.site.target.name)
        return Scene(facts, routed, store, self._generation.parts.pages, self._incoming.request.headers)

    async def _send(self, outcome: Outcome) -> Exception | None:
        """Send an outcome; what kept it from arriving whole is returned."""
        try:
            if isinstance(outcome, Refusal) and outcome.status == Departed.status:
                self._reply.cut()
            else:
                await self._reply.send(self._page(outcome) if isinstance(outcome, Refusal) else outcome)
        except Exception as error:  # noqa: BLE001 - told by the caller, which knows whether it can still be answered
            return error
        return None

    def _page(self, refused: Refusal) -> Answer:
        query = dict(reversed(self._facts.query)) if self._facts else {}
        form = choose(FAILURE_FORMS, self._incoming.request.headers.get("Accept"), query.get("format"))
        failure = Failure(refused.status, refused.message(self._incoming.method), self._incoming.id)
        return page(refused.status, self._generation.parts.pages.failure(failure, form), refused.headers)

    def _refusal(self, error: Exception) -> Refusal:
        refused = refusal(error)
        if refused.is_defect:
            self._emit(Failed(self._asked(), error))
        return refused

    def _event(self, outcome: Outcome, broken: str | None) -> Event:
        counts = self._reply.sent, self._incoming.body.received, time.perf_counter() - self._incoming.started
        if isinstance(outcome, Refusal):
            return Refused(self._asked(), outcome.status, *counts, outcome.reason)
        return Served(self._asked(), outcome.status, *counts, complete=broken is None, reason=broken)

    def _asked(self) -> RequestRecord:
        incoming, planned = self._incoming, self._planned
        readable = incoming.mistake is None
        rewritten = planned.rewritten if planned else None
        rewrite = rewritten.rewrite if rewritten else planned.failure.rewrite if planned and planned.failure else None
        return RequestRecord(
            request_id=incoming.id,
            at=incoming.at,
            client=incoming.request.remote_ip or "",
            method=incoming.method if readable else "",
            host=self._facts.host if self._facts else "",
            path=self._facts.path if self._facts else shown_path(incoming.request) if readable else "",
            generation=self._generation.number,
            target=self._routed.site.target.name if self._routed else None,
            key=rewritten.key if rewritten else None,
            rule=rewrite.label if rewrite else None,
            user=self._user.username if self._user else None,
        )
