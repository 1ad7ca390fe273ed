"""Why a rewrite did not match: the longest leading part of its source that still did, and what stopped it."""

from __future__ import annotations

from dataclasses import dataclass

from tornado_proxy.lint.automata import language
from tornado_proxy.lint.automata.progress import longest_matching_part

_LONGEST = 40  # characters of a text that are shown


@dataclass(frozen=True, slots=True)
class NearMiss:
    """How far into a source a key gets: `part` of the source is found, last in the key's beginning `taken`.

    `stopped` is the part of the source that comes next and finds nothing; `rest` is what it meets in the key.
    """

    part: str
    taken: str
    stopped: str
    rest: str


def near_miss(source: str, key: str) -> NearMiss | None:
    """How far a key gets into a source that does not match it; None where that cannot be told exactly."""
    progress = longest_matching_part(language(source), key)
    if progress is None or progress.failing is None:
        return None
    (start, end), (first, last), reached = progress.part, progress.failing, progress.reached
    return NearMiss(source[start:end], key[:reached], source[first:last], key[reached:])


def in_words(miss: NearMiss) -> str:
    """A near miss in a line."""
    stopped = f"`{_opening(miss.stopped)}`"
    if not miss.part:
        return f"{stopped} is nowhere in the key"
    taken = f" up to `{_ending(miss.taken)}`" if miss.taken else ""
    met = f"`{_opening(miss.rest)}`" if miss.rest else "the key's end"
    return f"`{_ending(miss.part)}` matches{taken}, then {stopped} meets {met}"


def _opening(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _ending(text: str) -> str:
    return text if len(text) <= _LONGEST else f"…{text[-_LONGEST:]}"
