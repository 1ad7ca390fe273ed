"""What became of the items of a list: added, removed, changed, moved."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")

SHOWN = 5
"""So many of a kind are named; how many more there are is told."""


@dataclass(frozen=True, slots=True)
class Difference(Generic[Item]):
    """Items by what became of them, each as it is now, and those that were removed as they were.

    What is moved is as little as possible: of what stands in another order, the longest part that does not is left.
    """

    added: Sequence[Item]
    removed: Sequence[Item]
    changed: Sequence[Item]
    moved: Sequence[Item]

    def lines(self, kind: str, name: Callable[[Item], str]) -> Iterator[str]:
        """A line for each fate that any item had."""
        for fate in ("added", "removed", "changed", "moved"):
            items: Sequence[Item] = getattr(self, fate)
            if items:
                yield f"{kind} {fate}: {listed(items, name)}"


def difference(
    old: Sequence[Item],
    new: Sequence[Item],
    identity: Callable[[Item], Hashable],
    same: Callable[[Item, Item], bool] = lambda _old, _new: True,
) -> Difference[Item]:
    """The difference of two lists; one item is known by its `identity` in both, and has changed where it is not `same`.

    Of several with one identity, the first is that of the other list, and so on.
    """
    before, after = _by_identity(old, identity), _by_identity(new, identity)
    common = [each for each in after if each in before]
    order = {each: place for place, each in enumerate(before)}
    still = _longest_rise([order[each] for each in common])
    return Difference(
        added=[item for each, item in after.items() if each not in before],
        removed=[item for each, item in before.items() if each not in after],
        changed=[after[each] for each in common if not same(before[each], after[each])],
        moved=[after[each] for place, each in enumerate(common) if place not in still],
    )


def listed(items: Sequence[Item], name: Callable[[Item], str]) -> str:
    """The names of the first items, and how many more there are."""
    more = len(items) - SHOWN
    names = ", ".join(name(item) for item in items[:SHOWN])
    return f"{names} and {more} more" if more > 0 else names


def _by_identity(items: Sequence[Item], identity: Callable[[Item], Hashable]) -> dict[tuple[Hashable, int], Item]:
    seen: Counter[Hashable] = Counter()
    found: dict[tuple[Hashable, int], Item] = {}
    for item in items:
        known = identity(item)
        found[known, seen[known]] = item
        seen[known] += 1
    return found


def _longest_rise(places: Sequence[int]) -> frozenset[int]:
    """Where the members of a longest rising subsequence stand (patience sorting)."""
    tails: list[int] = []  # of rising subsequences by length, the smallest last place
    ends: list[int] = []  # where those stand
    before: list[int] = []  # for each place, where the one before it in its subsequence stands
    for at, place in enumerate(places):
        length = bisect_left(tails, place)
        tails[length : length + 1] = [place]
        ends[length : length + 1] = [at]
        before.append(ends[length - 1] if length else -1)
    rise = set()
    at = ends[-1] if ends else -1
    while at >= 0:
        rise.add(at)
        at = before[at]
    return frozenset(rise)
