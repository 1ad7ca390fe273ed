"""Explains the decision about a request, and what the requests of a log use of the rules, as text and as JSON.

It decides as the server does, with three exceptions: passwords are not checked, the policy server is assumed to permit
the request, and trusted proxies and origins of pages are ignored.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from heapq import nlargest
from http import HTTPStatus
from itertools import takewhile
from typing import Any

import msgspec
from msgspec.structs import asdict

from gotemplate.regexp.matching import longest_matching_part
from tornado_proxy.routing import plan
from tornado_proxy.routing.access import AccessCheck, Anyone, Nobody, SignedIn
from tornado_proxy.routing.decide import Decision, RewriteTrace, trace
from tornado_proxy.routing.mounts import Mounts, Site
from tornado_proxy.routing.plan import ReadForm, Refuse
from tornado_proxy.routing.request import ASSETS_AT
from tornado_proxy.rules.diagnostic import counted, shortened, visible
from tornado_proxy.rules.model import Counted, ListedAddress, Rewrite, Rule
from tornado_proxy.semantics.request import READING, User
from tornado_proxy.tools.limits import LONGEST_NEAR_MISS, MOST_COMPARED, MOST_MISSES, NEAREST_SHOWN
from tornado_proxy.tools.rule_tests import JSON_VERSION, Rows, group_rows, groups_json, rewrite_json, section
from tornado_proxy.tools.simulator import UPLOAD, LoggedRequest, RequestDefaults, RequestLog, Simulator

_WHOLE_BUCKET = "(the whole bucket)"


def explain(
    mounts: Mounts, address: str, method: str, client: RequestDefaults, file_name: str | None = None
) -> Decision:
    """Decides about a request as a server with these mounts would.

    `address` is its percent-encoded path with its query, `file_name` that of an upload in its form.
    """
    # Like a request line: bytes, each a character.
    return Simulator(mounts, client).ask(LoggedRequest(os.fsencode(address).decode("latin-1"), method), file_name)


def heading(decision: Decision) -> str:
    """Returns the request in one line."""
    request, user = decision.request, decision.user
    return f"{request.method} {request.path}" + (f" as {user.username}" if user else "")


def to_text(decision: Decision, *, configured: bool, user: User | None = None) -> str:
    """Returns text for people: a heading, and the result of each step; with a configuration also mounts and access."""
    lines = [visible(heading(decision)), ""]
    for title, rows in sections(decision, user, configured=configured):
        if title in ("rewrites", "plan") and lines[-1]:
            lines.append("")
        lines += section(title, rows)
    return "\n".join([*lines, ""])


def sections(decision: Decision, user: User | None = None, *, configured: bool = True) -> Iterator[tuple[str, Rows]]:
    """Yields titles with their rows; of many rewrites that do not match, the nearest ones."""
    asset, match, rewriting = _asset(decision), decision.match, trace(decision)
    if asset is not None:
        yield "service", [(f"answers this itself if `{asset}` is a file of its pages; the rest is for other names",)]
    if match is not None:
        name, host = match.site.target.name, match.site.target.mount.host
        yield "target", [(f"{name}, mounted at {host}{match.mount}" if configured else name,)]
        if configured:
            rows: list[Sequence[str]] = []
            for check in decision.checks:
                covering, guard = _covering(decision, check), check.guard
                who = _GUARDS[type(guard)] + (f" of `{guard.provider}`" if isinstance(guard, SignedIn) else "")
                rows.append((check.path, who, f"by `{covering[0]}`" if covering else ""))
                rows += [("", "", f"`{other}` also covers it, but comes later") for other in covering[1:]]
            if user is not None and decision.user is None and rewriting is not None:
                rows.append((f"no sign-in is required, so templates do not see the user `{user.username}`",))
            yield "access", rows
    if match is not None and rewriting is not None:
        yield "key", [(rewriting.key,)]
        yield from _rewriting(rewriting, match.site.rules.counted)
    yield "plan", plan_rows(decision.plan)


def plan_rows(attempts: plan.Plan) -> Rows:
    """Returns the attempts of a plan as rows."""
    return [(_name(attempt), _words(attempt)) for attempt in attempts]


def _asset(decision: Decision) -> str | None:
    """Returns the name of the asset of pages that a request may ask for."""
    request = decision.request
    _, directory, name = request.path.rpartition(ASSETS_AT)
    return name if directory and request.method in READING else None


def _covering(decision: Decision, check: AccessCheck) -> list[str]:
    """Returns the paths of all resources that cover a path, in order: the first of them decides."""
    assert decision.match is not None
    return [each.path for each in decision.match.site.access.covering(check, decision.request.method)]


_Rules = tuple[Counted, ...]

_GUARDS = {Anyone: "anyone", SignedIn: "users", Nobody: "nobody"}


def _rewriting(rewriting: RewriteTrace, rewrites: _Rules) -> Iterator[tuple[str, Rows]]:
    yield "rewrites", [*_tries(rewriting, rewrites)] or [("none",)]
    matched = rewriting.matched
    if matched is not None and rewriting.captures is not None:
        yield "groups", group_rows(rewriting.captures)
        if matched.result_text:
            yield "template", [(matched.result_text, f"({matched.dialect.value})")]
    if rewriting.result is not None:
        yield "result", [(rewriting.result or "(empty)",)]
    elif matched is None:
        yield "result", [("unchanged",)]
    if rewriting.rewritten is not None and rewriting.rewritten not in (rewriting.result, rewriting.key):
        yield "new key", [(rewriting.rewritten,)]
    if rewriting.object_key is not None:
        yield "object key", [(rewriting.object_key or _WHOLE_BUCKET,)]
    if rewriting.failure is not None:
        yield "error", [(_status(rewriting.failure.status, rewriting.failure.reason),)]


def _tries(rewriting: RewriteTrace, rewrites: _Rules) -> Iterator[Sequence[str]]:
    misses, unshown, untried = _misses(rewriting, rewrites)
    for each, miss in misses:
        yield "·", each.label, each.source_text, "no match", each.span.place
        if miss is not None:
            yield "", "", in_words(miss)
    if matched := rewriting.matched:
        yield "✓", matched.label, matched.source_text, "matched", matched.span.place
    if unshown:
        yield "", f"{unshown} more{' before these' if matched else ''}, no match"
    if untried:
        yield "", f"{len(untried)} more, not tried"


def _misses(rewriting: RewriteTrace, rewrites: _Rules) -> tuple[list[tuple[Counted, NearMiss | None]], int, _Rules]:
    """Returns rewrites that do not match, with how far they do, how many others do not, and those that are not tried.

    Of many, they are those that take most of the key.
    """
    end = rewriting.matched.number if rewriting.matched else len(rewrites)
    missed = rewrites[: end - 1 if rewriting.matched else end]

    def missing(rule: Counted) -> NearMiss | None:
        return near_miss(rule.pattern.text, rewriting.key) if isinstance(rule, Rewrite) else None

    def alike(rule: Counted) -> int:
        """Returns how many characters of a source, read as text, are those at the start of the key."""
        text = rule.source_text.removeprefix("^").replace("\\", "")
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, rewriting.key, strict=False)))

    if len(missed) <= MOST_MISSES:
        return [(each, missing(each)) for each in missed], 0, rewrites[end:]
    compared = [(each, missing(each)) for each in nlargest(MOST_COMPARED, missed, alike)]
    nearest = nlargest(NEAREST_SHOWN, compared, key=lambda each: len(each[1].taken) if each[1] else 0)
    return sorted(nearest, key=lambda each: each[0].number), len(missed) - len(nearest), rewrites[end:]


def _status(status: int, reason: str) -> str:
    return f"{status} {HTTPStatus(status).phrase}: {reason}"


# The names in reports, which stay as they are.
_REPORTED_AS = {plan.RedirectToSignedUrl: "sign", plan.OfferForm: "presign"}


def _name(attempt: plan.Attempt) -> str:
    return _REPORTED_AS.get(type(attempt)) or re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(attempt).__name__).lower()


_WORDS: Mapping[type, str] = {
    plan.ReadForm: "the rest depends on the file's name, which `--file-name` gives",
    plan.Receive: "{0.key}, available at {0.location}",
    plan.RedirectToSignedUrl: "{0.key}, for {0.expires} seconds",
    plan.OfferForm: "{0.key}, for {0.expires} seconds",
    plan.VisitProvider: "the {0.step} page of `{0.provider}`",
    plan.ListTargets: "the page of all targets",
}


def _words(attempt: plan.Attempt) -> str:
    match attempt:
        case plan.Browse():
            return (attempt.prefix or _WHOLE_BUCKET) + (", even if it is empty" if attempt.root else "")
        case plan.Redirect():
            below = "" if attempt.below is None else f", if anything lies below {attempt.below}"
            return f"{attempt.status} {attempt.location}{below}"
        case plan.Refuse():
            return _status(attempt.status, attempt.reason)
    return _WORDS.get(type(attempt), "{0.key}").format(attempt)


def to_json(decision: Decision) -> dict[str, Any]:
    """Returns all data for programs; a version only adds fields."""
    request, user, match, rewriting = decision.request, decision.user, decision.match, trace(decision)
    attempts = []
    # Version 1 has an empty plan for an upload whose file is not named.
    for attempt in (each for each in decision.plan if not isinstance(each, plan.ReadForm)):
        fields = asdict(attempt)
        for name in ("challenge", "location", "message") if isinstance(attempt, plan.Refuse) else ():
            fields.pop(name)  # data that is only sent to a client
        paths = fields.pop("paths", ())
        if isinstance(attempt, plan.Serve):
            assert match is not None
            name = f"/{match.site.target.actions.get.index_document}"
            fields |= {"index": bool(paths) and paths[-1].endswith(name), "paths": list(paths)}
        attempts.append({"attempt": _name(attempt), **fields})
    checks = [
        {
            "path": each.path,
            "guard": _GUARDS[type(each.guard)],
            "provider": each.guard.provider if isinstance(each.guard, SignedIn) else None,
            "resources": _covering(decision, each),
        }
        for each in (decision.checks if match else ())
    ]
    return {
        "version": JSON_VERSION,
        "request": {
            "method": request.method,
            "path": request.path,
            "host": request.host,
            "query": request.raw_query,
            "user": user.username if user else None,
        },
        "asset": _asset(decision),
        "target": match and {"name": match.site.target.name, "mount": match.mount},
        "access": checks,
        "rewriting": _rewriting_json(rewriting, match.site.rules.counted) if rewriting and match else None,
        "plan": attempts,
    }


def _rewriting_json(rewriting: RewriteTrace, rewrites: _Rules) -> dict[str, Any]:
    failure, matched = rewriting.failure, rewriting.matched
    misses, unshown, untried = _misses(rewriting, rewrites)

    def shown(rule: Rule | Counted, outcome: str, **more: object) -> dict[str, Any]:
        return {**rewrite_json(rule), "outcome": outcome, "groups": None, "near_miss": None, **more}

    rules = [shown(each, "no match", near_miss=miss and asdict(miss)) for each, miss in misses]
    if matched is not None and (rewriting.captures is not None or isinstance(matched, ListedAddress)):
        rules.append(shown(matched, "matched", groups=rewriting.captures and groups_json(rewriting.captures)))
    rules += [shown(each, "not tried") for each in untried[:NEAREST_SHOWN]]
    return {
        "key": rewriting.key,
        "rewrites": rules,
        "unshown": {"no_match": unshown, "not_tried": max(0, len(untried) - NEAREST_SHOWN)},
        "result": rewriting.result,
        "rewritten_key": rewriting.rewritten,
        "object_key": rewriting.object_key,
        "error": failure and {"status": failure.status, "message": failure.reason},
    }


class NearMiss(msgspec.Struct, frozen=True):
    """The extent of a failed match: `part` of the source matches, at the latest in the key's beginning `taken`.

    `stopped` is the next part of the source, which does not match; `rest` is the text of the key at that place.
    """

    part: str
    taken: str
    stopped: str
    rest: str


def near_miss(source: str, key: str) -> NearMiss | None:
    """Returns how far a source matches a key; None if it matches the key."""
    progress = longest_matching_part(source, key)
    if progress.failing is None:
        return None
    (start, end), (first, last), reached = progress.part, progress.failing, progress.reached
    return NearMiss(source[start:end], key[:reached], source[first:last], key[reached:])


def in_words(miss: NearMiss) -> str:
    """Returns a near miss as a line."""
    stopped = f"`{shortened(miss.stopped, LONGEST_NEAR_MISS)}`"
    if not miss.part:
        return f"{stopped} does not occur in the key"
    taken = f" up to `{_ending(miss.taken)}`" if miss.taken else ""
    met = f"`{shortened(miss.rest, LONGEST_NEAR_MISS)}`" if miss.rest else "the end of the key"
    return f"`{_ending(miss.part)}` matches{taken}, then {stopped} meets {met}"


def _ending(text: str) -> str:
    return text if len(text) <= LONGEST_NEAR_MISS else f"…{text[-LONGEST_NEAR_MISS:]}"


class Usage(msgspec.Struct):
    """What a log's requests use of the rules of some sites: a request may count for its rewrite and as an error.

    `top` is the number of paths and reasons to list.
    """

    sites: Sequence[Site]
    log: RequestLog
    top: int
    # By target and number, None: no rewrite.
    rewrites: Counter[tuple[str, int | None]] = msgspec.field(default_factory=Counter)
    unmatched: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)  # by target and path
    errors: Counter[tuple[int, str]] = msgspec.field(default_factory=Counter)  # by status and reason
    examples: dict[tuple[int, str], str] = {}  # a path for each of them
    left_out: int = 0  # uploads: a log has no names of files

    def count(self, decision: Decision, times: int) -> None:
        """Counts a request that was made several times."""
        path, first = decision.request.path, decision.plan[0]
        if decision.match is not None and decision.data is not None:
            name = decision.match.site.target.name
            number = decision.rewrite.number if decision.rewrite else None
            self.rewrites[name, number] += times
            if number is None:
                self.unmatched[name, path] += times
        if isinstance(first, Refuse):
            # A failure is counted by its own text: the rewrite is known by its number.
            error = first.status, str(decision.failure or first.reason)
            self.errors[error] += times
            self.examples.setdefault(error, path)
        if isinstance(first, ReadForm):
            self.left_out += times

    def of_target(self, name: str) -> int:
        """Returns the number of requests that reached the rules of a target."""
        return sum(times for (target, _), times in self.rewrites.items() if target == name)

    def most_unmatched(self, name: str) -> list[tuple[str, int]]:
        """Returns the most frequent paths of a target that no rewrite took."""
        paths = [(path, times) for (target, path), times in self.unmatched.items() if target == name]
        return sorted(paths, key=lambda each: (-each[1], each[0]))[: self.top]


def count_usage(simulator: Simulator, log: RequestLog, top: int) -> Usage:
    """Counts the results of a log's requests."""
    usage = Usage(simulator.mounts.sites, log, top)
    for request, times in log.requests.items():
        usage.count(simulator.ask(request), times)
    return usage


