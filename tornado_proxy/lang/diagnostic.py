"""Something to say about a place in a file: one value for parser, compiler, checks, reload log and editor.

Nouns: a *diagnostic* states a fact about a *span*; a *note* shows a second place; a *fix* is a
change that a tool can apply, made of *edits*, with a *safety*: what applying it promises.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from tornado_proxy.lang.source import Span


class Severity(Enum):
    """How much a diagnostic weighs: an error is certainly wrong; one of parser or compiler keeps files from use."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Note:
    """A second place that explains a diagnostic, such as the first use of a name."""

    message: str
    span: Span | None = None


class Safety(Enum):
    """What applying a fix promises."""

    SAFE = "safe"  # every key is rewritten as before, and nothing that still means something is lost
    UNSAFE = "unsafe"  # what was probably meant: some keys may be rewritten otherwise, or words of the author go
    DISPLAY = "display"  # one way out of several: shown, and never applied to many places at once


@dataclass(frozen=True, slots=True)
class Edit:
    """A stretch of a file, possibly empty, and the text that takes its place."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that a tool can apply: its title in the imperative, and the edits, which never overlap."""

    message: str
    edits: tuple[Edit, ...]
    safety: Safety


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A mistake or a finding: what is wrong in `message` (names in backticks, no full stop), what to do in `help`."""

    code: str
    message: str
    span: Span | None = None
    help: str | None = None
    notes: tuple[Note, ...] = ()
    severity: Severity = Severity.ERROR
    fixes: tuple[Fix, ...] = ()

    @property
    def place(self) -> str:
        """Where, as `file:line:column`; empty if it belongs to no place."""
        return self.span.place if self.span else ""

    @property
    def line(self) -> str:
        """Everything but the help on one line, as compilers print it; the file name is not escaped."""
        place = f"{self.place}: " if self.span else ""
        return f"{place}{self.severity.value}[{self.code}] {self.message}"


def errors(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Returns the diagnostics that keep a set of files from being used."""
    return tuple(each for each in diagnostics if each.severity is Severity.ERROR)


# Nobody mistypes a keyword of this length; difflib's time grows with it.
_LONGEST = 64
_CLOSE_ENOUGH = 0.65


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate closest to a word, in any case; None where none is close."""
    if len(word) > _LONGEST:
        return None
    from difflib import get_close_matches  # noqa: PLC0415 - a good file needs no suggestion, and starts sooner

    folded = {candidate.casefold(): candidate for candidate in candidates}
    close = get_close_matches(word.casefold(), folded, n=1, cutoff=_CLOSE_ENOUGH)
    return folded[close[0]] if close else None
