"""Regular expressions over bytes: found one match after the other, replaced, split by (sprig's regex.go)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, TypeAlias

from tornado_proxy.goregex.matching import Captures
from tornado_proxy.goregex.parser import parse
from tornado_proxy.goregex.program import (
    ProgramRefused,
    ProgramTooLarge,
    compile_program,
    is_within,
    leftmost,
    print_program,
)
from tornado_proxy.goregex.syntax import PatternError
from tornado_proxy.templates.golang.calling import INT, STRING, Function, Parameter, budgeted, function
from tornado_proxy.templates.golang.nodes import Constant
from tornado_proxy.templates.golang.text import go_string, runes
from tornado_proxy.templates.golang.values import STRING_SLICE, ExecutionError, Slice
from tornado_proxy.templates.template import LimitError, PlainTemplate, RenderBudget, compile_plain

Span: TypeAlias = tuple[int, int]
"""Where a group begins and ends, in bytes; (-1, -1) if it took no part."""

USUAL_MEMORY = 2 << 20
"""Bytes for an expression that is made while a template runs: compiling a larger one would hold up everyone."""

LARGEST_MEMORY = 16 << 20
"""Bytes for one that stands in the template, and is compiled with it."""

_KEPT = 128 << 20
"""Bytes for all the expressions that are kept compiled: sixty usual ones, or seven large ones."""


class CompiledRegex:
    """A compiled expression; `size` is the number of its instructions, `memory` the bytes that it may take.

    Raises ValueError for a text that Go refuses, `LimitError` for one that takes more bytes than the limit.
    """

    def __init__(self, text: str, memory: int) -> None:
        try:
            parsed = parse(text)
            program = print_program(parsed.tree).encode()
            self._compiled, taken = _compile(program, memory)
        except (PatternError, ProgramRefused) as error:
            raise ValueError(str(error)) from None
        self.memory = taken + 2 * len(program)
        self.size: int = self._compiled.programsize
        self._sees_within = rb"\B" in program
        self._groups = range(len(parsed.names) + 1)
        self.names: Sequence[tuple[str, int]] = [(name, i) for i, name in enumerate(parsed.names, start=1) if name]

    def spans(self, text: bytes, start: int) -> Sequence[Span] | None:
        """The groups of the leftmost match from an offset on, the whole match first; None without a match."""
        match = leftmost(self._compiled, text, start, sees_within=self._sees_within)
        return None if match is None else [match.span(number) for number in self._groups]


def _compile(program: bytes, memory: int) -> tuple[Any, int]:
    """RE2's form of a program, and the bytes that it may take: the usual ones where they are enough."""
    for most in sorted({USUAL_MEMORY, memory}):
        try:
            return compile_program(program, [most]), most
        except ProgramTooLarge:
            continue
    raise LimitError(f"an expression of the template takes more than {memory >> 20} MiB")


def keeping(compile_regex: Callable[[str, int], CompiledRegex]) -> Callable[[str, int], CompiledRegex]:
    """The same, but what was compiled lately is kept: in templates, expressions are nearly always constants."""
    kept: dict[tuple[str, int], CompiledRegex] = {}

    def compile_or_find(text: str, memory: int) -> CompiledRegex:
        found = kept.pop((text, memory), None)
        kept[text, memory] = expression = found or compile_regex(text, memory)
        while found is None and sum(each.memory for each in list(kept.values())) > _KEPT:
            kept.pop(next(iter(kept)), None)
        return expression

    return compile_or_find


@keeping
def compile_regex(text: str, memory: int) -> CompiledRegex:
    """The expression of a text in Go's syntax, of at most a number of bytes; raises ValueError where Go refuses it."""
    return CompiledRegex(text, memory)


def matches(expression: CompiledRegex, text: bytes, budget: RenderBudget, most: int = -1) -> Iterator[Sequence[Span]]:
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
    """The text with U+FFFD for each byte that is not UTF-8, as Go reads it, and its offsets in the original."""
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


def captures(expression: CompiledRegex, text: bytes, spans: Sequence[Span]) -> Captures:
    """Returns the groups of a match for an expansion; where several share a name, the first that matched."""
    groups = tuple(None if start < 0 else text[start:end].decode("utf-8", "surrogateescape") for start, end in spans)
    names: dict[str, int] = {}
    for name, number in expression.names:
        if names.get(name) is None or groups[names[name]] is None:
            names[name] = number
    return Captures(groups, names)


LONGEST = 2048
"""The most bytes of an expression."""

# What an expression costs that was not used lately.
_COMPILATION = 50
_CLASS = 80
_CLASSES = re.compile(rb"\\[pP]")  # each is made of hundreds of ranges
_META = re.compile(rb"[\\.+*?()|\[\]{}^$]")


@lru_cache(maxsize=256)
def _expansion(replacement: bytes) -> PlainTemplate:
    return compile_plain(replacement.decode("utf-8", "surrogateescape"))


class _Constant(bytes):
    """An expression that stands in the template, compiled with it."""

    expression: CompiledRegex


