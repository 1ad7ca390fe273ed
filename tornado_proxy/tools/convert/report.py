"""What became of each option: the remarks of a conversion, and how it turned out as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from tornado_proxy.lang.source import Span


class Outcome(Enum):
    """What became of an option."""

    CARRIED = "carried"  # the same here
    ADAPTED = "adapted"  # written otherwise, proved to do the same
    CHANGED = "changed"  # here, but not quite the same
    LEFT_OUT = "left-out"  # not here
    CLOSED = "closed"  # not here, and what it spoke of is open to nobody


@dataclass(frozen=True, slots=True)
class Remark:
    """What became of one option: its path in s3-proxy's files, a fact without a full stop, and what to do about it."""

    outcome: Outcome
    subject: str
    message: str
    place: Span = field(repr=False)
    help: str | None = None

    @property
    def where(self) -> str:
        """The place as `file:line`."""
        return f"{self.place.source.name}:{self.place.first.line}"


class Remarks:
    """The remarks of a conversion while it is made."""

    def __init__(self) -> None:
        self._made: list[Remark] = []

    def add(self, outcome: Outcome, subject: str, place: Span, message: str, help: str | None = None) -> None:
        """Make one more remark."""
        self._made.append(Remark(outcome, subject, message, place, help))

    def all(self) -> tuple[Remark, ...]:
        """All of them by file and line; those of one line as they were made."""
        return tuple(sorted(self._made, key=lambda each: (each.place.source.name, each.place.first.line)))


class KeysAs(Enum):
    """Which keys the sources and targets of a `keyRewriteList` are taken to be about."""

    ACTUAL = "actual"  # the prefix in front, no leading slash: s3-proxy's code
    DOCUMENTED = "documented"  # a leading slash, no prefix: s3-proxy's documentation, and this project


@dataclass(frozen=True, slots=True)
class Report:
    """All remarks, how keys were read, and the targets that nobody may use."""

    keys_as: KeysAs
    remarks: tuple[Remark, ...]
    closed_targets: tuple[str, ...] = ()

    def of(self, *outcomes: Outcome) -> tuple[Remark, ...]:
        """The remarks of some outcomes."""
        return tuple(each for each in self.remarks if each.outcome in outcomes)

    @property
    def complete(self) -> bool:
        """Whether everything was carried over as it was, or as what is proved to be the same."""
        return not self.of(Outcome.CHANGED, Outcome.LEFT_OUT, Outcome.CLOSED)
