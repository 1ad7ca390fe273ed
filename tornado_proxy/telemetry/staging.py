"""Counts of what a staged generation would change; values that can be added and pickled.

An example has a method, a path and keys, and nothing else that a client sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from operator import add
from typing import NamedTuple

import msgspec

from tornado_proxy.routing.compare import Difference, Kind, Pair
from tornado_proxy.telemetry.events import Bus, ErrorServed, KeySampled, Served, Shadowed

MOST_PAIRS = 200  # pairs of rewrites that are counted by themselves; the differences of any more are counted as `OTHER`
MOST_EXAMPLES = 20  # examples that are kept of each kind

SAMPLES = ("present", "missing", "unknown")
"""What HEAD says of a new key; `unknown` if the bucket refuses to say, or fails."""

_LONGEST = 300  # characters of a path or a key
OTHER = Pair("", "other", "other")


class StagedExample(NamedTuple):
    """A request whose decision differs; of the kind `missing`, its new key does not exist."""

    kind: str
    method: str
    path: str
    old: str
    new: str


class Answers(NamedTuple):
    """The answers of a generation while clients have a staged one."""

    requests: int = 0
    client_errors: int = 0  # 4xx, but for 404
    missing: int = 0  # 404
    server_errors: int = 0
    seconds: float = 0.0

    def results(self) -> dict[str, int]:
        """Returns how many answers had which result."""
        failures = {"missing": self.missing, "client_error": self.client_errors, "server_error": self.server_errors}
        return {"ok": self.requests - sum(failures.values()), **failures}

    def added(self, other: Answers) -> Answers:
        """Returns the sum."""
        return Answers(*map(add, self, other))


class StagedCounts(msgspec.Struct, frozen=True):
    """What a staged generation would change, since it was staged."""

    generation: int = 0
    kinds: Counter[str] = msgspec.field(default_factory=Counter)
    pairs: Counter[tuple[str, Pair]] = msgspec.field(default_factory=Counter)
    examples: tuple[StagedExample, ...] = ()
    samples: Counter[str] = msgspec.field(default_factory=Counter)  # `present`, `missing`, `unknown`
    answers: Mapping[int, Answers] = {}  # by generation

    @property
    def requests(self) -> int:
        """The number of requests that were compared."""
        return self.kinds.total()

    def __add__(self, other: StagedCounts) -> StagedCounts:
        """Returns the sum; a report of an earlier stage counts nothing."""
        if self.generation != other.generation:
            return max(self, other, key=lambda each: each.generation)
        answers = {
            number: self.answers.get(number, Answers()).added(other.answers.get(number, Answers()))
            for number in {**self.answers, **other.answers}
        }
        return StagedCounts(
            self.generation,
            self.kinds + other.kinds,
            Counter(dict((self.pairs + other.pairs).most_common(MOST_PAIRS))),
            tuple(_few((*self.examples, *other.examples))),
            self.samples + other.samples,
            answers,
        )


def _few(examples: Iterable[StagedExample]) -> Iterable[StagedExample]:
    kept = Counter[str]()
    for each in dict.fromkeys(examples):
        kept[each.kind] += 1
        if kept[each.kind] <= MOST_EXAMPLES:
            yield each


class StagingCounter:
    """Counts the events about the staged generation in the process that answers requests."""

    def __init__(self) -> None:
        self._generations: tuple[int, int] | None = None  # the staged one, and the one in force
        self._reset()

    def _reset(self) -> None:
        self._kinds, self._samples, self._pairs = Counter[str](), Counter[str](), Counter[tuple[str, Pair]]()
        self._examples: dict[str, dict[StagedExample, None]] = {}
        self._answers: dict[int, Answers] | None = None  # None until the staged generation answers clients

    def listen(self, bus: Bus) -> None:
        """Counts the events of a bus."""
        bus.add(self._compare, Shadowed)
        bus.add(self._sample, KeySampled)
        bus.add(self._answer, Served, ErrorServed)

    def begin(self, staged: int, in_force: int) -> None:
        """Begins to count for a staged generation."""
        self._generations = staged, in_force
        self._reset()

    def compare_answers(self) -> None:
        """Begins to count answers by generation; the counts of earlier steps stay."""
        self._answers = self._answers or {}

    def end(self) -> None:
        """Ends counting."""
        self._generations = None

    def counts(self) -> StagedCounts | None:
        """Returns the counts; None if nothing is staged."""
        if self._generations is None:
            return None
        examples = tuple(each for kept in self._examples.values() for each in kept)
        kinds, pairs, samples = Counter(self._kinds), Counter(self._pairs), Counter(self._samples)
        return StagedCounts(self._generations[0], kinds, pairs, examples, samples, dict(self._answers or {}))

    def _compare(self, event: Shadowed) -> None:
        kind, pair = event.difference.kind, event.difference.pair
        self._kinds[kind.value] += 1
        if kind is not Kind.SAME:
            named = (kind.value, pair)
            self._pairs[named if named in self._pairs or len(self._pairs) < MOST_PAIRS else (kind.value, OTHER)] += 1
            self._keep(kind.value, event.difference)

    def _sample(self, event: KeySampled) -> None:
        if self._generations is None or event.generation != self._generations[0]:
            return
        result = "unknown" if event.exists is None else "present" if event.exists else "missing"
        self._samples[result] += 1
        if result == "missing":
            self._keep(result, event.difference)

    def _keep(self, kind: str, difference: Difference) -> None:
        kept = self._examples.setdefault(kind, {})
        if len(kept) < MOST_EXAMPLES:
            texts = (difference.path, difference.old, difference.new)
            kept[StagedExample(kind, difference.method, *(each[:_LONGEST] for each in texts))] = None

    def _answer(self, event: Served | ErrorServed) -> None:
        if self._answers is None or self._generations is None or event.request.generation not in self._generations:
            return
        status = event.status
        client, missing = int(400 <= status < 500 and status != 404), int(status == 404)
        one = Answers(1, client, missing, int(status >= 500), event.seconds)
        number = event.request.generation
        self._answers[number] = self._answers.get(number, Answers()).added(one)
