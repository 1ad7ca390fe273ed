"""One request and its answer: reads, decides, signs in, performs and sends, then emits one event."""

from __future__ import annotations

import logging
import time
from asyncio import CancelledError
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, assert_never, cast

from tornado_proxy.auth.authenticator import SignIn, only_reads
from tornado_proxy.auth.opa import PolicyUnavailable, is_permitted
from tornado_proxy.gateway.answer import (
    Answer,
    Headers,
    Outcome,
    Refusal,
    Reply,
    Whole,
    page,
    private_headers,
    refusal,
    refusal_of,
)
from tornado_proxy.gateway.custom_pages import PageFailed, customized
from tornado_proxy.gateway.generation import Generation, RequestContext
from tornado_proxy.gateway.incoming import ClientDisconnected, Incoming
from tornado_proxy.gateway.perform import object_used, perform
from tornado_proxy.gateway.upload import IncomingFile, raw_upload, read_form
from tornado_proxy.pages.custom import ERROR_PAGES, ErrorData, PageError, TargetListData
from tornado_proxy.pages.render import FAILURE_FORMS, LISTING_FORMS, Failure, TargetLinks, choose, target_links
from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.decide import (
    NOT_AUTHORIZED,
    Authenticate,
    Authorize,
    Decision,
    NameFile,
    Question,
    decide,
    decide_beside,
)
from tornado_proxy.routing.plan import ListTargets, Receive, Refuse, VisitProvider
from tornado_proxy.routing.request import (
    ASSETS_AT,
    STATUSES,
    Request,
    RequestError,
    RequestPath,
    host_name,
    read_address,
    read_request,
    shown_path,
)
from tornado_proxy.routing.uploads import ReceivePart
from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.semantics.cors import is_cross_origin
from tornado_proxy.semantics.forwarded import client_at, is_proxy, origin_behind
from tornado_proxy.storage.shares import CLIENT, Shares
from tornado_proxy.telemetry.events import (
    AccessDecided,
    Event,
    Failed,
    ObjectUsed,
    Refused,
    RequestRecord,
    Served,
    SignInTried,
)
from tornado_proxy.templates.template import RequestData, User

if TYPE_CHECKING:
    from tornado_proxy.auth.oidc import OidcAuthenticator

_LOG = logging.getLogger("tornado_proxy")

# Methods that change a bucket: a page of another origin may not use them, and their webhooks are called even if the
# client does not take the answer.
_CHANGING = frozenset({"PUT", "DELETE"})

_NO_POLICY = Refuse(500, "the policy server does not decide")
_CLIENT_CLOSED = STATUSES["ClientDisconnected"]


class CrossOrigin(RequestError):
    """A PUT or DELETE that a browser sends for a page of another origin, with the authority of its user."""


