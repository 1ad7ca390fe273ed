"""Which requests change their key between two sets of rules, grouped by the rewrites that are responsible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from tornado_proxy.lang.tree import Dialect
from tornado_proxy.rules.model import RuleSet
from tornado_proxy.tools.asking import Answer, Asker
from tornado_proxy.tools.parallel import in_portions
from tornado_proxy.tools.traffic import Request, Traffic


class Cause(NamedTuple):
    """The rewrites that took a key before and now, by their numbers; None where no rewrite did."""

    target: str
    old: int | None
    new: int | None


class Change(NamedTuple):
    """A request that changes its key, and how often it was made."""

    request: Request
    old: Answer
    new: Answer
    times: int


@dataclass(slots=True)
class Group:
    """The changes of one cause: `times` counts requests, `different` each different one once; some as examples."""

    times: int = 0
    different: int = 0
    examples: list[Change] = field(default_factory=list)

    def add(self, other: Group, most: int) -> None:
        """Take in more changes of the same cause; the examples are those that were asked for most often."""
        self.times += other.times
        self.different += other.different
        self.examples = sorted(self.examples + other.examples, key=lambda each: -each.times)[:most]


Groups = dict[Cause, Group]


@dataclass(frozen=True, slots=True)
class Comparison:
    """All groups, the one with the most requests first."""

    groups: tuple[tuple[Cause, Group], ...] = ()

    @property
    def times(self) -> int:
        """How many requests change their key."""
        return sum(group.times for _, group in self.groups)

    @property
    def different(self) -> int:
        """How many different requests do."""
        return sum(group.different for _, group in self.groups)


class Comparer:
    """Asks two sets of rules behind the same mounts, and keeps so many examples of each group of changes."""

    def __init__(self, old: Asker, new: Asker, examples: int) -> None:
        self.examples = examples
        self._old, self._new = old, new
        self._pairs = {name: (_Taking(old.sites[name].rules), _Taking(new.sites[name].rules)) for name in old.sites}

    def compare(self, traffic: Traffic, progress: Callable[[float], None]) -> Comparison:
        """The requests of a log that change their key; `progress` hears what part of them was asked for."""
        requests: Sequence[tuple[Request, int]] = list(traffic.requests.items())
        whole: Groups = {}
        for portion in in_portions(partial(_groups, self), requests, progress):
            for cause, group in portion.items():
                whole.setdefault(cause, Group()).add(group, self.examples)
        return Comparison(tuple(sorted(whole.items(), key=lambda item: -item[1].times)))

    def change(self, request: Request, times: int) -> Change | None:
        """What changes for a request; None where its key, or the status that refuses it, stays."""
        located = self._old.locate(request)
        if isinstance(located, Answer):
            return None
        # Most requests are taken by a rewrite that is in both sets, or by none: nothing need be rendered.
        before, now = self._pairs[located.routed.site.target.name]
        if before.taken_by(located.routed.key) == now.taken_by(located.routed.key):
            return None
        old, new = self._old.ask_there(located, request), self._new.ask_there(located, request)
        if (old.key, old.key or old.status) == (new.key, new.key or new.status):
            return None
        return Change(request, old, new, times)


class _Taking:
    """Which rewrite of a rule set takes a key, by what it does, wherever it stands."""

    def __init__(self, rules: RuleSet) -> None:
        self._first_match = rules.first_match
        self._deeds = [(each.pattern.text, each.dialect, each.template.text) for each in rules.rewrites]

    def taken_by(self, key: str) -> tuple[str, Dialect, str] | None:
        found = self._first_match.find(key)
        return self._deeds[found[0]] if found else None


def _groups(comparer: Comparer, requests: Iterable[tuple[Request, int]]) -> Groups:
    found: dict[Cause, list[Change]] = {}
    for request, times in requests:
        change = comparer.change(request, times)
        if change is not None:
            cause = Cause(change.old.target or "", change.old.number, change.new.number)
            found.setdefault(cause, []).append(change)
    groups: Groups = {}
    for cause, changes in found.items():
        group = Group(sum(each.times for each in changes), len(changes))
        group.add(Group(examples=changes), comparer.examples)
        groups[cause] = group
    return groups