def _constant(literal: Constant, *, or_text: bool = False) -> bytes:
    pattern = _Constant(STRING.literal(literal))
    try:
        pattern.expression = _read(pattern, LARGEST_MEMORY)
    except LimitError as error:
        raise ExecutionError(str(error)) from None
    except ExecutionError:
        if or_text:
            return bytes(pattern)
        raise
    return pattern


def _read(pattern: bytes, memory: int) -> CompiledRegex:
    if len(pattern) > LONGEST:
        raise LimitError(f"the template makes an expression of more than {LONGEST} bytes")
    try:
        return compile_regex(pattern.decode(), memory)
    except ValueError as error:
        raise ExecutionError(f"`{runes(pattern)}` is not a regular expression: {error}") from None


def _compiled(budget: RenderBudget, pattern: bytes) -> CompiledRegex:
    if isinstance(pattern, _Constant):
        expression = pattern.expression
    else:
        budget.spend(_COMPILATION + 4 * len(pattern) + _CLASS * len(_CLASSES.findall(pattern)))
        expression = _read(pattern, USUAL_MEMORY)
    budget.spend(expression.size >> 4)
    return expression


def _must_match(budget: RenderBudget, pattern: bytes, text: bytes) -> bool:
    """Whether the expression is found."""
    return next(matches(_compiled(budget, pattern), text, budget), None) is not None


def _match(budget: RenderBudget, pattern: bytes, text: bytes) -> bool:
    """The same, but what is not an expression is not found."""
    try:
        return _must_match(budget, pattern, text)
    except ExecutionError:
        return False


def _find(budget: RenderBudget, pattern: bytes, text: bytes) -> bytes:
    """The first match, or empty."""
    spans = next(matches(_compiled(budget, pattern), text, budget), None)
    return b"" if spans is None else text[slice(*spans[0])]


def _find_all(budget: RenderBudget, pattern: bytes, text: bytes, most: int) -> Slice:
    """So many matches at most, all of them where that is negative."""
    found = [text[slice(*spans[0])] for spans in matches(_compiled(budget, pattern), text, budget, most)]
    return Slice(found, STRING_SLICE, nil=not found)


def _replace(budget: RenderBudget, pattern: bytes, text: bytes, replacement: bytes) -> bytes:
    """Each match replaced, `$1` and `${name}` standing for its groups."""
    expression, expansion = _compiled(budget, pattern), _expansion(replacement)

    def expand(spans: Sequence[Span]) -> bytes:
        start, end = spans[0]
        budget.text(len(replacement) + len(expansion.group_references) * (end - start))
        return expansion.render(captures(expression, text, spans)).encode("utf-8", "surrogateescape")

    return _replaced(budget, expression, text, expand)


def _replace_literally(budget: RenderBudget, pattern: bytes, text: bytes, replacement: bytes) -> bytes:
    """Each match replaced by the text as it stands."""
    return _replaced(budget, _compiled(budget, pattern), text, lambda _spans: replacement)


def _split(budget: RenderBudget, pattern: bytes, text: bytes, most: int) -> Slice:
    """The parts between matches, up to a limit (Regexp.Split)."""
    expression = _compiled(budget, pattern)
    if most == 0:
        return Slice((), STRING_SLICE, nil=True)
    if pattern and not text:
        return Slice((b"",), STRING_SLICE)
    parts: list[bytes] = []
    begin = end = 0
    for spans in matches(expression, text, budget, most):
        if 0 < most <= len(parts) + 1:
            break
        end, after = spans[0]
        if after:
            parts.append(text[begin:end])
        begin = after
    if end != len(text):
        parts.append(text[begin:])
    return Slice(parts, STRING_SLICE)


def _replaced(
    budget: RenderBudget, expression: CompiledRegex, text: bytes, replacement: Callable[[Sequence[Span]], bytes]
) -> bytes:
    pieces, last, size = [], 0, len(text)
    for spans in matches(expression, text, budget):
        start, end = spans[0]
        new = replacement(spans)
        size += len(new)
        budget.fit(size)
        pieces += [text[last:start], new]
        last = end
    return b"".join([*pieces, text[last:]])


_PATTERN = Parameter(STRING.name, STRING.convert, _constant)
_PATTERN_OR_TEXT = Parameter(STRING.name, STRING.convert, partial(_constant, or_text=True))
_TABLE = {
    "regexFind": budgeted(_find, _PATTERN, STRING),
    "regexFindAll": budgeted(_find_all, _PATTERN, STRING, INT),
    "regexReplaceAll": budgeted(_replace, _PATTERN, STRING, STRING),
    "regexReplaceAllLiteral": budgeted(_replace_literally, _PATTERN, STRING, STRING),
    "regexSplit": budgeted(_split, _PATTERN, STRING, INT),
}

FUNCTIONS: Mapping[str, Function] = {
    **_TABLE,
    # Each has a second name whose panic is an error in Go; in a template both fail alike.
    **{f"must{name[0].upper()}{name[1:]}": entry for name, entry in _TABLE.items()},
    "mustRegexMatch": budgeted(_must_match, _PATTERN, STRING),
    "regexMatch": budgeted(_match, _PATTERN_OR_TEXT, STRING),
    "regexQuoteMeta": function(lambda text: _META.sub(rb"\\\g<0>", text), STRING),
}
"""The functions by name."""
