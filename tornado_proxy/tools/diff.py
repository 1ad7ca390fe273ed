"""Compares two sets of rules, or two configurations, by the requests that are decided otherwise.

Changes are grouped by the part of the configuration that causes them; those of rules by the rewrites.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import asdict

from tornado_proxy.config.show import ChangedOption
from tornado_proxy.routing.compare import Kind, Reason, demands, difference, reads_unkept, reason, served_key
from tornado_proxy.routing.decide import Decision
from tornado_proxy.routing.mounts import Site
from tornado_proxy.routing.plan import Browse, ReadForm, Refuse
from tornado_proxy.routing.request import ObjectKey, RequestError
from tornado_proxy.rules.diagnostic import counted, visible
from tornado_proxy.rules.model import Counted
from tornado_proxy.tools.explain import plan_rows
from tornado_proxy.tools.rule_tests import JSON_VERSION, rewrite_json
from tornado_proxy.tools.simulator import UPLOAD, LoggedRequest, RequestLog, Simulator


class Cause(NamedTuple):
    """What makes requests change: a part of the configuration, and the targets before and after the edit.

    `old` and `new` are the numbers of the rewrites where the rules are the cause; None if no rewrite took the key.
    """

    reason: Reason
    old_target: str
    target: str
    old: int | None = None
    new: int | None = None


class Outcome(NamedTuple):
    """One of the two results of a request: a key, or a status with its reason; `text` has what its group compares."""

    text: str
    key: str | None = None
    status: int | None = None
    reason: str | None = None


class Change(NamedTuple):
    """A request that is decided otherwise, how often it was made, and both results; `path` is decoded."""

    request: LoggedRequest
    path: str
    times: int
    kind: Kind
    old: Outcome
    new: Outcome


class NewKey(NamedTuple):
    """An object that requests need after the edit, and did not need before."""

    target: str
    key: ObjectKey


class Need(NamedTuple):
    """How often a new key was requested, and one path of such a request."""

    times: int
    path: str


class KeyAnswers(msgspec.Struct, frozen=True):
    """What S3 says of new keys: of `total`, as many as `asked` were asked for; up to `examples` are shown.

    `unknown` counts keys by target and problem: they may exist, or not.
    """

    total: int
    asked: int
    missing: tuple[tuple[NewKey, Need], ...]
    unknown: Counter[tuple[str, str]]
    examples: int

    @property
    def document(self) -> dict[str, Any]:
        """The answers for programs."""
        return {
            "total": self.total,
            "asked": self.asked,
            "missing": [{**key._asdict(), "requests": need.times, "path": need.path} for key, need in self.missing],
            "unknown": [{"target": key[0], "problem": key[1], "keys": count} for key, count in self.unknown.items()],
        }

    def lines(self) -> Iterator[str]:
        """Yields lines for people."""
        asked = f"of {counted(self.total, 'new key')}"
        if self.asked < self.total:
            asked += f", the {self.asked:,} most requested were asked for:"
        doubt = f", {self.unknown.total():,} are unknown" if self.unknown else ""
        yield f"{asked} {counted(len(self.missing), 'does not exist', 'do not exist')}{doubt}"
        for key, need in self.missing[: self.examples]:
            times = f", {need.times:,} times" if need.times > 1 else ""
            yield visible(f"  {key.target}: {key.key} ({need.path}{times})")
        if len(self.missing) > self.examples:
            yield f"  and {len(self.missing) - self.examples:,} more"
        for (target, problem), count in self.unknown.items():
            yield visible(f"{target}: {counted(count, 'unknown key')}: {problem}")


class ChangeGroup(msgspec.Struct):
    """The changes of one cause: `times` counts requests, `distinct` each of them once; some are kept as examples."""

    times: int = 0
    distinct: int = 0
    examples: list[Change] = []

    def add(self, change: Change, most: int) -> None:
        """Adds a change; the most frequent requests stay as examples."""
        self.times += change.times
        self.distinct += 1
        self.examples = sorted([*self.examples, change], key=lambda each: -each.times)[:most]


def _numbered(site: Site | None, number: int | None) -> Counted | None:
    return next((each for each in site.rules.counted if each.number == number), None) if site else None


class Comparison(msgspec.Struct, dict=True):  # for the cached property
    """The requests that two servers decide otherwise, by their causes; up to `examples` of each cause are kept.

    `kinds` counts all requests, `keys` are those of objects that are new. `options` are those that an edit of a
    configuration changes, None if only rules are compared. `answers` are those of S3, None if it was not asked.
    """

    old: Simulator
    new: Simulator
    examples: int
    options: tuple[ChangedOption, ...] | None = None
    log: RequestLog = msgspec.field(default_factory=RequestLog)
    changes: dict[Cause, ChangeGroup] = {}
    keys: dict[NewKey, Need] = {}
    kinds: Counter[Kind] = msgspec.field(default_factory=Counter)
    refused: int = 0  # requests that are refused after the edit only
    answers: KeyAnswers | None = None

    @property
    def groups(self) -> Sequence[tuple[Cause, ChangeGroup]]:
        """The changes by their causes, the cause with the most requests first."""
        return sorted(self.changes.items(), key=lambda item: -item[1].times)

    @property
    def times(self) -> int:
        """The number of requests that change."""
        return sum(group.times for group in self.changes.values())

    @property
    def distinct(self) -> int:
        """The number of distinct requests that change."""
        return sum(group.distinct for group in self.changes.values())

    @property
    def summary(self) -> str:
        """The counts in a line."""
        what = "key" if self.options is None else "answer"
        total, distinct = counted(self.log.total, "request"), len(self.log.requests)
        if not self.changes:
            return f"no {what} changed: {total}, {distinct:,} distinct"
        return f"{what} changed: {self.times:,} of {total}, {self.distinct:,} of {distinct:,} distinct"

    def rewrites(self, cause: Cause) -> tuple[Counted | None, Counted | None]:
        """Returns the rules that are responsible for a group, before and after the edit."""
        old, new = self.old.sites.get(cause.old_target), self.new.sites.get(cause.target)
        return _numbered(old, cause.old), _numbered(new, cause.new)

    def compare(self, log: RequestLog) -> Comparison:
        """Adds the requests of a log; returns the comparison itself."""
        self.log = log
        for request, times in log.requests.items():
            self.add(request, times)
        return self

    def add(self, request: LoggedRequest, times: int) -> None:
        """Decides a request on both sides, and adds the difference."""
        both = self._decided(request)
        kind = self._kind(request, *both) if both else Kind.SAME
        self.kinds[kind] += times
        if both is None or kind in (Kind.SAME, Kind.UNKNOWN):
            return
        old, new = both
        why = reason(old, new)
        cause = Cause(why, _target(old), _target(new))
        if why is Reason.RULES:
            cause = cause._replace(old=_number(old), new=_number(new))
        path = old.request.path
        before, after = _outcome(why, old), _outcome(why, new)
        if before.text == after.text:
            before = before._replace(text=f"{before.text} {_detail(old, new)}")
            after = after._replace(text=f"{after.text} {_detail(new, old)}")
        change = Change(request, path, times, kind, before, after)
        self.changes.setdefault(cause, ChangeGroup()).add(change, self.examples)
        self.refused += times if new.is_refused and not old.is_refused else 0
        key = served_key(new)
        if key is not None and why not in (Reason.ACCESS, Reason.ACTIONS):
            need = self.keys.get(NewKey(cause.target, key), Need(0, path))
            self.keys[NewKey(cause.target, key)] = need._replace(times=need.times + times)

    @cached_property
    def _kept(self) -> frozenset[str]:
        """The names of targets that are the same but for their rules, which alone decide the keys of their requests."""
        before = {name: site.target for name, site in self.old.sites.items()}
        if any(each.mounts.provider_pages or each.mounts.target_list for each in (self.old, self.new)):
            return frozenset()
        targets = (each.target for each in self.new.mounts.sites)
        return frozenset(
            each.name
            for each in targets
            if each == before.get(each.name) and not (each.actions.get.user_isolation or each.actions.get.try_files)
        )

    def _decided(self, request: LoggedRequest) -> tuple[Decision, Decision] | None:
        """Returns both decisions; None if they are certainly the same."""
        try:
            asked = self.old.read(request)
        except RequestError:
            return None
        old, new = (each.mounts.find(asked.host, asked.path) for each in (self.old, self.new))
        # Most requests meet the same target and rewrite on both sides, and need no template to run.
        if old and new and old.key == new.key and old.site.target.name == new.site.target.name in self._kept:
            before, after = (each.site.rules.taker(each.key) for each in (old, new))
            if (before and before.making) == (after and after.making):
                return None
        return self.old.decide(request, asked), self.new.decide(request, asked)

    def _kind(self, request: LoggedRequest, old: Decision, new: Decision) -> Kind:
        kept = request.kept
        if kept is not None:
            # Whether the user of an earlier request meets other demands is not known.
            demanded = demands(self.new.mounts, kept) if kept.signed_in and not self.old.user(request) else []
            is_doubtful = bool(demanded) and demanded != demands(self.old.mounts, kept)
            if is_doubtful or reads_unkept(old) or reads_unkept(new):
                return Kind.UNKNOWN
        return difference(old, new)


def _target(decision: Decision) -> str:
    return decision.match.site.target.name if decision.match else ""


def _number(decision: Decision) -> int | None:
    return decision.rewrite.number if decision.rewrite else None


def _outcome(reason: Reason, decision: Decision) -> Outcome:
    first, key = decision.plan[0], str(decision.rewritten.key) if decision.rewritten else None
    if isinstance(first, Refuse):
        why = str(decision.failure) if decision.failure else first.reason
        return Outcome(f"({first.status}: {why})", None, first.status, why)
    told = UPLOAD if isinstance(first, ReadForm) else None
    text = key or f"({told or _steps(decision)})"
    if decision.rewritten and (moved := decision.rewritten.moved) and not moved.if_missing:
        return Outcome(f"({moved})", None)
    if reason is Reason.ACTIONS:
        text = f"({_steps(decision)})"
    if reason is Reason.MOUNT and decision.match:
        text = f"{_target(decision)}: {text}"
    if reason is Reason.BUCKET and decision.match:
        place = first.prefix if isinstance(first, Browse) else getattr(first, "key", "")
        text = f"s3://{decision.match.site.target.bucket.name}/{place}"
    return Outcome(text, key, reason=told)


def _steps(decision: Decision) -> str:
    steps = tuple(each for each in decision.plan if not isinstance(each, Refuse))
    return "; ".join(" ".join(row) for row in plan_rows(steps))


def _detail(decision: Decision, other: Decision) -> str:
    """Returns what the texts of two results leave out: fields of an attempt that differ, or the bucket's address."""
    for mine, theirs in zip(decision.plan, other.plan, strict=False):
        if type(mine) is not type(theirs):
            return f"then {' '.join(*plan_rows((mine,)))}"
        pairs = ((name, value, getattr(theirs, name)) for name, value in asdict(mine).items())
        if mine != theirs:
            return ", ".join(f"{name} {value}" for name, value, another in pairs if value != another)
    assert decision.match is not None, "only a bucket is left"
    return f"at {decision.match.site.target.bucket.s3_endpoint or 'AWS'}"


