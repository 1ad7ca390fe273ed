"""The difference of two decisions about one request: the one in force, and the one of an edit that is tried beside it.

Of the requests that a service keeps, neither queries nor headers are known, nor who the users are: where the rules read
them, the difference is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import Any, NamedTuple, cast

from tornado_proxy.config.model import Bucket
from tornado_proxy.routing.access import Nobody, SignedIn
from tornado_proxy.routing.decide import NOT_AUTHORIZED, Decision
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.routing.plan import Redirect, RedirectToSignedUrl, Refuse, Serve, VisitProvider
from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.rules.model import Key, RewriteError
from tornado_proxy.rules.tree import Dialect
from tornado_proxy.semantics.request import Request, RequestPath, User
from tornado_proxy.templates.template import TargetKeyRewriteData


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


def difference(old: Decision, new: Decision) -> Kind:
    """Returns how the second of two decisions about one request differs from the first."""
    if _fails(new) and not _fails(old):
        return Kind.ERROR
    is_same_target, first = _target(old) == _target(new), old.plan[0]
    # Whether the answer is the same, whatever the bucket has.
    is_without_bucket = isinstance(first, Refuse) or (isinstance(first, Redirect) and first.below is None)
    if (is_same_target or is_without_bucket) and (old.plan == new.plan or _shape(old) == _shape(new)):
        return Kind.SAME
    keeps_form = [*map(type, old.plan)] == [*map(type, new.plan)] and not old.is_refused
    return Kind.KEY if is_same_target and keeps_form else Kind.ANSWER


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


def _tried(decision: Decision) -> object:
    """Returns the plan of a request that is answered by what the rules make of other addresses, too."""
    return decision.match and decision.match.site.target.actions.get.try_files and decision.plan


def _result(decision: Decision) -> object:
    if decision.rewritten is None:
        return decision.failure.status if decision.failure else None
    return decision.rewritten.key, decision.rewritten.moved


_IN_ORDER: tuple[tuple[Reason, Callable[[Decision], object]], ...] = (
    (Reason.MOUNT, _mounted),
    (Reason.ACTIONS, lambda decision: bool(decision.checks)),  # a method is refused before access is checked
    (Reason.ACCESS, _admitted),
    # The directory of an isolated user, or what is refused or redirected before the rules.
    (Reason.ACTIONS, lambda decision: decision.data and decision.data.key),
    (Reason.RULES, _result),
    (Reason.BUCKET, _bucket),
    (Reason.ACTIONS, lambda decision: decision.match and decision.match.site.target.actions),
    (Reason.RULES, _tried),
)


def _address(bucket: Bucket) -> object:
    """Returns what tells one bucket from another; how it is called changes no answer."""
    return bucket.name, bucket.s3_endpoint, bucket.disable_ssl


def _fails(decision: Decision) -> bool:
    first = decision.plan[0]
    return isinstance(first, Refuse) and (first.status >= 500 or decision.failure is not None)


def _target(decision: Decision) -> object:
    if decision.match is None:
        return None
    target = decision.match.site.target
    return target.name, _address(target.bucket)


def _shape(decision: Decision) -> list[object]:
    """Returns the plan without the reasons of refusals, which clients do not see."""
    return [(each.status, each.allow, each.location) if isinstance(each, Refuse) else each for each in decision.plan]


def served_key(decision: Decision) -> ObjectKey | None:
    """Returns the key of the object without which a request of a file is answered with 404."""
    keys = [each.key for each in decision.plan if isinstance(each, Serve | RedirectToSignedUrl)]
    return keys[0] if len(keys) == 1 and not decision.request.path.endswith("/") else None


class KeptRequest(NamedTuple):
    """What is kept of a request: the `key` that the rules saw, and whether a user made it, but not which one."""

    at: float  # Unix time, seconds
    target: str
    method: str
    host: str
    path: RequestPath
    key: Key
    signed_in: bool

    @property
    def file_name(self) -> str | None:
        """The name of the file of an upload to a directory, which the key has."""
        return self.key.rpartition("/")[2] if self.method == "PUT" and self.path.endswith("/") else None


def demands(mounts: Mounts, kept: KeptRequest) -> list[object]:
    """Returns what is demanded of a user, for each check of access to a path, and to that of an uploaded file.

    Passwords are left out: they may be unresolved on one side.
    """
    match, name = mounts.find(kept.host, kept.path), kept.file_name
    paths = [kept.path, *([RequestPath(kept.path + name)] if name else [])]
    checks = (check for path in paths for check in match.site.access.checks(path, kept.method)) if match else ()
    passed = [check.guard for check in checks if isinstance(check.guard, SignedIn)]
    listed = [each.users and [user.user for user in each.users] for each in passed]
    return [(each.provider, names, each.accesses, each.opa) for each, names in zip(passed, listed, strict=True)]


class _Part:
    """The kept part of a request or of a user; `is_lacking` is true once a template has read from the rest."""

    def __init__(self, rest: Request | User, **kept: str) -> None:
        self.__dict__.update(kept)
        self.is_lacking = False
        self._rest = rest

    def __getattr__(self, name: str) -> Any:
        self.is_lacking = True
        return getattr(self._rest, name)


def reads_unkept(decision: Decision) -> bool:
    """Whether the rules read what is not kept of a request: a header, the query, or who the user is."""
    data, request, match = decision.data, decision.request, decision.match
    if data is None or match is None:
        return False
    part = _Part(Request(), method=request.method, host=request.host, path=request.path)
    user = _Part(User("")) if data.user is not None else None
    tried = (path[len(match.mount) - 1 :] for each in decision.plan for path in getattr(each, "paths", ()))
    for key in (data.key, *tried):
        rewrite = match.site.rules.taker(key)
        if rewrite is not None and rewrite.dialect is not Dialect.PLAIN:
            kept = TargetKeyRewriteData(key, cast("User | None", user), cast("Request", part), data.target)
            with suppress(RewriteError):
                match.site.rules.apply(kept)
    return part.is_lacking or (user is not None and user.is_lacking)
