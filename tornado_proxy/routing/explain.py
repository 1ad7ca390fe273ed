"""Why a request ends where it does: each rewrite that was tried, who may, and the plan; made by what serves it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import assert_never

from tornado_proxy.config.model import Bucket, Resource
from tornado_proxy.routing.access import Anyone, Guard, Nobody, SignedIn
from tornado_proxy.routing.errors import BadFileName, KeyTooLong
from tornado_proxy.routing.keys import ObjectKey, RequestPath, object_key
from tornado_proxy.routing.mounts import Mounts, Routed, Site
from tornado_proxy.routing.plan import Plan, Refuse
from tornado_proxy.routing.planner import FAILURE_STATUS, Planned, plan, plan_upload, upload_path
from tornado_proxy.routing.request import Facts
from tornado_proxy.rules.errors import RewriteError
from tornado_proxy.rules.keys import Key
from tornado_proxy.rules.model import RuleSet
from tornado_proxy.rules.rewrite import Rewrite
from tornado_proxy.templates.data import Captures, TargetKeyRewriteData, User


class Outcome(Enum):
    """What became of a rewrite."""

    MATCHED = "matched"
    NO_MATCH = "no match"
    NOT_TRIED = "not tried"  # an earlier one had matched


@dataclass(frozen=True, slots=True)
class Trial:
    """A rewrite and what became of it; the captures are those of the one that matched."""

    rewrite: Rewrite
    outcome: Outcome
    captures: Captures | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no object key, and the status that answers so."""

    status: int
    message: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the rules make of one key: `result` is the template's, raw; a failure stands where the chain broke off."""

    data: TargetKeyRewriteData
    trials: tuple[Trial, ...]
    result: str | None = None
    rewritten: Key | None = None
    object_key: ObjectKey | None = None
    failure: Failure | None = None

    @property
    def decided(self) -> Trial | None:
        """The trial that matched; None where the key stays as it is."""
        return next((each for each in self.trials if each.outcome is Outcome.MATCHED), None)


@dataclass(frozen=True, slots=True)
class Check:
    """Access to one path: every resource that covers it, of which the first decides, and whom that one lets pass."""

    path: RequestPath
    covering: tuple[Resource, ...]
    guard: Guard


@dataclass(frozen=True, slots=True)
class Course:
    """The way of a request from its address to its plan, as far as it got; the plan says where it ended.

    `asker` is who would sign in, `user` whom templates see: nobody signs in where anyone may come.
    """

    plan: Plan
    facts: Facts
    asker: User | None = None
    routed: Routed | None = None
    checks: tuple[Check, ...] = ()
    user: User | None = None
    explanation: Explanation | None = None


def explain(rules: RuleSet, bucket: Bucket, data: TargetKeyRewriteData) -> Explanation:
    """What a rule set makes of a key, and where a bucket keeps it."""
    trials = tuple(_trials(rules, data.key))
    result = None
    try:
        found = rules.render(data)
        result = found[2] if found else None
        rewritten = rules.apply(data).key
    except RewriteError as error:
        return Explanation(data, trials, result, failure=Failure(FAILURE_STATUS[type(error)], str(error)))
    try:
        return Explanation(data, trials, result, rewritten, object_key(bucket, rewritten))
    except KeyTooLong as error:
        return Explanation(data, trials, result, rewritten, failure=Failure(error.status, str(error)))


def _trials(rules: RuleSet, key: str) -> Iterator[Trial]:
    decided = False
    for rewrite in rules.rewrites:
        captures = None if decided else rewrite.pattern.search(key)
        if captures is not None:
            yield Trial(rewrite, Outcome.MATCHED, captures)
        else:
            yield Trial(rewrite, Outcome.NOT_TRIED if decided else Outcome.NO_MATCH)
        decided = decided or captures is not None


def explain_request(mounts: Mounts, facts: Facts, user: User | None, file_name: str | None = None) -> Course:
    """The course of a request; `user` is who would sign in, `file_name` what an upload's form calls its file.

    It takes the steps of a served request: a method is refused before anybody is asked to sign in, and access to an
    upload is asked for twice.
    """
    routed = mounts.find(facts.host, facts.path)
    if routed is None:
        return Course((Refuse(404, "no target is mounted there"),), facts, user)
    start = Course((), facts, user, routed)
    if facts.method not in routed.site.target.actions.methods:
        return replace(start, plan=plan(routed, facts, None).plan)
    course = _admitted(start, routed.site, facts.path, user, lambda seen: plan(routed, facts, seen))
    if course.plan or file_name is None:
        return course
    try:
        path = upload_path(facts.path, file_name)
    except BadFileName as error:
        return replace(course, plan=(Refuse(error.status, str(error)),))
    return _admitted(course, routed.site, path, user, lambda seen: plan_upload(routed, facts, seen, file_name))


def _admitted(
    course: Course, site: Site, path: RequestPath, user: User | None, planner: Callable[[User | None], Planned]
) -> Course:
    """The course with one check of access more, and what is planned for those who pass it."""
    guard = site.access.guard(path, course.facts.method)
    check = Check(path, site.access.covering(path, course.facts.method), guard)
    course = replace(course, checks=(*course.checks, check))
    refused = turned_away(guard, user)
    if refused is not None:
        return replace(course, plan=(refused,))
    seen = user if isinstance(guard, SignedIn) else course.user
    planned = planner(seen)
    explanation = explain(site.rules, site.target.bucket, planned.data) if planned.data else None
    return replace(course, plan=planned.plan, user=seen, explanation=explanation)


def turned_away(guard: Guard, user: User | None) -> Refuse | None:
    """What a guard answers to who signs in, passwords aside; None to those whom it lets pass."""
    match guard:
        case Anyone():
            return None
        case Nobody():
            return Refuse(403, "no resource of the target covers the request")
        case SignedIn():
            if user is None:
                return Refuse(401, f"nobody is signed in with `{guard.provider}`")
            return None if guard.find(user.username) else Refuse(401, f"`{user.username}` is not listed")
        case _:
            assert_never(guard)
