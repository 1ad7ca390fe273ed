"""Compares two sets of rules by the requests whose key changes, grouped by rewrites."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from tornado_proxy.lang.diagnostic import counted
from tornado_proxy.lang.excerpt import visible
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.routing.mounts import Site
from tornado_proxy.routing.request import RequestError
from tornado_proxy.rules.model import Rewrite, RuleSet
from tornado_proxy.tools.reporting import JSON_VERSION, log_json, rewrite_json, strange_lines
from tornado_proxy.tools.simulator import LoggedRequest, RequestLog, SimulatedAnswer, Simulator, in_portions


class Cause(NamedTuple):
    """The numbers of the rewrites that took a key before and after the edit; None if no rewrite did."""

    target: str
    old: int | None
    new: int | None


class Change(NamedTuple):
    """A request that changes its key, and how often it was made."""

    request: LoggedRequest
    old: SimulatedAnswer
    new: SimulatedAnswer
    times: int


@dataclass(slots=True)
class ChangeGroup:
    """The changes of one cause: `times` counts requests, `distinct` each of them once; some are kept as examples."""

    times: int = 0
    distinct: int = 0
    examples: list[Change] = field(default_factory=list)

    def add(self, other: ChangeGroup, most: int) -> None:
        """Adds changes of the same cause; the most frequent requests stay as examples."""
        self.times += other.times
        self.distinct += other.distinct
        self.examples = sorted(self.examples + other.examples, key=lambda each: -each.times)[:most]


@dataclass(frozen=True, slots=True)
class DiffReport:
    """The changes of a log's requests by their causes, the cause with the most requests first.

    `old` and `new` are the sites before and after the edit.
    """

    old: Mapping[str, Site]
    new: Mapping[str, Site]
    log: RequestLog
    groups: tuple[tuple[Cause, ChangeGroup], ...] = ()

    @property
    def times(self) -> int:
        """The number of requests whose key changes."""
        return sum(group.times for _, group in self.groups)

    @property
    def distinct(self) -> int:
        """The number of distinct requests whose key changes."""
        return sum(group.distinct for _, group in self.groups)

    def rewrites(self, cause: Cause) -> tuple[Rewrite | None, Rewrite | None]:
        """Returns the rewrites that are responsible for a group, before and after the edit."""
        old, new = self.old[cause.target].rules.rewrites, self.new[cause.target].rules.rewrites
        return _numbered(old, cause.old), _numbered(new, cause.new)


def _numbered(rewrites: Iterable[Rewrite], number: int | None) -> Rewrite | None:
    return next((each for each in rewrites if each.number == number), None)


class Comparer:
    """Compares two sets of rules behind the same mounts; keeps up to `examples` requests of each group of changes."""

    def __init__(self, old: Simulator, new: Simulator, examples: int) -> None:
        self.examples = examples
        self._old, self._new = old, new

    def compare(self, log: RequestLog, progress: Callable[[float], None]) -> DiffReport:
        """Returns the requests whose key changes; `progress` is called with the part that is done, from 0 to 1."""
        whole: dict[Cause, ChangeGroup] = {}
        for portion in in_portions(partial(_groups, self), list(log.requests.items()), progress):
            for cause, group in portion.items():
                whole.setdefault(cause, ChangeGroup()).add(group, self.examples)
        groups = tuple(sorted(whole.items(), key=lambda item: -item[1].times))
        return DiffReport(self._old.sites, self._new.sites, log, groups)

    def change(self, request: LoggedRequest, times: int) -> Change | None:
        """Returns the change of a request; None if its key, or the status that refuses it, stays the same."""
        try:
            asked = self._old.read(request)
        except RequestError:
            return None
        match = self._old.mounts.find(asked.host, asked.path)
        if match is None:
            return None
        # Most requests are taken by a rewrite of both sets, or by no rewrite: then no template has to run.
        before, now = (each.sites[match.site.target.name].rules for each in (self._old, self._new))
        if _taker(before, match.key) == _taker(now, match.key):
            return None
        old, new = self._old.ask(request), self._new.ask(request)
        if (old.key, old.key or old.status) == (new.key, new.key or new.status):
            return None
        return Change(request, old, new, times)


def _taker(rules: RuleSet, key: str) -> tuple[str, Dialect, str] | None:
    """Returns the rewrite that takes a key; it is known by its text, not by its number."""
    if (number := rules.first_match.find(key)) is None:
        return None
    rewrite = rules.rewrites[number[0]]
    return rewrite.pattern.text, rewrite.dialect, rewrite.template.text


def _groups(comparer: Comparer, requests: Iterable[tuple[LoggedRequest, int]]) -> dict[Cause, ChangeGroup]:
    groups: dict[Cause, ChangeGroup] = {}
    for request, times in requests:
        change = comparer.change(request, times)
        if change is not None:
            cause = Cause(change.old.target or "", change.old.number, change.new.number)
            groups.setdefault(cause, ChangeGroup()).add(ChangeGroup(times, 1, [change]), comparer.examples)
    return groups


def to_text(report: DiffReport) -> Iterator[str]:
    """Yields lines for people: the counts, then each group with its examples."""
    yield _summary(report)
    if report.log.strange:
        yield strange_lines(report.log)
    for cause, group in report.groups:
        old, new = report.rewrites(cause)
        yield ""
        distinct = "" if group.distinct == group.times else f", {group.distinct:,} distinct"
        requests = counted(group.times, "request") + distinct
        yield visible(f"{cause.target}: {_placed(old)} → {_placed(new)}: {requests}")
        for change in group.examples:
            yield visible(f"  {_asked(change)}")
            yield visible(f"  - {outcome(change.old)}")
            yield visible(f"  + {outcome(change.new)}")
        if group.distinct > len(group.examples):
            yield f"  and {group.distinct - len(group.examples):,} more"


def _summary(report: DiffReport) -> str:
    log = report.log
    if not report.groups:
        return f"no key changed: {counted(log.total, 'request')}, {len(log.requests):,} distinct"
    requests = f"{report.times:,} of {counted(log.total, 'request')}"
    return f"key changed: {requests}, {report.distinct:,} of {len(log.requests):,} distinct"


def _placed(rewrite: Rewrite | None) -> str:
    return f"{rewrite.label} ({rewrite.span.place})" if rewrite else "no rewrite"


def _asked(change: Change) -> str:
    """Returns the request of a change: its path, method, query and user, without usual values."""
    request = change.request
    query = f"?{text}" if (text := request.address.partition("?")[2]) else ""
    method = "" if request.method == "GET" else f"{request.method} "
    user = f" as {request.user}" if request.user else ""
    times = f" ({change.times:,} times)" if change.times > 1 else ""
    return f"{method}{change.new.path}{query}{user}{times}"


def outcome(answer: SimulatedAnswer) -> str:
    """Returns the key of a request, or the reason why it has no key."""
    if answer.key is not None:
        return answer.key
    return f"({answer.status}: {answer.reason})" if answer.status else f"({answer.reason or 'redirected'})"


def to_json(report: DiffReport) -> dict[str, Any]:
    """Returns all groups with their examples for programs; a version only adds fields."""
    return {
        "version": JSON_VERSION,
        "requests": log_json(report.log),
        "changed": {"total": report.times, "different": report.distinct},
        "groups": [_group_json(report, cause, group) for cause, group in report.groups],
    }


def _group_json(report: DiffReport, cause: Cause, group: ChangeGroup) -> dict[str, Any]:
    old, new = report.rewrites(cause)
    return {
        "target": cause.target,
        "old": old and rewrite_json(old),
        "new": new and rewrite_json(new),
        "requests": {"total": group.times, "different": group.distinct},
        "examples": [
            {
                "method": each.request.method,
                "path": each.new.path,
                "query": each.request.address.partition("?")[2],
                "user": each.request.user or None,
                "requests": each.times,
                "old": _answer_json(each.old),
                "new": _answer_json(each.new),
            }
            for each in group.examples
        ],
    }


def _answer_json(answer: SimulatedAnswer) -> dict[str, Any]:
    key = answer.key
    return {"key": key, "status": None if key else answer.status, "reason": None if key else answer.reason or None}


def to_markdown(report: DiffReport) -> Iterator[str]:
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
