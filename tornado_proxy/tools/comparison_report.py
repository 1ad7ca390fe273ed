"""The changes between two sets of rules, for people, for programs and for pull requests: what `diff` prints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tornado_proxy.lang.excerpt import visible
from tornado_proxy.rules.model import RuleSet
from tornado_proxy.rules.rewrite import Rewrite
from tornado_proxy.tools.asking import Answer
from tornado_proxy.tools.comparison import Cause, Change, Comparison, Group
from tornado_proxy.tools.showing import counted, rewrite_json
from tornado_proxy.tools.traffic import Traffic
from tornado_proxy.tools.usage_report import log_json, strange_lines

JSON_VERSION = 1
"""Counts the changes of the JSON form that a reader must know of; what is only added does not count."""

# What a code span within a table does not keep, and all that could be markup outside of one.
_AWKWARD = re.compile(r"[`|\\]|^ | $|^$")
_MARKUP = re.compile(r"[^\w/.]|_", re.ASCII)


@dataclass(frozen=True, slots=True)
class Report:
    """What is reported: the rule sets before and now, the log, and what changed for its requests."""

    old: Mapping[str, RuleSet]
    new: Mapping[str, RuleSet]
    traffic: Traffic
    comparison: Comparison

    def rewrites(self, cause: Cause) -> tuple[Rewrite | None, Rewrite | None]:
        """The rewrites that are responsible for a group: before, and now."""
        return _rewrite(self.old, cause.target, cause.old), _rewrite(self.new, cause.target, cause.new)


def _rewrite(rule_sets: Mapping[str, RuleSet], target: str, number: int | None) -> Rewrite | None:
    rewrites = rule_sets[target].rewrites if target in rule_sets else ()
    return next((each for each in rewrites if each.number == number), None)


def to_text(report: Report) -> Iterator[str]:
    """For people: the counts, then each group with its examples, as lines."""
    yield _summary(report)
    if report.traffic.strange:
        yield strange_lines(report.traffic)
    for cause, group in report.comparison.groups:
        old, new = report.rewrites(cause)
        yield ""
        yield visible(f"{cause.target}: {_placed(old)} → {_placed(new)}: {_counted(group)}")
        for change in group.examples:
            yield visible(f"  {_asked(change)}")
            yield visible(f"  - {outcome(change.old)}")
            yield visible(f"  + {outcome(change.new)}")
        if group.different > len(group.examples):
            yield f"  and {group.different - len(group.examples):,} more"


def _summary(report: Report) -> str:
    found, traffic = report.comparison, report.traffic
    if not found.groups:
        return f"no key changes: {counted(traffic.total)}, {len(traffic.requests):,} of them different"
    requests = f"{found.times:,} of {counted(traffic.total)}"
    return f"another key for {requests}, {found.different:,} of {len(traffic.requests):,} different ones"


def _counted(group: Group) -> str:
    requests = counted(group.times)
    return requests if group.different == group.times else f"{requests}, {group.different:,} different"


def _placed(rewrite: Rewrite | None) -> str:
    return f"{rewrite.label} ({rewrite.span.place})" if rewrite else "no rewrite"


def _asked(change: Change) -> str:
    """The request of a change: its path, with what tells it from others that ask for the same path."""
    request = change.request
    query = f"?{found}" if (found := request.address.partition("?")[2]) else ""
    method = "" if request.method == "GET" else f"{request.method} "
    user = f" as {request.user}" if request.user else ""
    times = f" ({change.times:,} times)" if change.times > 1 else ""
    return f"{method}{change.new.path}{query}{user}{times}"


def outcome(answer: Answer) -> str:
    """What a request gets: its key, or why it has none."""
    if answer.key is not None:
        return answer.key
    return f"({answer.status}: {answer.reason})" if answer.status else f"({answer.reason or 'redirected'})"


def to_json(report: Report) -> dict[str, Any]:
    """For programs: all groups with their examples, in a form that only grows within a version."""
    found = report.comparison
    return {
        "version": JSON_VERSION,
        "requests": log_json(report.traffic),
        "changed": {"total": found.times, "different": found.different},
        "groups": [_group_json(report, cause, group) for cause, group in found.groups],
    }


def _group_json(report: Report, cause: Cause, group: Group) -> dict[str, Any]:
    old, new = report.rewrites(cause)
    return {
        "target": cause.target,
        "old": old and rewrite_json(old),
        "new": new and rewrite_json(new),
        "requests": {"total": group.times, "different": group.different},
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


def _answer_json(answer: Answer) -> dict[str, Any]:
    key = answer.key
    return {"key": key, "status": None if key else answer.status, "reason": None if key else answer.reason or None}


def to_markdown(report: Report) -> Iterator[str]:
    """For a comment on a pull request: GitHub's and GitLab's Markdown, as lines."""
    yield f"### {_summary(report)}"
    if report.comparison.groups:
        yield ""
        yield from _table(
            ("target", "rewrite before", "rewrite now", "requests", "different"),
            (
                (
                    code(cause.target),
                    *map(_labelled, report.rewrites(cause)),
                    f"{group.times:,}",
                    f"{group.different:,}",
                )
                for cause, group in report.comparison.groups
            ),
        )
    for cause, group in report.comparison.groups:
        old, new = report.rewrites(cause)
        yield ""
        yield f"**{code(cause.target)}: {_labelled(old)} → {_labelled(new)}**"
        yield ""
        yield from _table(
            ("request", "before", "now", "times"),
            ((code(_path(each)), _result(each.old), _result(each.new), f"{each.times:,}") for each in group.examples),
        )
        if group.different > len(group.examples):
            yield ""
            yield f"and {group.different - len(group.examples):,} more"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for cells in (head, ("---",) * len(head), *rows):
        yield f"| {' | '.join(cells)} |"


def _labelled(rewrite: Rewrite | None) -> str:
    return f"{code(rewrite.label)} ({code(rewrite.span.place)})" if rewrite else "none"


def _number(count: int) -> str:
    return f"{count:,}"


def _path(change: Change) -> str:
    return _asked(change._replace(times=1))


def _result(answer: Answer) -> str:
    return code(answer.key if answer.key is not None else outcome(answer))


def code(text: str) -> str:
    """A text as code within a table: nothing in it is markup, whatever it is.

    A code span takes everything as it stands but for backticks, and within a table it is not agreed how pipes and
    backslashes stand in one; references to characters are never markup (CommonMark 2.5).
    """
    shown = visible(text)
    if not _AWKWARD.search(shown):
        return f"`{shown}`"
    return f"<code>{_MARKUP.sub(lambda found: f'&#{ord(found.group())};', shown)}</code>"
