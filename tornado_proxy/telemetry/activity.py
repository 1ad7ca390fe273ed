"""The activity of processes for the status page: summed over processes, and sampled for its charts."""

from __future__ import annotations

from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import add, sub
from typing import TYPE_CHECKING

from tornado_proxy.rules.model import Rewrite, RuleSet
from tornado_proxy.telemetry.events import Bus, Refused, Served
from tornado_proxy.telemetry.metrics import SECONDS, RequestMetrics

if TYPE_CHECKING:
    from tornado_proxy.telemetry.exposition import Counts

SAMPLE_EVERY = 5.0  # seconds
SAMPLED = 15 * 60  # seconds that the charts show
MOST_REFUSED = 20
"""Refused requests that are kept of each kind: those that the client caused, and those that it did not."""

_LIVING = 10  # generations whose requests are still counted for their rewrites
_LONGEST = 300  # characters of a path and of a reason

Hits = Mapping[str, Sequence[int]]
"""For each target, the hits of its rewrites, in their order."""


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """A request that got an error; the path holds no query, and neither text is longer than a page can show."""

    at: float  # Unix time, seconds
    status: int
    method: str
    target: str | None
    path: str
    reason: str
    request_id: str

    @classmethod
    def of(cls, event: Refused) -> RefusedRequest:
        """Returns what is kept of an event."""
        asked = event.request
        texts = asked.path[:_LONGEST], event.reason[:_LONGEST]
        return cls(asked.at, event.status, asked.method, asked.target, *texts, asked.request_id)


@dataclass(frozen=True, slots=True)
class Tally:
    """Requests as numbers: answers by class (1xx to 5xx), durations by bucket of `SECONDS`, bytes of bodies."""

    classes: tuple[int, ...] = (0,) * 5
    buckets: tuple[int, ...] = (0,) * (len(SECONDS) + 1)
    sent: int = 0
    received: int = 0

    @property
    def requests(self) -> int:
        """The number of requests."""
        return sum(self.classes)

    def __add__(self, other: Tally) -> Tally:
        return self._joined(other, add)

    def __sub__(self, other: Tally) -> Tally:
        return self._joined(other, sub)

    def _joined(self, other: Tally, join: Callable[[int, int], int]) -> Tally:
        classes, buckets = map(join, self.classes, other.classes), map(join, self.buckets, other.buckets)
        return Tally(tuple(classes), tuple(buckets), join(self.sent, other.sent), join(self.received, other.received))

    def quantile(self, part: float) -> float | None:
        """Returns a quantile of the durations in seconds, by its bucket; None without requests."""
        wanted, before = part * sum(self.buckets), 0
        if not wanted:
            return None
        for (low, high), count in zip(pairwise((0, *SECONDS, SECONDS[-1])), self.buckets, strict=True):
            if before + count >= wanted:
                return low + (high - low) * (wanted - before) / count
            before += count
        return None


@dataclass(frozen=True, slots=True)
class Activity:
    """What a process did since it began; `hits` belong to the rewrites of a generation."""

    generation: int
    targets: Mapping[str, Tally] = field(default_factory=dict)
    hits: Hits = field(default_factory=dict)
    refused: tuple[RefusedRequest, ...] = ()  # the oldest first
    in_flight: int = 0

    @property
    def total(self) -> Tally:
        """The numbers of all targets."""
        return sum(self.targets.values(), Tally())


class RewriteHits:
    """Counts the hits of each rewrite; an unchanged rewrite keeps its count in the next generation.

    Each count is a list of one number, which the generations share: a request may end long after an edit.
    """

    def __init__(self, number: int, rule_sets: Mapping[str, RuleSet]) -> None:
        self._rule_sets: Mapping[str, RuleSet] = {}
        self._living: dict[int, dict[str, list[list[int]]]] = {}
        self.begin(number, rule_sets)

    @property
    def generation(self) -> int:
        """The number of the newest generation."""
        return next(reversed(self._living))

    def begin(self, number: int, rule_sets: Mapping[str, RuleSet]) -> None:
        """Counts for a new generation too."""
        latest = next(reversed(self._living.values()), {})
        counts: dict[str, list[list[int]]] = {}
        for target, rules in rule_sets.items():
            known, old = self._rule_sets.get(target), latest.get(target, [])
            if known is rules:
                counts[target] = old
                continue
            kept = dict(zip(_identities(known.rewrites), old, strict=True)) if known else {}
            counts[target] = [kept.get(each) or [0] for each in _identities(rules.rewrites)]
        self._rule_sets = rule_sets
        self._living[number] = counts
        while len(self._living) > _LIVING:
            del self._living[next(iter(self._living))]

    def count(self, generation: int, target: str, index: int, hits: int = 1) -> None:
        """Adds hits of a rewrite of a generation."""
        counts = self._living.get(generation)
        if counts is not None:
            counts[target][index][0] += hits

    def add(self, generation: int, hits: Hits) -> None:
        """Adds the hits of a whole process."""
        for target, counts in hits.items():
            for index, count in enumerate(counts):
                self.count(generation, target, index, count)

    def current(self) -> Hits:
        """Returns the counts of the newest generation's rewrites."""
        newest = self._living[self.generation]
        return {target: array("Q", [count for (count,) in counts]) for target, counts in newest.items()}


