"""The course of a request for people and for programs: what `explain` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, assert_never

from tornado_proxy.lang.excerpt import visible
from tornado_proxy.routing.access import Anyone, Guard, Nobody, SignedIn
from tornado_proxy.routing.explain import Check, Course, Explanation, Outcome, Trial
from tornado_proxy.routing.plan import Attempt, Browse, Plan, Receive, Redirect, Refuse, Remove, Serve, Sign
from tornado_proxy.rules.model import Rewrite
from tornado_proxy.templating.data import Captures

JSON_VERSION = 1
"""Counts the changes of the JSON form that a reader must know of; what is only added does not count."""

_WHOLE_BUCKET = "(the whole bucket)"

_MARKS = {Outcome.MATCHED: "✓", Outcome.NO_MATCH: "·"}

_GUTTER = 12  # characters: the longest title and two spaces

# A column grows no wider than this for one long expression; that line alone is out of step.
_WIDEST = 60

_Rows = Sequence[Sequence[str]]
_Block = Iterable[tuple[str, _Rows]]


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
    return "".join(f"\n{line}" for title, rows in block for line in _section(title, rows))


def _section(title: str, rows: _Rows) -> Iterator[str]:
    """Lines of one title, in columns; a row's last cell takes the room that it needs and widens no column."""
    cells = [[visible(cell) for cell in row] for row in rows]
    widths: dict[int, int] = {}
    for row in cells:
        for column, cell in enumerate(row[:-1]):
            widths[column] = max(widths.get(column, 0), len(cell) if len(cell) <= _WIDEST else 0)
    for number, row in enumerate(cells):
        padded = [f"{cell:<{widths[column]}}" for column, cell in enumerate(row[:-1])]
        yield f"{title if number == 0 else '':<{_GUTTER}}{'  '.join([*padded, row[-1]])}".rstrip()


def _leading(course: Course, *, configured: bool) -> Iterator[tuple[str, _Rows]]:
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


def _rewriting(explanation: Explanation) -> Iterator[tuple[str, _Rows]]:
    yield "rewrites", list(_trials(explanation.trials)) or [("none",)]
    decided = explanation.decided
    if decided is not None and decided.captures is not None:
        yield "groups", [(f"${label}", _taken(text)) for label, text in _groups(decided.captures)]
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


def _trials(trials: Sequence[Trial]) -> Iterator[Sequence[str]]:
    tried = [each for each in trials if each.outcome is not Outcome.NOT_TRIED]
    for each in tried:
        rewrite = each.rewrite
        yield _MARKS[each.outcome], rewrite.label, rewrite.pattern.text, each.outcome.value, rewrite.span.place
    if len(tried) < len(trials):
        yield "", f"{len(trials) - len(tried)} more, not tried"


def _groups(captures: Captures) -> Iterator[tuple[str, str | None]]:
    """Each group by its name, or by its number where it has none."""
    names = {number: name for name, number in captures.names.items()}
    for number, text in enumerate(captures.groups):
        yield names.get(number, str(number)), text


def _taken(text: str | None) -> str:
    if text is None:
        return "(took no part)"
    return text or "(empty)"


def _plan(plan: Plan) -> _Rows:
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
        "rewrites": [_trial(each) for each in explanation.trials],
        "result": explanation.result,
        "rewritten_key": explanation.rewritten,
        "object_key": explanation.object_key,
        "error": failure and {"status": failure.status, "message": failure.message},
    }


def _trial(trial: Trial) -> dict[str, Any]:
    rewrite, captures = trial.rewrite, trial.captures
    groups = None if captures is None else [{"name": name, "text": text} for name, text in _groups(captures)]
    return {**_rewrite(rewrite), "outcome": trial.outcome.value, "groups": groups}


def _rewrite(rewrite: Rewrite) -> dict[str, Any]:
    line, column = rewrite.span.first
    return {
        "number": rewrite.number,
        "name": rewrite.name,
        "source": rewrite.pattern.text,
        "dialect": rewrite.dialect.value,
        "template": rewrite.template.text,
        "place": {"file": rewrite.span.source.name, "line": line, "column": column},
    }
