"""Two decisions about one request: the one in force, and the one of an edit that is tried beside it.

`diff` compares decisions of a log's requests. A draft changes nothing but rules, so a request is replayed from the key
that the rules saw; where a template reads what was not kept of it, the difference is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple, cast

from tornado_proxy.config.model import Bucket
from tornado_proxy.routing.access import Nobody, SignedIn
from tornado_proxy.routing.decide import (
    NOT_AUTHORIZED,
    Decision,
    RewriteTrace,
    trace,
)
from tornado_proxy.routing.mounts import RouteMatch, Site
from tornado_proxy.routing.plan import Redirect, RedirectToSignedUrl, Refuse, Serve, VisitProvider
from tornado_proxy.routing.request import ObjectKey, Request
from tornado_proxy.rules.model import Key, RewriteError, Rewritten, RuleSet
from tornado_proxy.semantics.request import RequestData, User
from tornado_proxy.templates.data import TargetKeyRewriteData


class Kind(StrEnum):
    """How the decision of an edit differs from the one in force."""

    SAME = "same"
    KEY = "key"  # another key of the same target
    ANSWER = "answer"  # another target, status, redirect or kind of answer
    ERROR = "error"  # a rewrite that fails, or a 5xx, where there was none
    UNKNOWN = "unknown"  # it depends on what was not kept of the request


class Reason(StrEnum):
    """The part of a configuration that makes two decisions differ."""

    MOUNT = "mount"  # another target, or another place in it
    ACCESS = "access"
    RULES = "rules"
    BUCKET = "bucket"  # its address or its prefix
    ACTIONS = "actions"


class Pair(NamedTuple):
    """The rewrites that took a key before and after an edit, by their labels; None if no rewrite did."""

    target: str
    old: str | None
    new: str | None


class Difference(NamedTuple):
    """The difference between two decisions, without queries and headers."""

    kind: Kind
    pair: Pair
    method: str
    path: str
    old: str  # a key, or a status in parentheses
    new: str
    key: ObjectKey | None = None  # of the object that the edit serves, if any


def compare(old: Decision, new: Decision) -> Difference:
    """Returns the difference between two decisions about one request."""
    match, request = new.match or old.match, old.request
    pair = Pair(match.site.target.name if match else "", _label(old), _label(new))
    return Difference(_kind(old, new), pair, request.method, request.path, _outcome(old), _outcome(new), _served(new))


def reason(old: Decision, new: Decision) -> Reason:
    """Returns the first part, in the order of a decision, by which two different decisions differ."""
    return next((each for each, of in _IN_ORDER if of(old) != of(new)), Reason.ACTIONS)


def _mounted(decision: Decision) -> object:
    if decision.match is not None:
        return decision.match.site.target.name, decision.match.key
    first = decision.plan[0]
    # Only the list of targets checks access without a target.
    return first if isinstance(first, VisitProvider) else bool(decision.checks)


def _admitted(decision: Decision) -> object:
    last = decision.checks[-1].guard if decision.checks else None
    is_anonymous = isinstance(last, SignedIn) and decision.user is None
    return isinstance(last, Nobody) or is_anonymous or decision.plan == NOT_AUTHORIZED, decision.user


def _bucket(decision: Decision) -> object:
    bucket = decision.match and decision.match.site.target.bucket
    return bucket and (_address(bucket), bucket.prefix, bucket.leading_slash)


def _failure(decision: Decision) -> int | None:
    return decision.failure.status if decision.failure else None


_IN_ORDER: tuple[tuple[Reason, Callable[[Decision], object]], ...] = (
    (Reason.MOUNT, _mounted),
    (Reason.ACTIONS, lambda decision: bool(decision.checks)),  # a method is refused before access is checked
    (Reason.ACCESS, _admitted),
    # The directory of an isolated user, or what is refused or redirected before the rules.
    (Reason.ACTIONS, lambda decision: decision.data and decision.data.key),
    (Reason.RULES, lambda decision: decision.rewritten.key if decision.rewritten else _failure(decision)),
    (Reason.BUCKET, _bucket),
)


def _address(bucket: Bucket) -> object:
    """Returns what tells one bucket from another; how it is called changes no answer."""
    return bucket.name, bucket.s3_endpoint, bucket.disable_ssl


def _kind(old: Decision, new: Decision) -> Kind:
    if _fails(new) and not _fails(old):
        return Kind.ERROR
    is_same_target = _target(old) == _target(new)
    if (is_same_target or _is_without_bucket(old)) and (old.plan == new.plan or _shape(old) == _shape(new)):
        return Kind.SAME
    keeps_form = [*map(type, old.plan)] == [*map(type, new.plan)] and not old.is_refused
    return Kind.KEY if is_same_target and keeps_form else Kind.ANSWER


def _fails(decision: Decision) -> bool:
    first = decision.plan[0]
    return isinstance(first, Refuse) and (first.status >= 500 or decision.failure is not None)


def _is_without_bucket(decision: Decision) -> bool:
    """Whether an answer is the same, whatever the bucket has."""
    first = decision.plan[0]
    return isinstance(first, Refuse) or (isinstance(first, Redirect) and first.below is None)


def _target(decision: Decision) -> object:
    if decision.match is None:
        return None
    target = decision.match.site.target
    return target.name, _address(target.bucket)


def _shape(decision: Decision) -> list[object]:
    """Returns the plan without the reasons of refusals, which clients do not see."""
    return [(each.status, each.allow, each.location) if isinstance(each, Refuse) else each for each in decision.plan]


def _label(decision: Decision) -> str | None:
    return decision.rewrite.label if decision.rewrite else None


def _outcome(decision: Decision) -> str:
    first = decision.plan[0]
    if isinstance(first, Refuse):
        return f"({first.status})"
    # The location of a redirect has the query.
    return decision.rewritten.key if decision.rewritten else f"({type(first).__name__})"


def _served(decision: Decision) -> ObjectKey | None:
    """Returns the key of the object without which a request of a file is answered with 404."""
    first = decision.plan[0]
    is_file = isinstance(first, Serve | RedirectToSignedUrl) and not decision.request.path.endswith("/")
    return first.key if is_file else None  # type: ignore[union-attr] # both have one


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
    return Replayed(_replayed_kind(old, new), pair, old, new)


def _replayed_kind(old: RewriteTrace | None, new: RewriteTrace | None) -> Kind:
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
