"""The handlers: objects of targets, pages of sign-ins, the list of targets, and answers that need no decision."""

from __future__ import annotations

import logging
import random
import re
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, assert_never

from msgspec.structs import replace
from tornado import httputil

from tornado_proxy.auth.authenticator import PolicyUnavailable, SignIn, is_cross_origin, is_permitted
from tornado_proxy.pages.custom import TargetListData
from tornado_proxy.pages.render import LISTING_FORMS, TargetLinks, choose, target_links
from tornado_proxy.routing.decide import (
    NOT_AUTHORIZED,
    Authenticate,
    Authorize,
    Deciding,
    Decision,
    NameFile,
    Question,
    decide,
    decide_beside,
)
from tornado_proxy.routing.plan import Attempt, ListTargets, Receive, Refuse, VisitProvider
from tornado_proxy.routing.request import ASSETS_AT, RequestError, host_name, read_address, read_request
from tornado_proxy.routing.upload_steps import ReceivePart
from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.semantics.request import (
    READING,
    Origin,
    RequestPath,
    User,
    is_proxy,
    origin_behind,
    read_public_path,
)
from tornado_proxy.telemetry.events import AccessDecided, Event, SignInTried
from tornado_proxy.web.answer import Answer, ErrorAnswer, Outcome, Whole, answer_attempt, customized, page
from tornado_proxy.web.generation import Generations, Parts, RequestContext
from tornado_proxy.web.handler import HEALTHY, Handler, SharedApplication
from tornado_proxy.web.incoming_file import IncomingFile, raw_upload, read_form
from tornado_proxy.web.perform import object_used, perform
from tornado_proxy.wire.stream import Stream, WireRequest, peer_of

_LOG = logging.getLogger("tornado_proxy")

_NO_POLICY = Refuse(500, "the policy server does not decide")

# RFC 9110 9.2.1; a page of another origin may make requests of all other methods only with permission.
_SAFE = (*READING, "OPTIONS")

# What a client reads if a step of a sign-in fails; other statuses have their usual words.
_NOT_SIGNED_IN = {
    400: "This sign-in is not valid or took too long; open the page again",
    401: "You were not signed in; open the page again",
    502: "The place where you sign in could not be reached or gave an invalid answer",
}


class CrossOrigin(RequestError):
    """A change that a browser asks for on behalf of a page of another origin, with the authority of its user."""

    status = 403
    public_message = "A page of another site may not change anything here"


