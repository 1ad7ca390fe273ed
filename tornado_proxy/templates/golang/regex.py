"""Expressions inside templates: found in bytes, one match after the other, as Go's package regexp does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from tornado_proxy.goregex.engine import ProgramRefused, ProgramTooLarge, compile_program, is_within, leftmost
from tornado_proxy.goregex.errors import PatternError
from tornado_proxy.goregex.matching import Captures
from tornado_proxy.goregex.parser import parse
from tornado_proxy.goregex.printer import print_program
from tornado_proxy.templates.errors import LimitError
from tornado_proxy.templates.golang.limits import Budget
from tornado_proxy.templates.golang.text import go_string

Span: TypeAlias = tuple[int, int]
"""Where a group begins and ends, in bytes; (-1, -1) if it took no part."""

USUAL_MEMORY = 2 << 20
"""Bytes for an expression that is made while a template runs: compiling a larger one would hold up everyone."""

LARGEST_MEMORY = 16 << 20
"""Bytes for one that stands in the template, and is compiled with it."""

_KEPT = 128 << 20
"""Bytes for all the expressions that are kept compiled: sixty usual ones, or seven large ones."""


class Expression:
    """A compiled expression; `size` is the number of its instructions, `memory` the bytes that it may take.

    Raises ValueError for a text that Go refuses, `LimitError` for one that takes more than so many bytes.
    """

    def __init__(self, text: str, memory: int) -> None:
        try:
            parsed = parse(text)
            program = print_program(parsed.tree).encode()
            self._compiled, taken = _compiled(program, memory)
        except (PatternError, ProgramRefused) as error:
            raise ValueError(str(error)) from None
        self.memory = taken + 2 * len(program)
        self.size: int = self._compiled.programsize
        self._sees_within = rb"\B" in program
        self._groups = range(len(parsed.names) + 1)
        self.names: Sequence[tuple[str, int]] = [(name, i) for i, name in enumerate(parsed.names, start=1) if name]

    def spans(self, text: bytes, start: int) -> Sequence[Span] | None:
        """The groups of the leftmost match from an offset on, the whole match first; None where there is none."""
        match = leftmost(self._compiled, text, start, sees_within=self._sees_within)
        return None if match is None else [match.span(number) for number in self._groups]


def _compiled(program: bytes, memory: int) -> tuple[Any, int]:
    """RE2's form of a program, and the bytes that it may take: the usual ones where they are enough."""
    for most in sorted({USUAL_MEMORY, memory}):
        try:
            return compile_program(program, [most]), most
        except ProgramTooLarge:
            continue
    raise LimitError(f"an expression of the template takes more than {memory >> 20} MiB")


def keeping(compile_regex: Callable[[str, int], Expression]) -> Callable[[str, int], Expression]:
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
def compile_regex(text: str, memory: int) -> Expression:
    """The expression of a text in Go's syntax, of at most so many bytes; raises ValueError where Go refuses it."""
    return Expression(text, memory)


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
