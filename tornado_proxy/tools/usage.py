"""What a log's requests make of the rules: how often each rewrite takes a key, what none takes, what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from tornado_proxy.tools.asking import UPLOAD, Answer, Asker
from tornado_proxy.tools.parallel import in_portions
from tornado_proxy.tools.traffic import Request, Traffic


@dataclass(slots=True)
class Usage:
    """Counts of requests; a request may be counted for its rewrite and as refused."""

    rewrites: Counter[tuple[str, int | None]] = field(default_factory=Counter)  # by target and number, None: no rewrite
    unmatched: Counter[tuple[str, str]] = field(default_factory=Counter)  # by target and path
    refused: Counter[tuple[int, str]] = field(default_factory=Counter)  # by status and reason
    examples: dict[tuple[int, str], str] = field(default_factory=dict)  # a path for each of them
    left_out: int = 0  # uploads, of which nothing can be said

    def count(self, answer: Answer, times: int) -> None:
        """Count what became of a request that was made so many times."""
        if answer.asked and answer.target is not None:
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


def count_usage(asker: Asker, traffic: Traffic, progress: Callable[[float], None]) -> Usage:
    """What becomes of all requests of a log; `progress` hears what part of them was asked for."""
    requests: Sequence[tuple[Request, int]] = list(traffic.requests.items())
    whole = Usage()
    for portion in in_portions(partial(_count, asker), requests, progress):
        whole.add(portion)
    return whole


def _count(asker: Asker, requests: Iterable[tuple[Request, int]]) -> Usage:
    usage = Usage()
    for request, times in requests:
        usage.count(asker.ask(request), times)
    return usage
