"""The course of a request for people and for programs: what `explain` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, assert_never

from tornado_proxy.lang.excerpt import visible
from tornado_proxy.routing.access import Anyone, Guard, Nobody, SignedIn
from tornado_proxy.routing.explain import Check, Course, Explanation, Outcome, Trial
from tornado_proxy.routing.plan import Attempt, Browse, Plan, Receive, Redirect, Refuse, Remove, Serve, Sign
from tornado_proxy.tools.near_miss import NearMiss, in_words, near_miss
from tornado_proxy.tools.showing import Rows, group_rows, groups_json, rewrite_json, section

JSON_VERSION = 1
"""Counts the changes of the JSON form that a reader must know of; what is only added does not count."""

_WHOLE_BUCKET = "(the whole bucket)"

_MARKS = {Outcome.MATCHED: "✓", Outcome.NO_MATCH: "·"}

# Rewrites of which is told how far they matched; each takes about a millisecond, and no more are read by anybody.
_MOST_NEAR_MISSES = 1000

_Block = Iterable[tuple[str, Rows]]


def to_text(course: Course, *, configured: bool) -> str:
    """For people: a heading, then what each step came to; mounts and access only where a configuration has some."""
    who = f" as {course.user.username}" if course.user else ""
    blocks = filter(None, map(_block, _blocks(course, configured=configured)))
    return "\n".join([visible(f"{course.facts.method} {course.facts.path}{who}"), *blocks, ""])


def _blocks(course: Course, *, configured: bool) -> Iterator[_Block]:
    yield _leading(course, configured=configured)
    if course.explanation is not None:
        yield _rewriting(course.explanation)
    yield [("plan", _plan(course.plan))]


def _block(block: _Block) -> str:
    return "".join(f"\n{line}" for title, rows in block for line in section(title, rows))


def _leading(course: Course, *, configured: bool) -> Iterator[tuple[str, Rows]]:
    if course.routed is not None:
        name, host = course.routed.site.target.name, course.routed.site.target.mount.host
        yield "target", [(f"{name}, mounted at {host}{course.routed.mount}" if configured else name,)]
        if configured:
            yield "access", list(_access(course))
    if course.explanation is not None:
        yield "key", [(course.explanation.data.key,)]


def _access(course: Course) -> Iterator[Sequence[str]]:
    for check in course.checks:
        decided = f"by `{check.covering[0].path}`" if check.covering else ""
        yield check.path, _passes(check.guard), decided
        for other in check.covering[1:]:
            yield "", "", f"`{other.path}` covers it too, and comes later"
    if course.asker is not None and course.user is None and course.explanation is not None:
        yield (f"`{course.asker.username}` is not asked to sign in, so templates see nobody",)


def _passes(guard: Guard) -> str:
    match guard:
        case Anyone():
            return "anyone"
        case SignedIn():
            return f"users of `{guard.provider}`"
        case Nobody():
            return "nobody"
        case _:
            assert_never(guard)


def _rewriting(explanation: Explanation) -> Iterator[tuple[str, Rows]]:
    yield "rewrites", list(_trials(explanation)) or [("none",)]
    decided = explanation.decided
    if decided is not None and decided.captures is not None:
        yield "groups", group_rows(decided.captures)
        yield "template", [(decided.rewrite.template.text, f"({decided.rewrite.dialect.value})")]
    if explanation.result is not None:
        yield "result", [(explanation.result or "(empty)",)]
    elif decided is None:
        yield "result", [("unchanged",)]
    if explanation.rewritten is not None and explanation.rewritten not in (explanation.result, explanation.data.key):
        yield "new key", [(explanation.rewritten,)]
    if explanation.object_key is not None:
        yield "object key", [(explanation.object_key or _WHOLE_BUCKET,)]
    if explanation.failure is not None:
        yield "error", [(str(explanation.failure.status), explanation.failure.message)]


def _trials(explanation: Explanation) -> Iterator[Sequence[str]]:
    tried = [each for each in explanation.trials if each.outcome is not Outcome.NOT_TRIED]
    for each in tried:
        rewrite, miss = each.rewrite, _near_miss(each, explanation)
        yield _MARKS[each.outcome], rewrite.label, rewrite.pattern.text, each.outcome.value, rewrite.span.place
        if miss is not None:
            yield "", "", in_words(miss)
    if len(tried) < len(explanation.trials):
        yield "", f"{len(explanation.trials) - len(tried)} more, not tried"


def _near_miss(trial: Trial, explanation: Explanation) -> NearMiss | None:
    rewrite = trial.rewrite
    if trial.outcome is not Outcome.NO_MATCH or rewrite.number > _MOST_NEAR_MISSES:
        return None
    return near_miss(rewrite.pattern.text, explanation.data.key)


def _plan(plan: Plan) -> Rows:
    if not plan:
        return [("undecided: the form of an upload names its file, as `--file-name` does here",)]
    return [(_name(attempt), _words(attempt)) for attempt in plan]


def _name(attempt: Attempt) -> str:
    return type(attempt).__name__.lower()


def _words(attempt: Attempt) -> str:
    match attempt:
        case Serve() | Remove():
            return attempt.key
        case Browse():
            return (attempt.prefix or _WHOLE_BUCKET) + (", even if nothing is there" if attempt.root else "")
        case Receive():
            return f"{attempt.key}, to be asked for as {attempt.location}"
        case Sign():
            return f"{attempt.key}, for {attempt.expires} seconds"
        case Redirect():
            return attempt.location + (f", if anything lies below {attempt.below}" if attempt.below is not None else "")
        case Refuse():
            return f"{attempt.status}, {attempt.reason}"
        case _:
            assert_never(attempt)


def to_json(course: Course) -> dict[str, Any]:
    """For programs: all that is known, in a form that only grows within a version."""
    return {
        "version": JSON_VERSION,
        "request": _request(course),
        "target": _target(course),
        "access": [_check(each) for each in course.checks],
        "rewriting": _explanation(course.explanation) if course.explanation else None,
        "plan": [{"attempt": _name(each), **asdict(each)} for each in course.plan],
    }


def _request(course: Course) -> dict[str, Any]:
    facts, user = course.facts, course.user
    return {
        "method": facts.method,
        "path": facts.path,
        "host": facts.host,
        "query": facts.raw_query,
        "user": user.username if user else None,
    }


def _target(course: Course) -> dict[str, Any] | None:
    routed = course.routed
    return None if routed is None else {"name": routed.site.target.name, "mount": routed.mount}


def _check(check: Check) -> dict[str, Any]:
    provider = check.guard.provider if isinstance(check.guard, SignedIn) else None
    guard = {Anyone: "anyone", SignedIn: "users", Nobody: "nobody"}[type(check.guard)]
    resources = [each.path for each in check.covering]
    return {"path": check.path, "guard": guard, "provider": provider, "resources": resources}


def _explanation(explanation: Explanation) -> dict[str, Any]:
    failure = explanation.failure
    return {
        "key": explanation.data.key,
        "rewrites": [_trial(each, explanation) for each in explanation.trials],
        "result": explanation.result,
        "rewritten_key": explanation.rewritten,
        "object_key": explanation.object_key,
        "error": failure and {"status": failure.status, "message": failure.message},
    }


def _trial(trial: Trial, explanation: Explanation) -> dict[str, Any]:
    captures, miss = trial.captures, _near_miss(trial, explanation)
    return {
        **rewrite_json(trial.rewrite),
        "outcome": trial.outcome.value,
        "groups": None if captures is None else groups_json(captures),
        "near_miss": None if miss is None else asdict(miss),
    }
