"""Prints how often each rewrite takes a key, the keys that no rewrite takes, and the requests that are errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from tornado_proxy.routing.decide import Decision
from tornado_proxy.routing.mounts import Site
from tornado_proxy.routing.plan import ReadForm, Refuse
from tornado_proxy.rules.diagnostic import counted
from tornado_proxy.tools.reporting import JSON_VERSION, log_json, rewrite_json, section, strange_lines
from tornado_proxy.tools.simulator import UPLOAD, RequestLog, Simulator

_OFTEN = 8192  # requests between two reports of progress


class Usage(msgspec.Struct):
    """Counts of requests; a request may be counted for its rewrite and as an error."""

    rewrites: Counter[tuple[str, int | None]] = msgspec.field(
        default_factory=Counter
    )  # by target and number, None: no rewrite
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


def count_usage(simulator: Simulator, log: RequestLog, progress: Callable[[float], None]) -> Usage:
    """Counts the results of a log's requests; `progress` is called with the part that is done, from 0 to 1."""
    usage = Usage()
    for number, (request, times) in enumerate(log.requests.items(), start=1):
        usage.count(simulator.ask(request), times)
        if number % _OFTEN == 0:
            progress(number / len(log.requests))
    return usage


class UsageReport(msgspec.Struct, frozen=True):
    """The sites, the log, its use of their rules, and the number of paths and reasons to list."""

    sites: Sequence[Site]
    log: RequestLog
    usage: Usage
    top: int

    def of_target(self, name: str) -> int:
        """Returns the number of requests that reached the rules of a target."""
        return sum(times for (target, _), times in self.usage.rewrites.items() if target == name)

    def unmatched(self, name: str) -> list[tuple[str, int]]:
        """Returns the most frequent paths of a target that no rewrite took."""
        paths = [(path, times) for (target, path), times in self.usage.unmatched.items() if target == name]
        return sorted(paths, key=lambda each: (-each[1], each[0]))[: self.top]


def to_text(report: UsageReport) -> str:
    """Returns text for people: the log, then each target with its rewrites, then the errors."""
    log, usage = report.log, report.usage
    rows = [(f"{log.total:,}, {len(log.requests):,} distinct",)]
    if log.strange:
        rows.append((strange_lines(log),))
    if usage.left_out:
        rows.append((f"{usage.left_out:,} left out: {UPLOAD}",))
    blocks = [list(section("requests", rows)), *(_target(report, site) for site in report.sites)]
    if report.usage.errors:
        blocks.append(list(section("refused", list(_errors(report)))))
    return "\n\n".join("\n".join(lines) for lines in blocks) + "\n"


def _target(report: UsageReport, site: Site) -> list[str]:
    name = site.target.name
    total = report.of_target(name)
    rows = [
        (*_share(report.usage.rewrites[name, each.number], total), each.label, each.pattern.text, each.span.place)
        for each in site.rules.rewrites
    ]
    lines = [*section("target", [(f"{name}: {counted(total, 'request')}",)]), *section("rewrites", rows)]
    unmatched = report.usage.rewrites[name, None]
    lines += section("no rewrite", [_share(unmatched, total)])
    return lines + list(section("", [(f"{times:>9,}", path) for path, times in report.unmatched(name)]))


def _share(times: int, total: int) -> tuple[str, str]:
    return f"{times:>9,}", f"{100 * times / total if total else 0:5.1f} %"


def _errors(report: UsageReport) -> Iterator[Sequence[str]]:
    for (status, reason), times in report.usage.errors.most_common(report.top):
        yield f"{times:>9,}", str(status), reason, f"for example {report.usage.examples[status, reason]}"
    more = len(report.usage.errors) - report.top
    if more > 0:
        yield ("", f"{more} more reasons")


def to_json(report: UsageReport) -> dict[str, Any]:
    """Returns the counts for programs; a version only adds fields."""
    return {
        "version": JSON_VERSION,
        "requests": {**log_json(report.log), "left_out": report.usage.left_out},
        "targets": [_target_json(report, site) for site in report.sites],
        "refused": [
            {"status": status, "reason": reason, "requests": times, "example": report.usage.examples[status, reason]}
            for (status, reason), times in report.usage.errors.most_common()
        ],
    }


def _target_json(report: UsageReport, site: Site) -> dict[str, Any]:
    name, rewrites = site.target.name, report.usage.rewrites
    return {
        "name": name,
        "requests": report.of_target(name),
        "rewrites": [{**rewrite_json(each), "requests": rewrites[name, each.number]} for each in site.rules.rewrites],
        "unmatched": {
            "requests": rewrites[name, None],
            "paths": [{"path": path, "requests": times} for path, times in report.unmatched(name)],
        },
    }