def to_text(report: Comparison) -> Iterator[str]:
    """Yields lines for people: the counts, the options, each group with its examples, then what S3 says of new keys."""
    yield report.summary
    if report.log.strange:
        yield report.log.strange_lines
    if report.refused:
        verb = "is" if report.refused == 1 else "are"
        yield f"{counted(report.refused, 'request')} would be refused that {verb} answered now"
    if unknown := report.kinds.get(Kind.UNKNOWN):
        yield f"{counted(unknown, 'request')} cannot be told: neither headers, query nor user are kept"
    if report.options:
        yield from ("", f"configuration: {counted(len(report.options), 'option')}")
        for option in report.options:
            yield from _listed(option.path, _value(option.old), _value(option.new))
    for cause, group in report.groups:
        distinct = "" if group.distinct == group.times else f", {group.distinct:,} distinct"
        yield from ("", visible(f"{_heading(report, cause)}: {counted(group.times, 'request')}{distinct}"))
        for change in group.examples:
            yield from _listed(_asked(change), change.old.text, change.new.text)
        if group.distinct > len(group.examples):
            yield f"  and {group.distinct - len(group.examples):,} more"
    if report.answers is not None:
        yield from ("", *report.answers.lines())


def _listed(what: str, old: str, new: str) -> Iterator[str]:
    yield visible(f"  {what}")
    yield visible(f"  - {old}")
    yield visible(f"  + {new}")


