"""What a log's requests make of the rules: how often each rewrite takes a key, what none takes, what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tornado_proxy.routing.mounts import Site
from tornado_proxy.tools.report_parts import counted, rewrite_json, section
from tornado_proxy.tools.request_log import LoggedRequest, RequestLog
from tornado_proxy.tools.simulator import UPLOAD, SimulatedAnswer, Simulator, in_portions

JSON_VERSION = 1
"""Counts the changes of the JSON form that a reader must know of; what is only added does not count."""


@dataclass(slots=True)
class Usage:
    """Counts of requests; a request may be counted for its rewrite and as refused."""

    rewrites: Counter[tuple[str, int | None]] = field(default_factory=Counter)  # by target and number, None: no rewrite
    unmatched: Counter[tuple[str, str]] = field(default_factory=Counter)  # by target and path
    refused: Counter[tuple[int, str]] = field(default_factory=Counter)  # by status and reason
    examples: dict[tuple[int, str], str] = field(default_factory=dict)  # a path for each of them
    left_out: int = 0  # uploads, of which nothing can be said

    def count(self, answer: SimulatedAnswer, times: int) -> None:
        """Count what became of a request that was made so many times."""
        if answer.reached and answer.target is not None:
            self.rewrites[answer.target, answer.number] += times
            if answer.number is None:
                self.unmatched[answer.target, answer.path] += times
        if answer.status is not None:
            refusal = (answer.status, answer.reason)
            self.refused[refusal] += times
            self.examples.setdefault(refusal, answer.path)
        if answer.reason == UPLOAD:
            self.left_out += times

    def add(self, other: Usage) -> None:
        """Count what another counted."""
        self.rewrites.update(other.rewrites)
        self.unmatched.update(other.unmatched)
        self.refused.update(other.refused)
        self.examples = other.examples | self.examples
        self.left_out += other.left_out


def count_usage(simulator: Simulator, log: RequestLog, progress: Callable[[float], None]) -> Usage:
    """What becomes of all requests of a log; `progress` hears what part of them was asked for."""
    requests: Sequence[tuple[LoggedRequest, int]] = list(log.requests.items())
    whole = Usage()
    for portion in in_portions(partial(_count, simulator), requests, progress):
        whole.add(portion)
    return whole


def _count(simulator: Simulator, requests: Iterable[tuple[LoggedRequest, int]]) -> Usage:
    usage = Usage()
    for request, times in requests:
        usage.count(simulator.ask(request), times)
    return usage


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What is reported: the sites that were asked, the log, its use of the rules, and how many paths are listed."""

    sites: Sequence[Site]
    log: RequestLog
    usage: Usage
    top: int

    def of_target(self, name: str) -> int:
        """How many requests came to the rules of a target."""
        return sum(times for (target, _), times in self.usage.rewrites.items() if target == name)

    def unmatched(self, name: str) -> list[tuple[str, int]]:
        """The paths of a target that no rewrite took, those that were asked for most often."""
        paths = [(path, times) for (target, path), times in self.usage.unmatched.items() if target == name]
        return sorted(paths, key=lambda each: (-each[1], each[0]))[: self.top]


def to_text(report: UsageReport) -> str:
    """For people: the log, then each target with its rewrites, then what was refused."""
    blocks = [_log(report.log, report.usage), *(_target(report, site) for site in report.sites)]
    if report.usage.refused:
        blocks.append(list(section("refused", list(_refusals(report)))))
    return "\n\n".join("\n".join(lines) for lines in blocks) + "\n"


def strange_lines(log: RequestLog) -> str:
    """How many lines of a log tell of no request."""
    if log.strange == 1:
        return f"one line holds no request: line {log.first_strange}"
    return f"{log.strange:,} lines hold no request; the first is line {log.first_strange}"


def _log(log: RequestLog, usage: Usage) -> list[str]:
    rows = [(f"{log.total:,}, {len(log.requests):,} of them different",)]
    if log.strange:
        rows.append((strange_lines(log),))
    if usage.left_out:
        rows.append((f"{usage.left_out:,} left out: {UPLOAD}",))
    return list(section("requests", rows))


def _target(report: UsageReport, site: Site) -> list[str]:
    name = site.target.name
    total = report.of_target(name)
    rows = [
        (*_share(report.usage.rewrites[name, each.number], total), each.label, each.pattern.text, each.span.place)
        for each in site.rules.rewrites
    ]
    lines = [*section("target", [(f"{name}: {counted(total)}",)]), *section("rewrites", rows)]
    unmatched = report.usage.rewrites[name, None]
    lines += section("no rewrite", [_share(unmatched, total)])
    return lines + list(section("", [(f"{times:>9,}", path) for path, times in report.unmatched(name)]))


def _share(times: int, total: int) -> tuple[str, str]:
    return f"{times:>9,}", f"{100 * times / total if total else 0:5.1f} %"


def _refusals(report: UsageReport) -> Iterator[Sequence[str]]:
    for (status, reason), times in report.usage.refused.most_common(report.top):
        yield f"{times:>9,}", str(status), reason, f"such as {report.usage.examples[status, reason]}"
    more = len(report.usage.refused) - report.top
    if more > 0:
        yield ("", f"{more} more reasons")


def to_json(report: UsageReport) -> dict[str, Any]:
    """For programs: the same counts, in a form that only grows within a version."""
    return {
        "version": JSON_VERSION,
        "requests": {**log_json(report.log), "left_out": report.usage.left_out},
        "targets": [_target_json(report, site) for site in report.sites],
        "refused": [
            {"status": status, "reason": reason, "requests": times, "example": report.usage.examples[status, reason]}
            for (status, reason), times in report.usage.refused.most_common()
        ],
    }


def log_json(log: RequestLog) -> dict[str, Any]:
    """What a log holds, for programs."""
    return {
        "total": log.total,
        "different": len(log.requests),
        "strange_lines": log.strange,
        "first_strange_line": log.first_strange,
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
