"""A request decided again by the rules in force and by a draft of them, from what was kept of it.

A draft changes nothing but rules, so both start from the key that the rules saw. Headers, query and user are not kept:
where a template reads one of them, the difference is unknown.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from tornado_proxy.routing.compare import Kind, Pair
from tornado_proxy.routing.decide import Decision, RewriteTrace, trace
from tornado_proxy.routing.mounts import RouteMatch, Site
from tornado_proxy.routing.request import Request
from tornado_proxy.rules.model import Key, RewriteError, Rewritten, RuleSet
from tornado_proxy.semantics.request import RequestData, User
from tornado_proxy.templates.data import TargetKeyRewriteData


class KeptRequest(NamedTuple):
    """What is kept of a request: the `key` that the rules saw, and whether a user made it, but not which one."""

    at: float  # Unix time, seconds
    target: str
    method: str
    host: str
    path: str
    key: Key
    signed_in: bool


class Replayed(NamedTuple):
    """What a draft changes for a request: both applications of the rules, None where they are unknown or the same."""

    kind: Kind
    pair: Pair
    old: RewriteTrace | None = None
    new: RewriteTrace | None = None


def replay(request: KeptRequest, site: Site, draft: RuleSet) -> Replayed:
    """Decides a request by the rules of a site in force, and by a draft of them."""
    before, after = site.rules.taker(request.key), draft.taker(request.key)
    pair = Pair(request.target, before.label if before else None, after.label if after else None)
    # Most requests are taken by one rewrite of both: then no template has to run.
    if (before and before.making) == (after and after.making):
        return Replayed(Kind.SAME, pair)
    old, new = (_applied(request, site, rules) for rules in (site.rules, draft))
    return Replayed(_kind(old, new), pair, old, new)


def _kind(old: RewriteTrace | None, new: RewriteTrace | None) -> Kind:
    if old is None or new is None:
        return Kind.UNKNOWN
    if old.failure and new.failure:
        return Kind.SAME if old.failure.status == new.failure.status else Kind.ANSWER
    if new.failure:
        return Kind.ERROR
    if old.failure:
        return Kind.ANSWER
    return Kind.SAME if old.rewritten == new.rewritten else Kind.KEY


class _Part:
    """The kept part of a request or of a user; `is_lacking` is true once a template has read from the rest."""

    def __init__(self, rest: RequestData | User, **kept: str) -> None:
        self.__dict__.update(kept)
        self.is_lacking = False
        self._rest = rest

    def __getattr__(self, name: str) -> Any:
        self.is_lacking = True
        return getattr(self._rest, name)


def _applied(request: KeptRequest, site: Site, rules: RuleSet) -> RewriteTrace | None:
    """Applies rules to the key of a request; returns None where the result depends on what was not kept."""
    part = _Part(RequestData(), method=request.method, host=request.host, path=request.path)
    user = _Part(User("")) if request.signed_in else None
    data = TargetKeyRewriteData(request.key, cast("User | None", user), cast("RequestData", part), site.data)
    rewritten: Rewritten | None = None
    failure: RewriteError | None = None
    try:
        rewritten = rules.apply(data)
    except RewriteError as error:
        failure = error
    if part.is_lacking or (user is not None and user.is_lacking) or _leaves_home(request, site, rewritten):
        return None
    match = RouteMatch(site, "", request.key)
    return trace(Decision(Request(), (), match, data=data, rewritten=rewritten, failure=failure))


def _leaves_home(request: KeptRequest, site: Site, rewritten: Rewritten | None) -> bool:
    """Whether a key leaves the directory that was the user's, unless the user may see all."""
    home = request.key[: request.key.find("/", 1) + 1]
    is_isolated = site.target.actions.get.user_isolation
    return is_isolated and rewritten is not None and not rewritten.key.startswith(home)
