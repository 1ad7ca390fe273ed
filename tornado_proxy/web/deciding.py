"""Handlers that need a decision: they drive it and answer its questions."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import assert_never

from msgspec.structs import replace

from tornado_proxy.auth.authenticator import SignIn, is_cross_origin
from tornado_proxy.auth.opa import PolicyUnavailable, is_permitted
from tornado_proxy.routing.decide import (
    NOT_AUTHORIZED,
    Authenticate,
    Authorize,
    Deciding,
    Decision,
    NameFile,
    Question,
    QuestionAnswer,
    decide_beside,
)
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.routing.request import RequestError, RequestPath
from tornado_proxy.semantics.request import READING, User
from tornado_proxy.telemetry.events import AccessDecided, SignInTried
from tornado_proxy.web.answer import answer_attempt
from tornado_proxy.web.handler import Handler

_LOG = logging.getLogger("tornado_proxy")

_NO_POLICY = Refuse(500, "the policy server does not decide")

# RFC 9110 9.2.1; a page of another origin may make requests of all other methods only with permission.
_SAFE = (*READING, "OPTIONS")


class CrossOrigin(RequestError):
    """A change that a browser asks for on behalf of a page of another origin, with the authority of its user."""

    status = 403
    public_message = "A page of another site may not change anything here"


class DecidedHandler(Handler):
    """Decides about a request before its method is called, and answers what is refused."""

    decision: Decision  # it always has one

    def initialize(self, deciding: Deciding) -> None:
        """Begins with a decision under way."""
        self.deciding, self.decision = deciding, deciding.decision

    def prepare(self) -> Awaitable[None] | None:
        """Decides up to the name of a form's file, before a byte of the body is taken; an error is answered here."""
        super().prepare()
        deciding = self.deciding
        is_decided = deciding.question is None and not isinstance(deciding.decision.plan[0], Refuse)
        return None if is_decided and self.request.method in _SAFE else self._prepare()

    async def decide(self) -> None:
        """Answers the questions of the decision, up to the one for which the body must be read."""
        deciding = self.deciding
        while deciding.question is not None and not isinstance(deciding.question, NameFile):
            self.answer_question(await self._answer(deciding.question))
        if deciding.question is None and deciding.decision.user is not None:
            self._note_access(deciding.decision)

    def answer_question(self, answer: QuestionAnswer) -> None:
        """Answers the question of the decision."""
        self.deciding.answer(answer)
        self.decision = self.deciding.decision

    async def ask(self, path: RequestPath) -> Decision:
        """Decides what the user of the request would be answered to a request for another path."""
        deciding = Deciding(decide_beside(self.parts.mounts, self.decision, path))
        while deciding.question is not None:
            deciding.answer(await self._answer(deciding.question))
        return deciding.decision

    async def _prepare(self) -> None:
        """Decides as far as that is possible without the body; an error is answered at once."""
        if self.request.method not in _SAFE:
            self._check_origin()
        await self.decide()
        if self.deciding.question is None and isinstance(only := self.decision.plan[0], Refuse):
            await self.refuse(answer_attempt(only))

    def _check_origin(self) -> None:
        """Raises `CrossOrigin` if a page of another origin would change something without permission.

        A browser adds its passwords and sessions to such requests.
        """
        policy = self.parts.policy_headers
        is_allowed = policy is not None and policy.lets(self.request)
        if not is_allowed and is_cross_origin(self.decision.request):
            raise CrossOrigin("a page of another origin sent the request, and `server.cors` does not allow that")

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

    def _note_access(self, decision: Decision) -> None:
        """Emits the event of a request whose user has signed in."""
        if (guard := decision.passed) is not None:
            failed = "failed" if decision.plan[0] is _NO_POLICY else "ok"
            outcome = "refused" if decision.plan is NOT_AUTHORIZED else failed
            self.application.emit(AccessDecided(guard.provider, outcome))

    def note_sign_in(self, provider: str, step_name: str, status: int, cookies: tuple[str, ...] = ()) -> None:
        """Emits the event of a step of a sign-in, and keeps its cookies for the answer."""
        outcome = "ok" if status < 400 else "refused" if status < 500 else "failed"
        self.application.emit(SignInTried(provider, step_name, outcome))
        self.cookies_to_set = (*self.cookies_to_set, *(("Set-Cookie", each) for each in cookies))
