"""The stage of an edit: what is known of it, what its counts say, and which clients it answers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from hashlib import sha256
from math import exp, lgamma
from typing import Literal, NamedTuple

import msgspec

from tornado_proxy.config.server import PromoteIf, Reload
from tornado_proxy.rules.diagnostic import counted
from tornado_proxy.telemetry.staging import Answers, StagedCounts

_SECOND_STEP = 0.25  # of the clients
FEWEST = 20  # requests that a generation must have answered before it is judged
BY_OPERATOR = "an operator discarded it"  # a reason that is no mistake
CHANCE = 0.01  # the probability that an edit that is no worse is found worse, over all looks of its stage
_GROWTH = 1.25  # of the requests from one look to the next

_RATES = (
    ("server_errors", "answers with 5xx"),
    ("missing", "answers with 404"),
    ("client_errors", "answers with another 4xx"),
)


class Looks(msgspec.Struct, frozen=True):
    """How often the answers were compared, and the requests of the new generation at the last time."""

    number: int = 0
    requests: int = 0

    def are_due(self, requests: int) -> bool:
        """Whether there are enough further requests for another look."""
        return requests >= max(FEWEST, _GROWTH * self.requests)


class Stage(msgspec.Struct, frozen=True):
    """The last edit that was staged; `counts` are its final ones, empty while it is staged."""

    number: int  # of the generation
    digest: str
    since: float  # Unix time, seconds
    lasts: float  # seconds of each step
    changes: tuple[str, ...] = ()
    state: Literal["staged", "promoted", "discarded"] = "staged"
    reasons: tuple[str, ...] = ()  # why it was discarded
    counts: StagedCounts = msgspec.field(default_factory=StagedCounts)
    share: float = 0.0  # of the clients that it answers
    step_since: float = 0.0  # Unix time, seconds, at which it began to answer them; 0 if it answers none
    looks: Looks = msgspec.field(default_factory=Looks)

    @property
    def until(self) -> float:
        """The end of the step, as Unix time in seconds."""
        return (self.step_since or self.since) + self.lasts


class StageMark(msgspec.Struct, frozen=True):
    """A stage as a restart must know it: the edit on disk is staged, or was discarded for `reasons`."""

    digest: str
    since: float  # Unix time, seconds
    reasons: tuple[str, ...] = ()


class StageVerdict(NamedTuple):
    """What becomes of a staged edit: it is discarded for `reasons`, answers a `share` of the clients, or waits."""

    share: float = 0.0  # 1 puts it in force
    reasons: tuple[str, ...] = ()


WAIT, PROMOTE = StageVerdict(), StageVerdict(1.0)


def verdict(stage: Stage, counts: StagedCounts, settings: Reload, now: float) -> StageVerdict:
    """Decides about a staged edit at a Unix time in seconds."""
    if not stage.share:
        if now < stage.until:
            return WAIT
        if reasons := tuple(_unmet(counts, settings.promote_if)):
            return StageVerdict(reasons=reasons)
        return StageVerdict(settings.canary / 100) if settings.canary else PROMOTE
    new = counts.answers.get(stage.number, Answers())
    old = reduce(Answers.added, (each for number, each in counts.answers.items() if number != stage.number), Answers())
    if stage.looks.are_due(new.requests) and (worse := objections(old, new, stage.looks.number + 1)):
        return StageVerdict(reasons=worse)
    # However long a step lasts: nobody can judge an edit that has answered too few requests.
    if now < stage.until or new.requests < FEWEST:
        return WAIT
    return StageVerdict(_SECOND_STEP) if stage.share < _SECOND_STEP else PROMOTE


def _unmet(counts: StagedCounts, conditions: PromoteIf) -> Iterator[str]:
    if counts.requests < conditions.requests:
        yield f"{counted(counts.requests, 'request')} of {conditions.requests} were compared"
    if (failing := counts.kinds["error"]) > conditions.errors:
        yield f"{counted(failing, 'request')} would fail"
    missing, present = counts.samples["missing"], counts.samples["present"]
    if missing and 100 * missing > conditions.missing_percent * (missing + present):
        absent = counted(missing, "does not exist", "do not exist")
        yield f"of {counted(missing + present, 'new key')} asked for, {absent}"


def chance_of_more(old: tuple[int, int], new: tuple[int, int]) -> float:
    """Returns the one-sided p-value of Fisher's exact test; both are a count and the requests that it is of.

    It is the probability that, of all that were counted, as many or more fall to the new one by chance.
    """
    (few, before), (many, after) = old, new
    of_both, requests = few + many, before + after
    whole = _log_choose(requests, of_both)
    most = min(of_both, after)
    least = max(many, of_both - before)
    terms = (_log_choose(after, each) + _log_choose(before, of_both - each) - whole for each in range(least, most + 1))
    return min(1.0, sum(map(exp, terms)))


def _log_choose(whole: int, part: int) -> float:
    return lgamma(whole + 1) - lgamma(part + 1) - lgamma(whole - part + 1)


def objections(old: Answers, new: Answers, look: int) -> tuple[str, ...]:
    """Returns in what a generation answers worse beyond chance, at a look that is counted from 1.

    The looks share `CHANCE` as 1/2, 1/6, 1/12 and so on, whose sum is 1; the rates share each part (Bonferroni).
    """
    level = CHANCE / (look * (look + 1)) / len(_RATES)
    return tuple(
        f"{after} of {new.requests} {name}, {before} of {old.requests} without the edit"
        for rate, name in _RATES
        for before, after in [(getattr(old, rate), getattr(new, rate))]
        if after and chance_of_more((before, old.requests), (after, new.requests)) < level
    )


def place_of(client: str, digest: str) -> float:
    """Returns the place of a client in [0, 1): always the same for one edit, another one for the next.

    A client whose place is below 0.05 is one of the first 5 %, and stays among the first 25 %.
    """
    hashed = sha256(f"{digest} {client}".encode()).digest()[:8]
    # 53 bits are what a float holds: one more could round up to 1.
    return (int.from_bytes(hashed, "big") >> 11) / 2**53
