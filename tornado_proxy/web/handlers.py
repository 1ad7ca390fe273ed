"""The handlers: objects of targets, pages of sign-ins, the list of targets, and answers that need no decision."""

from __future__ import annotations

from functools import partial
from typing import Any

from tornado_proxy.auth.authenticator import only_reads
from tornado_proxy.pages.custom import TargetListData
from tornado_proxy.pages.render import LISTING_FORMS, TargetLinks, choose, target_links
from tornado_proxy.routing.decide import NameFile
from tornado_proxy.routing.plan import Receive, VisitProvider
from tornado_proxy.routing.upload_steps import ReceivePart
from tornado_proxy.semantics.conditions import CONDITIONAL, Conditions
from tornado_proxy.web.answer import ErrorAnswer, Outcome, Whole, page
from tornado_proxy.web.context import RequestContext
from tornado_proxy.web.custom_pages import customized
from tornado_proxy.web.deciding import DecidedHandler
from tornado_proxy.web.handler import Handler
from tornado_proxy.web.incoming_file import IncomingFile, raw_upload, read_form
from tornado_proxy.web.perform import answer_at_hand, object_used, perform

# What a client reads if a step of a sign-in fails; other statuses have their usual words.
_NOT_SIGNED_IN = {
    400: "This sign-in is not valid or took too long; open the page again",
    401: "You were not signed in; open the page again",
    502: "The place where you sign in could not be reached or gave an invalid answer",
}

HEALTHY = Whole(
    200,
    (("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store"), ("Content-Length", "8")),
    b"healthy\n",
)
"""The answer to a load balancer that the service is there; it emits no event."""

_NOT_PLAIN = CONDITIONAL | {"Range"}


class ObjectHandler(DecidedHandler):
    """Answers a request for an object or a directory of a target, by the plan of its decision."""

    def at_hand(self) -> Whole | None:
        """Returns the answer to a plain GET of a small object that is in memory."""
        if self.deciding.question is not None or not _NOT_PLAIN.isdisjoint(self.request.headers):
            return None
        return answer_at_hand(self.decision, self.parts)

    async def get(self) -> None:
        """Sends a file, a listing or a redirect."""
        outcome, self.used = await self._performed()
        await self.give(outcome)

    head = get

    async def put(self) -> None:
        """Stores an upload, or makes a step of one in parts."""
        self.is_changing = True
        outcome, used = await self._performed(await self._upload())
        await self._give_changed(outcome, used)

    async def delete(self) -> None:
        """Removes an object, once the request is whole."""
        async for _ in self.body:
            pass
        self.is_changing = True
        await self._give_changed(*await self._performed())

    async def _upload(self) -> IncomingFile | None:
        """Returns the file that a PUT carries, if it carries one; its form names it, or the path."""
        deciding, headers = self.deciding, self.request.headers
        if isinstance(question := deciding.question, NameFile):
            limit = self.parts.settings.limits.max_form_field_size
            upload = await read_form(headers, self.body, limit, question.max_size)
            self.answer_question(upload.head.file_name)
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
        shares = self.application.walks, self.application.archives
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
        (attempt,) = self.decision.plan
        assert isinstance(attempt, VisitProvider)
        if attempt.step == "logout" and only_reads(self.decision.request):
            # A picture can make a reader's browser send a GET, which must not sign anyone out.
            await self.send(page(200, self.parts.pages.sign_out(self.decision.request.path)))
            return
        pages = self.parts.authenticators[attempt.provider].pages
        answer = await pages[attempt.step](self.decision.request)
        self.note_sign_in(attempt.provider, attempt.step, answer.status, answer.cookies)
        if not answer.location:
            message = _NOT_SIGNED_IN.get(answer.status)
            await self.refuse(ErrorAnswer(answer.status, answer.reason, client_message=message))
            return
        headers = (("Location", answer.location), ("Cache-Control", "no-store"), ("Content-Length", "0"))
        await self.send(Whole(answer.status, headers))

    post = get


class TargetListHandler(DecidedHandler):
    """Shows the targets and where they are mounted."""

    async def get(self) -> None:
        """Sends the list."""
        request, user, parts = self.decision.request, self.decision.user, self.parts
        links = (target_links(each.mount, request.scheme, request.authority) for each in parts.settings.targets)
        shown = tuple(map(TargetLinks, (each.name for each in parts.settings.targets), links))
        targets = {each.target.name: each.data for each in parts.mounts.sites}
        custom = await parts.renderer.render("target_list", None, None, partial(TargetListData, request, user, targets))
        accept = self.request.headers.get("Accept")
        form = choose(LISTING_FORMS, accept, request.parameters.get("format"), is_strict=custom is None)
        path = f"{request.path.removesuffix('/')}/"
        await self.send(customized(page(200, parts.pages.targets(shown, form, path)), custom))

    head = get


class AnswerHandler(Handler):
    """Sends an answer that needs no decision: the health page, an asset of pages, or that to a preflight."""

    def initialize(self, answer: Whole) -> None:
        """Takes the answer."""
        self.answer = answer
        # Several balancers that ask each second would fill the access log and flatter the metrics.
        self.is_recorded = answer is not HEALTHY

    def at_hand(self) -> Whole:
        """Returns it."""
        return self.answer

    async def get(self) -> None:
        """Sends it."""
        await self.send(self.answer)

    head = options = get


class MistakeHandler(Handler):
    """Refuses a request that cannot be read."""

    def initialize(self, mistake: Exception) -> None:
        """Takes the error of the request."""
        self.mistake = mistake

    async def prepare(self) -> None:
        """Sends the page of its error."""
        super().prepare()
        raise self.mistake