def _identities(rewrites: Iterable[Rewrite]) -> Iterator[tuple[str, str, int]]:
    """Yields the identity of each rewrite: its texts, and how many rewrites before it have the same."""
    seen: defaultdict[tuple[str, str], int] = defaultdict(int)
    for each in rewrites:
        texts = each.pattern.text, each.template.text
        yield *texts, seen[texts]
        seen[texts] += 1


class ActivityRecorder:
    """Records the activity of the process, with the hits of its rewrites."""

    def __init__(self, metrics: RequestMetrics, hits: RewriteHits) -> None:
        self._metrics = metrics
        self._hits = hits
        self._refused = {is_fault: deque[Refused](maxlen=MOST_REFUSED) for is_fault in (False, True)}

    def listen(self, bus: Bus) -> None:
        """Records the events of a bus."""
        bus.add(self._hit, Served, Refused)
        # Apart, so that neither a scanner's requests nor a bucket that is down hides the other kind.
        bus.add(lambda event: self._refused[event.status >= 500].append(event), Refused)

    def activity(self) -> Activity:
        """Returns the activity of the process."""
        refused = _latest(RefusedRequest.of(each) for kind in self._refused.values() for each in kind)
        tallies = {
            target: Tally(tuple(classes), tuple(buckets), sent, received)
            for target, classes, buckets, sent, received in self._metrics.by_target()
        }
        return Activity(self._hits.generation, tallies, self._hits.current(), refused, self._metrics.in_flight)

    def _hit(self, event: Served | Refused) -> None:
        asked = event.request
        if asked.rewrite_number is not None and asked.target is not None:
            self._hits.count(asked.generation, asked.target, asked.rewrite_number - 1)


@dataclass(frozen=True, slots=True)
class ProcessReport:
    """The counts of a process: the series of its metrics, and its activity. Can be pickled."""

    counts: Counts = ()
    activity: Activity = Activity(0)


class Activities:
    """Sums the activity of processes; the counts of ended processes stay."""

    def __init__(self, hits: RewriteHits) -> None:
        self._hits = hits  # of processes that have ended
        self._ended = Activity(hits.generation)

    def end(self, activity: Activity) -> None:
        """Keeps the activity of an ended process."""
        self._hits.add(activity.generation, activity.hits)
        self._ended = _added((self._ended, Activity(0, activity.targets, {}, activity.refused)))

    def with_living(self, living: Iterable[Activity]) -> Activity:
        """Returns the sums; the hits of a process that still has another generation are left out until it follows."""
        ended = Activity(self._hits.generation, self._ended.targets, self._hits.current(), self._ended.refused)
        return _added((ended, *living))


def _added(activities: Sequence[Activity]) -> Activity:
    """Returns the sums, with the hits of the generation of the first."""
    generation = activities[0].generation
    targets: dict[str, Tally] = {}
    hits: dict[str, list[int]] = {}
    for each in activities:
        for name, tally in each.targets.items():
            targets[name] = targets[name] + tally if name in targets else tally
        for name, counts in each.hits.items() if each.generation == generation else ():
            hits[name] = [*map(add, hits[name], counts)] if name in hits else [*counts]
    refused = _latest(one for each in activities for one in each.refused)
    return Activity(generation, targets, hits, refused, sum(each.in_flight for each in activities))


def _latest(refused: Iterable[RefusedRequest]) -> tuple[RefusedRequest, ...]:
    """Returns the last requests of each kind, the oldest first."""
    ordered = sorted(refused, key=lambda each: each.at)
    faults = [each for each in ordered if each.status >= 500][-MOST_REFUSED:]
    others = [each for each in ordered if each.status < 500][-MOST_REFUSED:]
    return tuple(sorted((*faults, *others), key=lambda each: each.at))


@dataclass(frozen=True, slots=True)
class Interval:
    """The activity between two samples; `end` is the Unix time in seconds of the later one."""

    end: float
    seconds: float
    tally: Tally
    in_flight: int


class ActivityHistory:
    """The samples of the last minutes; `since` is the time of the first one ever."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, Tally, int]] = deque(maxlen=round(SAMPLED / SAMPLE_EVERY) + 1)

    def add(self, at: float, activity: Activity) -> None:
        """Adds a sample; `at` is the Unix time in seconds."""
        if self._samples and at <= self._samples[-1][0]:
            self._samples.clear()  # the clock was set back
        self._samples.append((at, activity.total, activity.in_flight))

    def intervals(self) -> Iterator[Interval]:
        """Yields the intervals between the samples, the oldest first."""
        for (began, before, _), (ended, after, in_flight) in pairwise(self._samples):
            yield Interval(ended, ended - began, after - before, in_flight)
