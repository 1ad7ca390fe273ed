"""Expressions inside templates: found in bytes, one match after the other, as Go's package regexp does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import re2  # type: ignore[import-untyped]  # google-re2 ships no annotations

from tornado_proxy.templates.data import Captures
from tornado_proxy.templates.errors import LimitError
from tornado_proxy.templates.golang.limits import Budget
from tornado_proxy.templates.golang.text import go_string
from tornado_proxy.templates.searching import is_within, leftmost

Span: TypeAlias = tuple[int, int]
"""Where a group begins and ends, in bytes; (-1, -1) if it took no part."""

USUAL_MEMORY = 2 << 20
"""Bytes for an expression that is made while a template runs: compiling a larger one would hold up everyone."""

LARGEST_MEMORY = 16 << 20
"""Bytes for one that stands in the template, and is compiled with it."""

_KEPT = 128 << 20
"""Bytes for all the expressions that are kept compiled: sixty usual ones, or seven large ones."""


class Expression(Protocol):
    """A compiled expression; `size` is the number of its instructions, `memory` the bytes that it may take."""

    size: int
    memory: int

    @property
    def names(self) -> Sequence[tuple[str, int]]:
        """Each named group with its number, in order; a name may stand twice."""
        ...

    def spans(self, text: bytes, start: int) -> Sequence[Span] | None:
        """The groups of the leftmost match from an offset on, the whole match first; None where there is none."""
        ...


CompileRegex: TypeAlias = Callable[[str, int], Expression]
"""Makes an expression of a text in Go's syntax, of so many bytes at most; raises ValueError where Go refuses it."""


class Re2Expression:
    """An expression that RE2 finds; `program` is what RE2 reads, which is Go's syntax but for rare constructs.

    RE2 knows the first of two groups of one name only: who has read the expression may give all `names`.
    """

    def __init__(self, program: str, memory: int, names: Sequence[tuple[str, int]] | None = None) -> None:
        self._compiled, memory = _compiled(program.encode(), memory)
        self.size: int = self._compiled.programsize
        self.memory = memory + 2 * len(program)
        self._sees_within = r"\B" in program
        first = [(name.decode(), number) for name, number in self._compiled.groupindex.items()]
        self.names: Sequence[tuple[str, int]] = first if names is None else names

    def spans(self, text: bytes, start: int) -> Sequence[Span] | None:
        """The groups of the leftmost match from an offset on."""
        match = leftmost(self._compiled, text, start, sees_within=self._sees_within)
        return None if match is None else [match.span(number) for number in range(self._compiled.groups + 1)]


def _compiled(program: bytes, memory: int) -> tuple[Any, int]:
    """RE2's form of a program, and the bytes that it may take: the usual ones where they are enough."""
    options = re2.Options()
    options.log_errors = False
    for options.max_mem in sorted({USUAL_MEMORY, memory}):
        try:
            compiled = re2.compile(program, options)
        except re2.error as error:
            message = error.args[0].decode(errors="replace")
            if "too large" not in message:
                raise ValueError(message) from None
        else:
            re2.purge()  # it would keep more than a hundred, whatever memory they take
            return compiled, options.max_mem
    raise LimitError(f"an expression of the template takes more than {memory >> 20} MiB")


def keeping(compile_regex: CompileRegex) -> CompileRegex:
    """The same, but what was compiled lately is kept: in templates, expressions are nearly always constants."""
    kept: dict[tuple[str, int], Expression] = {}

    def compile_or_find(text: str, memory: int) -> Expression:
        found = kept.pop((text, memory), None)
        kept[text, memory] = expression = found or compile_regex(text, memory)
        while found is None and sum(each.memory for each in list(kept.values())) > _KEPT:
            kept.pop(next(iter(kept)), None)
        return expression

    return compile_or_find


@keeping
def compile_re2(pattern: str, memory: int) -> Expression:
    """The expression as RE2 itself reads it."""
    return Re2Expression(pattern, memory)


def matches(expression: Expression, text: bytes, budget: Budget, most: int = -1) -> Iterator[Sequence[Span]]:
    """Successive matches (regexp's allMatches): none is empty right after another; `most` below 0 asks for all."""
    text, offsets = _readable(text)
    if offsets is not None:
        budget.spend(len(offsets) >> 1)
    position, last_end = 0, -1
    # RE2 may have to follow all instructions at once; of those that a usual expression has, it does not.
    cost = 1 + (expression.size >> 6)
    while most and position <= len(text):
        # A search may look at all that is left, and there are as many searches as matches.
        budget.spend(cost * (1 + (len(text) - position >> 5)))
        spans = expression.spans(text, position)
        if spans is None:
            return
        start, end = spans[0]
        accepted = end != position or start != last_end
        position = end if end != position else position + _rune_length(text, position)
        last_end = end
        if accepted:
            most -= 1
            yield spans if offsets is None else [(offsets[start], offsets[end]) for start, end in spans]


def _readable(text: bytes) -> tuple[bytes, list[int] | None]:
    """The text with U+FFFD for each byte that is no UTF-8, as Go reads it, and its offsets in the original."""
    try:
        text.decode()
    except UnicodeDecodeError:
        read, offsets, offset = bytearray(), [], 0
        for rune in text.decode("utf-8", "surrogateescape"):
            written = go_string(rune)
            read += written
            offsets += [offset] * len(written)
            offset += len(rune.encode("utf-8", "surrogateescape"))
        # The last is that of a group which took no part.
        return bytes(read), [*offsets, offset, -1]
    return text, None


def _rune_length(text: bytes, position: int) -> int:
    """How many bytes the rune at an offset has; one at the end."""
    end = position + 1
    while is_within(text, end):
        end += 1
    return end - position


def captures(expression: Expression, text: bytes, spans: Sequence[Span]) -> Captures:
    """The groups of a match as an expansion wants them; of namesakes, the first that took part."""
    groups = tuple(None if start < 0 else text[start:end].decode("utf-8", "surrogateescape") for start, end in spans)
    names: dict[str, int] = {}
    for name, number in expression.names:
        if names.get(name) is None or groups[names[name]] is None:
            names[name] = number
    return Captures(groups, names)