class DecidedHandler(Handler):
    """Decides about a request before its method is called, and answers what is refused."""

    given: Deciding

    @property
    def decision(self) -> Decision:
        """The decision so far."""
        return self.given.decision

    async def prepare(self) -> None:
        """Decides up to the name of a form's file, before a byte of the body is taken; answers what is refused."""
        super().prepare()
        policy = self.parts.policy_headers
        is_allowed = self.request.method in _SAFE or (policy is not None and policy.lets(self.request))
        if not is_allowed and is_cross_origin(self.decision.request):
            # With the passwords and sessions that a browser adds to such requests.
            raise CrossOrigin("a page of another origin sent the request, and `server.cors` does not allow that")
        await self.decide()
        if self.given.question is None and isinstance(only := self.decision.plan[0], Refuse):
            await self.refuse(answer_attempt(only))

    async def decide(self) -> None:
        """Answers the questions of the decision, up to the one for which the body must be read."""
        deciding = self.given
        while deciding.question is not None and not isinstance(deciding.question, NameFile):
            deciding.answer(await self._answer(deciding.question))
        decision = deciding.decision
        if deciding.question is None and decision.user is not None and decision.passed is not None:
            failed = "failed" if decision.plan[0] is _NO_POLICY else "ok"
            outcome = "refused" if decision.plan is NOT_AUTHORIZED else failed
            self.application.emit(AccessDecided(decision.passed.provider, outcome))

    async def ask(self, path: RequestPath) -> Decision:
        """Decides what the user of the request would be answered to a request for another path."""
        deciding = Deciding(decide_beside(self.parts.mounts, self.decision, path))
        while deciding.question is not None:
            deciding.answer(await self._answer(deciding.question))
        return deciding.decision

    async def _answer(self, question: Question) -> User | Refuse | bool:
        """Answers a question of the decision; raises `AuthBusy`."""
        match question:
            case Authenticate(so_far, guard):
                result = await self.parts.authenticators[guard.provider].authenticate(so_far.request, guard)
                match result:
                    case SignIn(user, cookies):
                        self.note_sign_in(guard.provider, "request", 200, cookies)
                        return user
                    case Refuse(status):
                        self.note_sign_in(guard.provider, "request", max(status, 400))
                        return result
            case Authorize(so_far, server, user):
                # The path that is checked: an upload's has the name of its file.
                asked = replace(so_far.request, path=so_far.checks[-1].path)
                try:
                    return await is_permitted(server, user, asked, self.parts.fetch)
                except PolicyUnavailable as error:
                    _LOG.warning("the policy server gave no decision, so the request is refused: %s", error)
                    return _NO_POLICY
            case NameFile():
                raise AssertionError("the name of a form's file stands in its body")
            case _:
                assert_never(question)

    def note_sign_in(self, provider: str, step_name: str, status: int, cookies: tuple[str, ...] = ()) -> None:
        """Emits the event of a step of a sign-in, and keeps its cookies for the answer."""
        outcome = "ok" if status < 400 else "refused" if status < 500 else "failed"
        self.application.emit(SignInTried(provider, step_name, outcome))
        self.cookies_to_set = (*self.cookies_to_set, *(("Set-Cookie", each) for each in cookies))


class ObjectHandler(DecidedHandler):
    """Answers a request for an object or a directory of a target, by the plan of its decision."""

    async def get(self) -> None:
        """Sends a file, a listing or a redirect."""
        outcome, self.used = await self._performed()
        await self.give(outcome)

    head = get

    async def put(self) -> None:
        """Stores an upload, or makes a step of one in parts."""
        self.progress = "changing"
        outcome, used = await self._performed(await self._upload())
        await self._give_changed(outcome, used)

    async def delete(self) -> None:
        """Removes an object, once the request is whole."""
        async for _ in self.body:
            pass
        self.progress = "changing"
        await self._give_changed(*await self._performed())

    async def _upload(self) -> IncomingFile | None:
        """Returns the file that a PUT carries, if it carries one; its form names it, or the path."""
        deciding, headers = self.given, self.request.headers
        if isinstance(question := deciding.question, NameFile):
            limit = self.parts.settings.limits.max_form_field_size
            upload = await read_form(headers, self.body, limit, question.max_size)
            deciding.answer(upload.head.file_name)
            await self.decide()
            return upload
        first = self.decision.plan[0]
        if isinstance(first, Receive | ReceivePart):
            name = self.decision.request.path.rpartition("/")[2]
            return raw_upload(headers, self.body, name, first.max_size)
        return None

    async def _performed(self, upload: IncomingFile | None = None) -> tuple[Outcome, Any]:
        """Performs the plan; returns its outcome, and the event for the webhooks of the target."""
        decision, headers = self.decision, self.request.headers
        match, conditions = decision.match, Conditions.from_headers(headers)
        assert match is not None
        shared = self.application
        shares = shared.walks, shared.archives, shared.readmes
        context = RequestContext(decision, match, self.parts, headers, conditions, *shares, self.ask, upload)
        outcome, attempt = await perform(decision.plan, context)
        webhooks = match.site.webhooks.get(decision.request.method)
        is_done = webhooks and not isinstance(outcome, ErrorAnswer) and outcome.status < 300
        return outcome, object_used(webhooks, attempt, context) if webhooks and is_done else None

    async def _give_changed(self, outcome: Outcome, used: Any) -> None:
        """Sends the answer to a change; webhooks hear of it even if the client does not take the answer."""
        if used is not None:
            self.application.emit(used)
        await self.give(outcome)


