"""Where a check failed: the rewrite with which it begins to, found by looking again at less and less."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from dataclasses import replace

from tornado_proxy.lang.source import Span
from tornado_proxy.lint.check import Check
from tornado_proxy.lint.subject import Subject, TargetRules
from tornado_proxy.rules.model import RuleSet


def culprit(check: Check, subject: Subject) -> Span | None:
    """The source of the rewrite that makes a check fail, else the name of a target, else nothing more is known."""
    if _fails(check, replace(subject, targets=())):
        return None
    failing = (target for target in subject.targets if _fails(check, replace(subject, targets=(target,))))
    target = next(failing, None)
    return None if target is None else _within(check, subject, target)


def _within(check: Check, subject: Subject, target: TargetRules) -> Span:
    """The place in a target: the last rewrite of the fewest, from the first on, with which the check fails."""
    counts = range(len(target.rewrites) + 1)
    count = bisect_left(counts, True, key=lambda n: _fails(check, replace(subject, targets=(_beginning(target, n),))))
    return target.rewrites[count - 1].statement.source.span if count else target.blocks[0].name.span


def _beginning(target: TargetRules, count: int) -> TargetRules:
    """A target that has only the first of its rewrites."""
    whole = target.rule_set
    return replace(target, rule_set=RuleSet(whole.target, whole.rewrites[:count], whole.tests))


def _fails(check: Check, subject: Subject) -> bool:
    try:
        deque(check.look(subject), maxlen=0)
    except Exception:  # noqa: BLE001 - whatever goes wrong is what is looked for
        return True
    return False
