"""Whether one generation answers worse than another beyond chance."""

from __future__ import annotations

from math import exp, lgamma

import msgspec

from tornado_proxy.telemetry.staging import Answers

FEWEST = 20
"""Requests that a generation must have answered before it is judged."""

CHANCE = 0.01
"""The probability that an edit that is no worse is found worse, over all looks of its stage."""

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


def chance_of_more(old: tuple[int, int], new: tuple[int, int]) -> float:
    """Returns the one-sided p-value of Fisher's exact test; both are a count and the requests that it is of.

    It is the probability that, of all that were counted, as many or more fall to the new one by chance.
    """
    (few, before), (many, after) = old, new
    counted, requests = few + many, before + after
    whole = _log_choose(requests, counted)
    most = min(counted, after)
    least = max(many, counted - before)
    terms = (_log_choose(after, each) + _log_choose(before, counted - each) - whole for each in range(least, most + 1))
    return min(1.0, sum(map(exp, terms)))


def _log_choose(whole: int, part: int) -> float:
    return lgamma(whole + 1) - lgamma(part + 1) - lgamma(whole - part + 1)


def objections(old: Answers, new: Answers, look: int) -> tuple[str, ...]:
    """Returns in what a generation answers worse beyond chance, at a look that is counted from 1.

    The looks share `CHANCE` as 1/2, 1/6, 1/12 and so on, whose sum is 1; the rates share each part (Bonferroni).
    """
    level = CHANCE / (look * (look + 1)) / len(_RATES)
    return tuple(
        f"{_percent(after, new.requests)} {name}, {_percent(before, old.requests)} without the edit"
        for rate, name in _RATES
        for before, after in [(getattr(old, rate), getattr(new, rate))]
        if after and chance_of_more((before, old.requests), (after, new.requests)) < level
    )


def _percent(part: int, whole: int) -> str:
    return f"{part} of {whole}"