def _value(value: object) -> str:
    if value in (None, "", []):
        return "(none)"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _heading(report: Comparison, cause: Cause) -> str:
    if cause.reason is Reason.RULES:
        old, new = report.rewrites(cause)
        return f"{cause.target}: {_placed(old)} → {_placed(new)}"
    names = [name or "no target" for name in dict.fromkeys((cause.old_target, cause.target))]
    return f"{' → '.join(names)}: {cause.reason}"


def _placed(rewrite: Counted | None) -> str:
    return f"{rewrite.label} ({rewrite.span.place})" if rewrite else "no rewrite"


def _asked(change: Change) -> str:
    """Returns the request of a change: its path, method, query and user, without usual values."""
    request = change.request
    query = f"?{text}" if (text := request.address.partition("?")[2]) else ""
    method = "" if request.method == "GET" else f"{request.method} "
    user = f" as {request.user}" if request.user else ""
    times = f" ({change.times:,} times)" if change.times > 1 else ""
    return f"{method}{change.path}{query}{user}{times}"


def to_json(report: Comparison) -> dict[str, Any]:
    """Returns all groups with their examples for programs; a version only adds fields."""
    return {
        "version": JSON_VERSION,
        "requests": report.log.counts,
        "changed": {"total": report.times, "different": report.distinct, "refused": report.refused},
        "not_known": report.kinds.get(Kind.UNKNOWN, 0),
        "options": None if report.options is None else [each._asdict() for each in report.options],
        "groups": [_group_json(report, cause, group) for cause, group in report.groups],
        "new_keys": report.answers and report.answers.document,
    }


