"""Something to say about a place in a file: one value for parser, compiler, checks, reload log and editor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from tornado_proxy.lang.source import Span


class Severity(Enum):
    """How much a diagnostic weighs: an error keeps a set of files from being used."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Note:
    """A second place that explains a diagnostic, such as the first use of a name."""

    message: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A mistake or a finding: the fact in `message` (names in backticks, no full stop), the cure in `help`."""

    code: str
    message: str
    span: Span | None = None
    help: str | None = None
    notes: tuple[Note, ...] = ()
    severity: Severity = Severity.ERROR

    @property
    def place(self) -> str:
        """Where, as `file:line:column`; empty if it belongs to no place."""
        return self.span.place if self.span else ""


def errors(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Those that keep a set of files from being used."""
    return tuple(each for each in diagnostics if each.severity is Severity.ERROR)
