"""Answers the questions of a decision about its user, with providers and policy servers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from tornado_proxy.auth.authenticator import Authenticator, Challenge, SignIn
from tornado_proxy.auth.fetching import Fetcher
from tornado_proxy.auth.opa import PolicyUnavailable, is_permitted
from tornado_proxy.gateway.answer import Headers, Outcome, Refusal, Whole, refusal_of
from tornado_proxy.routing.decide import Authenticate, Authorize
from tornado_proxy.routing.plan import Refuse, VisitProvider
from tornado_proxy.routing.request import Request
from tornado_proxy.telemetry.events import Event, SignInTried
from tornado_proxy.templates.template import User

if TYPE_CHECKING:
    from tornado_proxy.auth.oidc import OidcAuthenticator

_LOG = logging.getLogger("tornado_proxy")


class Reception:
    """Answers the questions about the user of one request, and keeps the cookies that its answer must carry.

    `is_private` says whether the answer is for one user.
    """

    def __init__(
        self, authenticators: Mapping[str, Authenticator], fetch: Fetcher, emit: Callable[[Event], None]
    ) -> None:
        self.cookies: Headers = ()
        self.is_private = False
        self._authenticators = authenticators
        self._fetch = fetch
        self._emit = emit

    async def authenticate(self, question: Authenticate) -> User | Refuse:
        """Returns the user of the request, or a refusal; raises `AuthBusy`."""
        guard = question.guard
        found = await self._authenticators[guard.provider].authenticate(question.so_far.request, guard)
        self._tell(guard.provider, "request", 200 if isinstance(found, SignIn) else max(found.status, 400))
        match found:
            case SignIn(user, cookies):
                self.is_private = True
                self._keep(cookies)
                return user
            case Challenge(status, reason, header, location):
                return Refuse(status, reason, challenge=header or None, location=location or None)

    async def authorize(self, question: Authorize) -> bool | Refuse:
        """Returns whether a policy server permits the request, or a refusal if it gives no answer."""
        try:
            return await is_permitted(question.server, question.user, question.so_far.request, self._fetch)
        except PolicyUnavailable as error:
            _LOG.warning("the policy server gave no decision, so the request is refused: %s", error)
            return Refuse(500, "the policy server does not decide")

    async def visit(self, attempt: VisitProvider, request: Request) -> Outcome:
        """Returns the answer of a page that belongs to a provider."""
        # Only providers of this kind have pages.
        provider = cast("OidcAuthenticator", self._authenticators[attempt.provider])
        if request.method == "POST" and attempt.step != "logout":
            return refusal_of(Refuse(405, "the pages of a login are visited with GET", ("GET",)))
        steps = {"login": provider.login, "callback": provider.callback, "logout": provider.logout}
        answer = await steps[attempt.step](request)
        self._tell(attempt.provider, attempt.step, answer.status)
        self._keep(answer.cookies)
        if not answer.location:
            return Refusal(answer.status, answer.reason)
        headers = (("Location", answer.location), ("Cache-Control", "no-store"), ("Content-Length", "0"))
        return Whole(answer.status, headers)

    def with_private_caching(self, headers: Headers, *, is_isolated: bool = False) -> Headers:
        """Returns the headers of a private answer: no shared cache keeps it, unless the object says otherwise.

        What an object says does not count where users are isolated: its URL is another object for another user.
        """
        is_object = any(name == "ETag" for name, _ in headers)
        if (self.cookies or is_isolated or not is_object) and ("Cache-Control", "no-store") not in headers:
            # A page of ours is one user's, and a cache that kept a session would give it to others, whatever the
            # object says.
            headers = tuple(each for each in headers if each[0].lower() != "cache-control")
        if not any(name == "Cache-Control" for name, _ in headers):
            headers = (*headers, ("Cache-Control", "private, no-cache"))
        return (*headers, *self.cookies)

    def _tell(self, provider: str, step: str, status: int) -> None:
        outcome = "ok" if status < 400 else "refused" if status < 500 else "failed"
        self._emit(SignInTried(provider, step, outcome))

    def _keep(self, cookies: tuple[str, ...]) -> None:
        self.is_private = self.is_private or bool(cookies)
        self.cookies = (*self.cookies, *(("Set-Cookie", each) for each in cookies))