def usage_text(usage: Usage) -> str:
    """Returns text for people: the log, then each target with its rewrites, then the errors."""
    log = usage.log
    rows = [(f"{log.total:,}, {len(log.requests):,} distinct",)]
    if log.strange:
        rows.append((log.strange_lines,))
    if usage.left_out:
        rows.append((f"{usage.left_out:,} left out: {UPLOAD}",))
    blocks = [list(section("requests", rows))]
    for site in usage.sites:
        name, total = site.target.name, usage.of_target(site.target.name)
        rewrites = [
            (*_share(usage.rewrites[name, each.number], total), each.label, each.source_text, each.span.place)
            for each in site.rules.counted
        ]
        lines = [*section("target", [(f"{name}: {counted(total, 'request')}",)]), *section("rewrites", rewrites)]
        lines += section("no rewrite", [_share(usage.rewrites[name, None], total)])
        blocks.append([*lines, *section("", [(f"{times:>9,}", path) for path, times in usage.most_unmatched(name)])])
    if usage.errors:
        errors: list[Sequence[str]] = [
            (f"{times:>9,}", str(status), reason, f"for example {usage.examples[status, reason]}")
            for (status, reason), times in usage.errors.most_common(usage.top)
        ]
        more = len(usage.errors) - usage.top
        blocks.append([*section("refused", errors + ([("", f"{more} more reasons")] if more > 0 else []))])
    return "\n\n".join("\n".join(lines) for lines in blocks) + "\n"


def _share(times: int, total: int) -> tuple[str, str]:
    return f"{times:>9,}", f"{100 * times / total if total else 0:5.1f} %"


def usage_json(usage: Usage) -> dict[str, Any]:
    """Returns the counts for programs; a version only adds fields."""
    taken = usage.rewrites
    return {
        "version": JSON_VERSION,
        "requests": {**usage.log.counts, "left_out": usage.left_out},
        "targets": [
            {
                "name": name,
                "requests": usage.of_target(name),
                "rewrites": [{**rewrite_json(each), "requests": taken[name, each.number]} for each in rewrites],
                "unmatched": {
                    "requests": taken[name, None],
                    "paths": [{"path": path, "requests": times} for path, times in usage.most_unmatched(name)],
                },
            }
            for name, rewrites in ((site.target.name, site.rules.counted) for site in usage.sites)
        ],
        "refused": [
            {"status": status, "reason": reason, "requests": times, "example": usage.examples[status, reason]}
            for (status, reason), times in usage.errors.most_common()
        ],
    }