class SignInHandler(DecidedHandler):
    """Answers the pages of a provider: the steps of a sign-in."""

    async def get(self) -> None:
        """Takes a step."""
        request, (attempt,) = self.decision.request, self.decision.plan
        assert isinstance(attempt, VisitProvider)
        if attempt.step == "logout" and request.method in READING:
            # A picture can make a reader's browser send a GET, which must not sign anyone out.
            await self.send(page(200, self.parts.pages.sign_out(*map(request.public, (request.path, "/")))))
            return
        pages = self.parts.authenticators[attempt.provider].pages
        answer = await pages[attempt.step](request)
        self.note_sign_in(attempt.provider, attempt.step, answer.status, answer.cookies)
        if answer.status >= 400:
            message, again = _NOT_SIGNED_IN.get(answer.status), answer.location
            await self.refuse(ErrorAnswer(answer.status, answer.reason, client_message=message, sign_in=again))
            return
        headers = (("Location", answer.location), ("Cache-Control", "no-store"), ("Content-Length", "0"))
        await self.send(Whole(answer.status, headers))

    post = get


class TargetListHandler(DecidedHandler):
    """Shows the targets and where they are mounted."""

    async def get(self) -> None:
        """Sends the list."""
        request, user, parts = self.decision.request, self.decision.user, self.parts
        here = request.authority, request.public_path
        links = (target_links(each.mount, request.scheme, *here) for each in parts.settings.targets)
        shown = tuple(map(TargetLinks, (each.name for each in parts.settings.targets), links))
        targets = {each.target.name: each.data for each in parts.mounts.sites}
        custom = await parts.renderer.render("target_list", None, None, partial(TargetListData, request, user, targets))
        accept = self.request.headers.get("Accept")
        form = choose(LISTING_FORMS, accept, request.parameters.get("format"), is_strict=custom is None)
        path = request.public(f"{request.path.removesuffix('/')}/")
        await self.send(customized(page(200, parts.pages.targets(shown, form, path)), custom))

    head = get


class AnswerHandler(Handler):
    """Sends an answer that needs no decision: the health page, an asset of pages, or that to a preflight."""

    given: Whole

    async def get(self) -> None:
        """Sends it."""
        await self.send(self.given)

    head = options = get


class MistakeHandler(Handler):
    """Refuses a request that cannot be read."""

    given: Exception

    def prepare(self) -> None:
        """Has the page of its error sent."""
        super().prepare()
        raise self.given


_ID = re.compile(r"[0-9A-Za-z._:/+=@-]{1,128}")


class ProxyApplication(SharedApplication):
    """Serves the targets of the generation in force; `emit` gets the events."""

    def __init__(self, generations: Generations, emit: Callable[[Event], None]) -> None:
        super().__init__(emit)
        self.closing = AsyncExitStack()  # what `close` ends
        self._generations = generations

    def start_request(self, server_conn: object, request_conn: httputil.HTTPConnection) -> httputil.HTTPMessageDelegate:
        """Returns what takes a request of a connection: of the wire's, by a shorter way than a router's."""
        if not isinstance(request_conn, Stream):
            return super().start_request(server_conn, request_conn)
        return _Delegate(lambda *head: self._handler(WireRequest(request_conn, *head)))

    def find_handler(self, request: httputil.HTTPServerRequest, **_kwargs: Any) -> Any:
        """Returns what takes a request."""
        return _Delegate(lambda *_: self._handler(request))

    def _handler(self, request: httputil.HTTPServerRequest) -> Handler:
        """Chooses the handler of a request, which gets the generation that is in force now."""
        generation, peer = self._generations.in_force, peer_of(request)
        parts = generation.parts
        trusted, origin, named = parts.trusted_proxies, peer, None
        is_proxied = trusted is not None and is_proxy(peer, trusted)
        if trusted is not None and is_proxied:
            origin = origin_behind(peer, tuple(request.headers.get_all()), trusted)
            named = request.headers.get("X-Request-Id")  # by which the proxy logs it; else it is unique, not secret
        prefix = parts.settings.server.public_path
        if is_proxied and not prefix:
            prefix = read_public_path(request.headers.get("X-Forwarded-Prefix", "")) or ""
        if prefix:
            origin = replace(origin, public_path=prefix)
        request_id = named if named and _ID.fullmatch(named) else f"{random.getrandbits(64):016x}"
        given: Any
        try:
            handler, given = _handler_for(request, parts, origin, is_proxied=is_proxied)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer and the operator a reason
            handler, given = MistakeHandler, error
        return handler(self, request, given=given, generation=generation, origin=origin, request_id=request_id)

    async def close(self) -> None:
        """Ends what was started for the application: it follows no more edits, and lets go of its buckets."""
        await self.closing.aclose()