class Exchange:
    """A request that is being answered."""

    def __init__(
        self,
        incoming: Incoming,
        reply: Reply,
        generation: Generation,
        emit: Callable[[Event], None],
        walks: Shares,
    ) -> None:
        self._incoming = incoming
        self._reply = reply
        self._generation = generation
        self._parts = generation.parts
        self._emit = emit
        self._walks = walks
        self._decision: Decision | None = None  # complete, or up to the question that is being answered
        self._upload: IncomingFile | None = None
        self._used: ObjectUsed | None = None  # what webhooks get once the answer was sent
        self._status = 0  # of the answer, where one was sent
        self._origin = incoming.peer  # behind the proxies that are trusted
        self._cookies: Headers = ()  # of a sign-in, which the answer must carry

    async def run(self) -> None:
        """Answers the request and emits one event; never raises."""
        outcome: Outcome | None = None
        failed: Exception | None
        try:
            try:
                outcome = await self._performed()
            except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer and the operator a reason
                outcome = self._refusal(error)
            failed = await self._send(outcome)
            if failed is not None and not self._reply.started and not isinstance(failed, ClientDisconnected):
                # Nothing was sent yet, so the failure can still be answered as one.
                outcome = self._refusal(failed)
                failed = await self._send(outcome)
        except CancelledError:
            # The gateway cancels what is done for a client that has left.
            failed = self._reply.broken_by()
            if outcome is None or not self._reply.started:
                outcome = self._refusal(failed)
        broken = None
        if failed is not None:
            self._reply.cut()
            broken = self._refusal(failed).reason
        if self._used is not None and (failed is None or self._used.method in _CHANGING):
            self._emit(self._used)
        self._emit(self._event(outcome, broken))

    async def _performed(self) -> Outcome:
        if self._incoming.mistake is not None:
            raise self._incoming.mistake
        policy = self._parts.policy_headers
        if policy is not None and (answer := policy.preflight(self._incoming.head)) is not None:
            return answer
        if ASSETS_AT in self._incoming.head.target and (asset := self._asset()) is not None:
            return asset
        decision = await self._decide()
        if decision.match is None:
            return await self._outside(decision)
        if decision.request.method == "DELETE":
            # Nothing is removed before the request is whole.
            async for _ in self._incoming.body:
                pass
        headers, first = self._incoming.head.headers, decision.plan[0]
        if isinstance(first, Receive | ReceivePart) and self._upload is None:
            name = decision.request.path.rpartition("/")[2]
            self._upload = raw_upload(headers, self._incoming.body, name, first.max_size)
        target = decision.match.site.target.name
        context = RequestContext(
            decision,
            self._parts.mounts,
            self._parts.stores[target].store,
            self._parts.renderer.pages.themed.get(target, self._parts.pages),
            headers,
            Conditions.from_headers(headers),
            self._walks,
            partial(self._decide_beside, decision),
            self._upload,
            self._parts.renderer,
        )
        outcome, attempt = await perform(decision.plan, context)
        webhooks = decision.match.site.webhooks.get(decision.request.method)
        if webhooks and not isinstance(outcome, Refusal) and outcome.status < 300:
            self._used = object_used(webhooks, attempt, context)
        return outcome

    async def _outside(self, decision: Decision) -> Outcome:
        """Returns the outcome of a request without a target."""
        (only,) = decision.plan
        if isinstance(only, VisitProvider):
            return await self._visit(only, decision.request)
        if isinstance(only, ListTargets):
            return await self._target_list(decision)
        assert isinstance(only, Refuse)
        return refusal_of(only)

    def _asset(self) -> Answer | None:
        """Returns an asset of pages, which is public and available below every path."""
        head, parts = self._incoming.head, self._parts
        name = read_address(head.target)[0].rpartition(ASSETS_AT)[2]
        all_pages = (parts.pages, *parts.renderer.pages.themed.values())
        asset = next((each.assets[name] for each in all_pages if name in each.assets), None)
        return Whole(200, asset.headers, asset.body) if asset and head.method in ("GET", "HEAD") else None

    async def _target_list(self, decision: Decision) -> Answer:
        request, parts = decision.request, self._parts
        links = (target_links(each.mount, request.scheme, request.authority) for each in parts.settings.targets)
        found = tuple(map(TargetLinks, (each.name for each in parts.settings.targets), links))
        targets = {each.target.name: each.data for each in parts.mounts.sites}
        data = partial(TargetListData, request, decision.user, targets)
        custom = await parts.renderer.render("target_list", None, None, data)
        accept = self._incoming.head.headers.get("Accept")
        form = choose(LISTING_FORMS, accept, request.parameters.get("format"), is_strict=custom is None)
        return customized(page(200, parts.pages.targets(found, form, request.path)), custom)

    async def _decide(self) -> Decision:
        """Drives the decision, and answers its questions."""
        head, peer, trusted = self._incoming.head, self._incoming.peer, self._parts.trusted_proxies
        is_proxied = trusted is not None and is_proxy(peer, trusted)
        if trusted is not None and is_proxied:
            self._origin = origin_behind(peer, head.fields, trusted)
        CLIENT.set(client_at(self._origin.address))
        origin, host = self._origin, head.headers.get("Host", "")
        request = read_request(head.target, head.method, host, head.fields, origin.scheme, origin.address)
        if is_proxied:
            authority = origin.authority or request.authority
            request = replace(request, host=host_name(authority), authority=authority, from_trusted_proxy=True)
        elif peer.certificate is not None:
            request = replace(request, certificate=peer.certificate)
        self._decision = Decision(request, ())
        if head.method in _CHANGING:
            self._check_origin(request.authority)
        steps, answer = decide(self._parts.mounts, request), None
        while True:
            try:
                question = steps.send(answer)
            except StopIteration as end:
                decision: Decision = end.value
                self._decision = decision
                if decision.user is not None:
                    self._note_access(decision)
                return decision
            self._decision = question.so_far
            answer = await self._answer(question)

    async def _decide_beside(self, decision: Decision, path: RequestPath) -> Decision:
        """Decides what the user of a decision would be answered to a GET of another path."""
        steps, answer = decide_beside(self._parts.mounts, decision, path), None
        while True:
            try:
                question = steps.send(answer)
            except StopIteration as end:
                found: Decision = end.value
                return found
            answer = await self._answer(question)

    def _check_origin(self, authority: str) -> None:
        """Raises `CrossOrigin` if a page of another origin would change something without permission.

        A browser adds its passwords and sessions to such requests.
        """
        head, policy = self._incoming.head, self._parts.policy_headers
        if is_cross_origin(head.value, authority) and not (policy and policy.lets(head)):
            raise CrossOrigin("a page of another origin sent the request, and `server.cors` does not allow that")

    async def _answer(self, question: Question) -> User | Refuse | bool | str:
        """Answers a question of the decision; raises `AuthBusy` and the errors of forms."""
        match question:
            case Authenticate():
                return await self._authenticate(question)
            case Authorize(so_far, server, user):
                # The path that is checked: an upload's has the name of its file.
                asked = replace(so_far.request, path=so_far.checks[-1].path)
                try:
                    return await is_permitted(server, user, asked, self._parts.fetch)
                except PolicyUnavailable as error:
                    _LOG.warning("the policy server gave no decision, so the request is refused: %s", error)
                    return _NO_POLICY
            case NameFile():
                headers, limit = self._incoming.head.headers, self._parts.settings.limits.max_form_field_size
                self._upload = await read_form(headers, self._incoming.body, limit, question.max_size)
                return self._upload.head.file_name
            case _:
                assert_never(question)

    async def _authenticate(self, question: Authenticate) -> User | Refuse:
        guard = question.guard
        found = await self._parts.authenticators[guard.provider].authenticate(question.so_far.request, guard)
        match found:
            case SignIn(user, cookies):
                self._note_sign_in(guard.provider, "request", 200, cookies)
                return user
            case Refuse(status):
                self._note_sign_in(guard.provider, "request", max(status, 400))
                return found

    def _note_access(self, decision: Decision) -> None:
        """Emits the event of a request whose user has signed in."""
        if isinstance(guard := decision.checks[-1].guard, SignedIn):
            failed = "failed" if decision.plan[0] is _NO_POLICY else "ok"
            self._emit(AccessDecided(guard.provider, "refused" if decision.plan is NOT_AUTHORIZED else failed))

    async def _visit(self, attempt: VisitProvider, request: Request) -> Outcome:
        """Returns the answer of a page that belongs to a provider."""
        if attempt.step == "logout" and only_reads(request):
            # A picture can make a reader's browser send a GET, which must not sign anyone out.
            return page(200, self._parts.pages.sign_out(request.path))
        # Only providers of this kind have pages.
        provider = cast("OidcAuthenticator", self._parts.authenticators[attempt.provider])
        steps = {"login": provider.login, "callback": provider.callback, "logout": provider.logout}
        answer = await steps[attempt.step](request)
        self._note_sign_in(attempt.provider, attempt.step, answer.status, answer.cookies)
        if not answer.location:
            return Refusal(answer.status, answer.reason)
        headers = (("Location", answer.location), ("Cache-Control", "no-store"), ("Content-Length", "0"))
        return Whole(answer.status, headers)

    def _note_sign_in(self, provider: str, step: str, status: int, cookies: tuple[str, ...] = ()) -> None:
        """Emits the event of a step of a sign-in, and keeps its cookies for the answer."""
        outcome = "ok" if status < 400 else "refused" if status < 500 else "failed"
        self._emit(SignInTried(provider, step, outcome))
        self._cookies = (*self._cookies, *(("Set-Cookie", each) for each in cookies))

    async def _send(self, outcome: Outcome) -> Exception | None:
        """Sends an outcome; returns the error that interrupted it."""
        head, parts, decision = self._incoming.head, self._parts, self._decision
        try:
            if isinstance(outcome, Refusal) and outcome.status == _CLIENT_CLOSED:
                self._reply.cut()
                return None
            answer = await self._page(outcome) if isinstance(outcome, Refusal) else outcome
            self._status = answer.status
            if self._cookies or (decision is not None and decision.user is not None):
                match = decision.match if decision else None
                is_isolated = match is not None and match.site.target.actions.get.user_isolation
                answer = replace(
                    answer, headers=private_headers(answer.headers, self._cookies, is_isolated=is_isolated)
                )
            if parts.compressor is not None:
                answer = parts.compressor.applied(answer, head)
            if parts.policy_headers is not None:
                answer = parts.policy_headers.added_to(answer, head)
            await self._reply.send(answer)
        except Exception as error:  # noqa: BLE001 - the caller knows whether it can still be answered
            return error
        return None

    def _unread(self) -> RequestData:
        """Returns what is known of a request whose address cannot be read: its path is as it was sent."""
        head, origin = self._incoming.head, self._origin
        path, _, query = head.target.partition("?")
        host = head.headers.get("Host", "")
        return RequestData(head.method, host, path, query, (), head.fields, origin.scheme, origin.address)

    async def _page(self, refused: Refusal) -> Answer:
        """Returns the page of an error: a custom one if there is one, else the service's own."""
        decision, parts, head = self._decision, self._parts, self._incoming.head
        request, user = (decision.request, decision.user) if decision else (self._unread(), None)
        match = decision.match if decision else None
        target = match.site.target.name if match else None
        custom, kind = None, ERROR_PAGES.get(refused.status)
        if kind is not None:
            store = parts.stores[target].store if target else None
            data = partial(ErrorData, request, user, PageError(refused.message))
            try:
                custom = await parts.renderer.render(kind, target, store, data)
            except PageFailed:
                # The page that failed is in the log; the client gets one that cannot fail.
                refused = replace(refused, status=500)
        form = choose(FAILURE_FORMS, head.headers.get("Accept"), dict(reversed(request.query)).get("format"))
        where = (match.mount, request.path) if match else ()
        failure = Failure(refused.status, refused.message, self._incoming.id, *where)
        pages = parts.renderer.pages.themed.get(target, parts.pages)
        return customized(page(refused.status, pages.failure(failure, form), refused.headers), custom)

    def _refusal(self, error: Exception) -> Refusal:
        refused = refusal(error)
        if refused.is_defect:
            self._emit(Failed(self._asked(), error))
        return refused

    def _event(self, outcome: Outcome, broken: str | None) -> Event:
        counts = self._reply.sent, self._incoming.body.received, time.perf_counter() - self._incoming.started
        if isinstance(outcome, Refusal):
            return Refused(self._asked(), self._status or outcome.status, *counts, outcome.reason)
        return Served(self._asked(), outcome.status, *counts, complete=broken is None, reason=broken)

    def _asked(self) -> RequestRecord:
        incoming, decision = self._incoming, self._decision
        client = self._origin.address
        if decision is None:
            # The method and path of a head that cannot be read may be anything, even secrets.
            method, path = ("", "") if incoming.mistake else (incoming.head.method, shown_path(incoming.head.target))
            return RequestRecord(incoming.id, incoming.at, client, method, "", path, self._generation.number)
        rewrite, headers = decision.rewrite, incoming.head.headers
        traceparent = headers.get("Traceparent")
        return RequestRecord(
            incoming.id,
            incoming.at,
            client,
            decision.request.method,
            decision.request.host,
            decision.request.path,
            self._generation.number,
            decision.match.site.target.name if decision.match else None,
            decision.rewritten.key if decision.rewritten else None,
            rewrite.label if rewrite else None,
            decision.user.username if decision.user else None,
            (("traceparent", traceparent), ("tracestate", headers.get("Tracestate", ""))) if traceparent else (),
            rewrite,
        )
