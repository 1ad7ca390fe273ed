"""The use of the rules by a log's requests, for people and for programs: what `explain --requests` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tornado_proxy.routing.mounts import Site
from tornado_proxy.tools.asking import UPLOAD
from tornado_proxy.tools.showing import counted, rewrite_json, section
from tornado_proxy.tools.traffic import Traffic
from tornado_proxy.tools.usage import Usage

JSON_VERSION = 1
"""Counts the changes of the JSON form that a reader must know of; what is only added does not count."""


@dataclass(frozen=True, slots=True)
class Report:
    """What is reported: the sites that were asked, the log, its use of the rules, and how many paths are listed."""

    sites: Sequence[Site]
    traffic: Traffic
    usage: Usage
    top: int

    def of_target(self, name: str) -> int:
        """How many requests came to the rules of a target."""
        return sum(times for (target, _), times in self.usage.rewrites.items() if target == name)

    def unmatched(self, name: str) -> list[tuple[str, int]]:
        """The paths of a target that no rewrite took, those that were asked for most often."""
        paths = [(path, times) for (target, path), times in self.usage.unmatched.items() if target == name]
        return sorted(paths, key=lambda each: (-each[1], each[0]))[: self.top]


def to_text(report: Report) -> str:
    """For people: the log, then each target with its rewrites, then what was refused."""
    blocks = [_log(report.traffic, report.usage), *(_target(report, site) for site in report.sites)]
    if report.usage.refused:
        blocks.append(list(section("refused", list(_refusals(report)))))
    return "\n\n".join("\n".join(lines) for lines in blocks) + "\n"


def strange_lines(traffic: Traffic) -> str:
    """How many lines of a log tell of no request."""
    if traffic.strange == 1:
        return f"one line holds no request: line {traffic.first_strange}"
    return f"{traffic.strange:,} lines hold no request; the first is line {traffic.first_strange}"


def _log(traffic: Traffic, usage: Usage) -> list[str]:
    rows = [(f"{traffic.total:,}, {len(traffic.requests):,} of them different",)]
    if traffic.strange:
        rows.append((strange_lines(traffic),))
    if usage.left_out:
        rows.append((f"{usage.left_out:,} left out: {UPLOAD}",))
    return list(section("requests", rows))


def _target(report: Report, site: Site) -> list[str]:
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


def _refusals(report: Report) -> Iterator[Sequence[str]]:
    for (status, reason), times in report.usage.refused.most_common(report.top):
        yield f"{times:>9,}", str(status), reason, f"such as {report.usage.examples[status, reason]}"
    more = len(report.usage.refused) - report.top
    if more > 0:
        yield ("", f"{more} more reasons")


def to_json(report: Report) -> dict[str, Any]:
    """For programs: the same counts, in a form that only grows within a version."""
    return {
        "version": JSON_VERSION,
        "requests": {**log_json(report.traffic), "left_out": report.usage.left_out},
        "targets": [_target_json(report, site) for site in report.sites],
        "refused": [
            {"status": status, "reason": reason, "requests": times, "example": report.usage.examples[status, reason]}
            for (status, reason), times in report.usage.refused.most_common()
        ],
    }


def log_json(traffic: Traffic) -> dict[str, Any]:
    """What a log holds, for programs."""
    return {
        "total": traffic.total,
        "different": len(traffic.requests),
        "strange_lines": traffic.strange,
        "first_strange_line": traffic.first_strange,
    }


def _target_json(report: Report, site: Site) -> dict[str, Any]:
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