class _Delegate(httputil.HTTPMessageDelegate):
    """Starts a handler, and gives it the body when it is wanted."""

    _handler: Handler

    def __init__(self, handler_for: Callable[..., Handler]) -> None:
        self._handler_for = handler_for

    def headers_received(
        self, start_line: httputil.RequestStartLine | httputil.ResponseStartLine, headers: httputil.HTTPHeaders
    ) -> Awaitable[None] | None:
        """Begins to answer; what it returns is done when the body is wanted."""
        self._handler = self._handler_for(start_line, headers)
        self._handler.start()
        body = self._handler.body
        return None if body.ended or body.is_wanted else body.until_wanted()

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        """Hands over a piece of the body; the connection reads on when there is room for more."""
        return self._handler.data_received(chunk)

    def finish(self) -> None:
        """Marks the body as complete."""
        if not self._handler.body.ended:
            self._handler.body.end()

    def on_connection_close(self) -> None:
        """Breaks the request off."""
        self._handler.on_connection_close()


def _handler_for(
    asked: httputil.HTTPServerRequest, parts: Parts, origin: Origin, *, is_proxied: bool
) -> tuple[type[Handler], Deciding | Answer]:
    """Reads a request; returns its handler, and what that is given; raises `RequestError`."""
    if (mistake := getattr(asked.connection, "mistake", None)) is not None:
        raise mistake
    health_path = parts.settings.server.health_path
    if health_path and asked.uri == health_path and asked.method in READING:
        return AnswerHandler, HEALTHY
    policy = parts.policy_headers
    answer = policy.preflight(asked) if policy else None
    if answer is None and ASSETS_AT in asked.uri:
        answer = _asset(asked, parts)
    if answer is not None:
        return AnswerHandler, answer
    fields, host = tuple(asked.headers.get_all()), asked.headers.get("Host", "")
    request = read_request(asked.uri, asked.method, host, fields, origin.scheme, origin.address, asked.version)
    if is_proxied:
        authority = origin.authority or request.authority
        request = replace(request, host=host_name(authority), authority=authority, from_trusted_proxy=True)
    elif origin.certificate is not None:
        request = replace(request, certificate=origin.certificate)
    if origin.public_path:
        request = replace(request, public_path=origin.public_path)
    deciding = Deciding(decide(parts.mounts, request))
    decision = deciding.decision
    if decision.match is not None:
        return ObjectHandler, deciding
    # The list of targets has no plan while its access is being checked.
    first = decision.plan[0] if decision.plan else ListTargets()
    return _WITHOUT_TARGET[type(first)], deciding


_WITHOUT_TARGET: dict[type[Attempt], type[Handler]] = {
    ListTargets: TargetListHandler,
    Refuse: DecidedHandler,
    VisitProvider: SignInHandler,
}


def _asset(asked: httputil.HTTPServerRequest, parts: Parts) -> Answer | None:
    """Returns an asset of pages, which is public and available below every path."""
    if asked.method not in READING:
        return None
    name = read_address(asked.uri)[0].rpartition(ASSETS_AT)[2]
    all_pages = (parts.pages, *parts.renderer.pages.themed.values())
    asset = next((each.assets[name] for each in all_pages if name in each.assets), None)
    return Whole(200, asset.headers, asset.body) if asset else None
