"""Explains a decision: every resource that covers its paths, and every rewrite that was tried."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tornado_proxy.config.model import Resource
from tornado_proxy.goregex.matching import Captures
from tornado_proxy.routing.access import Guard
from tornado_proxy.routing.decide import Decision
from tornado_proxy.routing.errors import KeyTooLong, status_of
from tornado_proxy.routing.keys import ObjectKey, RequestPath, object_key
from tornado_proxy.rules.keys import Key
from tornado_proxy.rules.model import RefusedResult, Rewrite


class RuleOutcome(Enum):
    """The outcome of trying a rewrite."""

    MATCHED = "matched"
    NO_MATCH = "no match"
    NOT_TRIED = "not tried"  # an earlier one had matched


@dataclass(frozen=True, slots=True)
class RuleAttempt:
    """A rewrite that was tried and its outcome; the one that matched has captures."""

    rewrite: Rewrite
    outcome: RuleOutcome
    captures: Captures | None = None


@dataclass(frozen=True, slots=True)
class RuleFailure:
    """The reason why there is no object key, and the status of the answer."""

    status: int
    message: str


@dataclass(frozen=True, slots=True)
class RewriteTrace:
    """The application of rules to a key: `result` is the raw result of the template, `failure` the error."""

    key: str
    attempts: tuple[RuleAttempt, ...]
    result: str | None = None
    rewritten: Key | None = None
    object_key: ObjectKey | None = None
    failure: RuleFailure | None = None

    @property
    def matched(self) -> RuleAttempt | None:
        """The rewrite that matched; None without a match."""
        return next((each for each in self.attempts if each.outcome is RuleOutcome.MATCHED), None)


@dataclass(frozen=True, slots=True)
class AccessTrace:
    """A check of access: every resource that covers the path, in order; the first of them decides."""

    path: RequestPath
    guard: Guard
    covering: tuple[Resource, ...]


@dataclass(frozen=True, slots=True)
class RequestTrace:
    """A decision with its steps; `rewriting` is None if no rules were applied."""

    decision: Decision
    checks: tuple[AccessTrace, ...] = ()
    rewriting: RewriteTrace | None = None


def trace(decision: Decision) -> RequestTrace:
    """Returns the steps of a decision."""
    match, method = decision.match, decision.request.method
    if match is None:
        return RequestTrace(decision)
    access = match.site.access
    checks = (AccessTrace(each.path, each.guard, access.covering(each.path, method)) for each in decision.checks)
    return RequestTrace(decision, tuple(checks), trace_rewrite(decision))


def trace_rewrite(decision: Decision) -> RewriteTrace | None:
    """Returns the application of the rules; None if no rules were applied."""
    match, data, rewritten, error = decision.match, decision.data, decision.rewritten, decision.failure
    if match is None or data is None:
        return None
    if error is not None:
        attempts = _attempts(match.site.rules.rewrites, error.rewrite, error.rewrite.pattern.search(data.key))
        result = error.result if isinstance(error, RefusedResult) else None
        return RewriteTrace(data.key, attempts, result, failure=_failure(error))
    assert rewritten is not None
    attempts = _attempts(match.site.rules.rewrites, rewritten.rewrite, rewritten.captures)
    try:
        found = object_key(match.site.target.bucket, rewritten.key)
    except KeyTooLong as too_long:
        return RewriteTrace(data.key, attempts, rewritten.result, rewritten.key, failure=_failure(too_long))
    return RewriteTrace(data.key, attempts, rewritten.result, rewritten.key, found)


def _attempts(
    rewrites: tuple[Rewrite, ...], matched: Rewrite | None, captures: Captures | None
) -> tuple[RuleAttempt, ...]:
    if matched is None:
        return tuple(RuleAttempt(each, RuleOutcome.NO_MATCH) for each in rewrites)
    before = (RuleAttempt(each, RuleOutcome.NO_MATCH) for each in rewrites[: matched.number - 1])
    after = (RuleAttempt(each, RuleOutcome.NOT_TRIED) for each in rewrites[matched.number :])
    return (*before, RuleAttempt(matched, RuleOutcome.MATCHED, captures), *after)


def _failure(error: Exception) -> RuleFailure:
    return RuleFailure(status_of(error) or 500, str(error))