def _group_json(report: Comparison, cause: Cause, group: ChangeGroup) -> dict[str, Any]:
    old, new = report.rewrites(cause)
    return {
        "target": cause.target,
        "old_target": cause.old_target,
        "reason": cause.reason.value,
        "old": old and rewrite_json(old),
        "new": new and rewrite_json(new),
        "requests": {"total": group.times, "different": group.distinct},
        "examples": [
            {
                "method": each.request.method,
                "path": each.path,
                "query": each.request.address.partition("?")[2],
                "user": each.request.user or None,
                "requests": each.times,
                "kind": each.kind.value,
                "old": each.old._asdict(),
                "new": each.new._asdict(),
            }
            for each in group.examples
        ],
    }


def to_markdown(report: Comparison) -> Iterator[str]:
    """Yields lines of Markdown (GitHub's and GitLab's) for a comment on a pull request: the text as a coloured diff."""
    summary, *lines = to_text(report)
    yield f"### {summary}"
    if lines:
        # A line is coloured by its first character.
        text = "\n".join(line.removeprefix("  ") for line in lines).strip("\n")
        # Only a fence of as many backticks ends the block (CommonMark 4.5).
        longest = max(map(len, re.findall("`+", text)), default=0)
        fence = "`" * max(3, longest + 1)
        yield from ("", f"{fence}diff", text, fence)
