"""Regular expressions: finds, replaces and splits by matches in bytes (sprig's regex.go)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial

from gotemplate.limits import EXPRESSION_MEMORY, LONGEST_EXPRESSION
from gotemplate.regexp.matching import ByteSpan, Captures, Expansion, Pattern, compile_expression
from gotemplate.regexp.parser import parse
from gotemplate.regexp.program import ProgramRefused, ProgramTooLarge, is_within
from gotemplate.regexp.syntax import PatternError
from gotemplate.sprig.basics import forgiving
from gotemplate.template.calling import INT, STRING, Function, Parameter, budgeted, function
from gotemplate.template.errors import LimitError, RenderBudget
from gotemplate.template.nodes import Constant
from gotemplate.template.text import rune_starts, runes
from gotemplate.template.values import STRING_SLICE, ExecutionError, Slice


@lru_cache(maxsize=64)
def compile_regex(text: bytes) -> Pattern:
    """Compiles an expression, cached in 128 MiB at most; raises `ExecutionError` if Go refuses it, or `LimitError`."""
    if len(text) > LONGEST_EXPRESSION:
        raise LimitError(f"the template makes an expression of more than {LONGEST_EXPRESSION} bytes")
    try:
        return compile_expression(parse(text.decode()), [EXPRESSION_MEMORY])
    except ProgramTooLarge:
        raise LimitError(f"an expression of the template takes more than {EXPRESSION_MEMORY >> 20} MiB") from None
    except (UnicodeDecodeError, PatternError, ProgramRefused) as error:
        raise ExecutionError(f"`{runes(text)}` is not a regular expression: {error}") from None


def matches(expression: Pattern, text: bytes, budget: RenderBudget, most: int = -1) -> Iterator[Sequence[ByteSpan]]:
    """Yields successive matches (regexp's allMatches), without empty ones right after another; -1 means all."""
    decoded, offsets = runes(text), None
    if (read := decoded.encode()) != text:  # with U+FFFD for each byte that is not UTF-8
        offsets = [start for rune, start in zip(decoded, rune_starts(text), strict=True) for _ in rune.encode()]
        offsets += [len(text), -1]  # the last one is for index -1, that of a group that took no part
        budget.spend(len(offsets) >> 1)
        text = read
    position, last_end = 0, -1
    # A search may follow all instructions at once, which shows in expressions of more than 64 instructions.
    cost = 1 + (expression.program_size >> 6)
    while most and position <= len(text):
        # Each match needs a search, which may read the whole rest.
        budget.spend(cost * (1 + (len(text) - position >> 5)))
        spans = expression.spans(text, position)
        if spans is None:
            return
        start, end = spans[0]
        accepted = end != position or start != last_end
        position, last_end, was_at = end, end, position
        while position == was_at or is_within(text, position):
            position += 1  # after an empty match, to the next rune
        if accepted:
            most -= 1
            yield spans if offsets is None else [(offsets[start], offsets[end]) for start, end in spans]


def captures(expression: Pattern, text: bytes, spans: Sequence[ByteSpan]) -> Captures:
    """Returns the groups of a match for an expansion; of several with one name, the first that matched."""
    groups = tuple(None if start < 0 else text[start:end].decode("utf-8", "surrogateescape") for start, end in spans)
    return Captures(groups, expression.names_of(groups))


# Steps of compiling an expression that is not a constant: for itself, and for each Unicode class of hundreds of ranges.
_COMPILATION, _CLASS = 50, 80
_CLASSES = re.compile(rb"\\[pP]")
_META = re.compile(rb"[\\.+*?()|\[\]{}^$]")


class _Constant(bytes):
    """An expression that is a literal in the template, and is compiled together with it."""

    expression: Pattern


def _constant(literal: Constant, *, or_text: bool = False) -> bytes:
    pattern = _Constant(STRING.literal(literal))
    try:
        pattern.expression = compile_regex(bytes(pattern))
    except LimitError as error:
        raise ExecutionError(str(error)) from None
    except ExecutionError:
        if or_text:
            return bytes(pattern)
        raise
    return pattern


def _compiled(budget: RenderBudget, pattern: bytes) -> Pattern:
    if isinstance(pattern, _Constant):
        expression = pattern.expression
    else:
        budget.spend(_COMPILATION + 4 * len(pattern) + _CLASS * len(_CLASSES.findall(pattern)))
        expression = compile_regex(pattern)
    budget.spend(expression.program_size >> 4)
    return expression


def _must_match(budget: RenderBudget, pattern: bytes, text: bytes) -> bool:
    return next(matches(_compiled(budget, pattern), text, budget), None) is not None


def _find(budget: RenderBudget, pattern: bytes, text: bytes) -> bytes:
    spans = next(matches(_compiled(budget, pattern), text, budget), None)
    return b"" if spans is None else text[slice(*spans[0])]


def _find_all(budget: RenderBudget, pattern: bytes, text: bytes, most: int) -> Slice:
    texts = [text[slice(*spans[0])] for spans in matches(_compiled(budget, pattern), text, budget, most)]
    return Slice(texts, STRING_SLICE, nil=not texts)


def _replace(budget: RenderBudget, pattern: bytes, text: bytes, replacement: bytes) -> bytes:
    expression = _compiled(budget, pattern)
    budget.text(len(replacement))
    expansion = Expansion.read(replacement.decode("utf-8", "surrogateescape"))

    def expand(spans: Sequence[ByteSpan]) -> bytes:
        start, end = spans[0]
        budget.text(len(replacement) + len(expansion.group_references) * (end - start))
        return expansion.expand(captures(expression, text, spans)).encode("utf-8", "surrogateescape")

    return _replaced(budget, expression, text, expand)


def _split(budget: RenderBudget, pattern: bytes, text: bytes, most: int) -> Slice:
    """Returns the parts between matches, at most `most` unless it is negative (Regexp.Split)."""
    expression = _compiled(budget, pattern)
    if most == 0:
        return Slice((), STRING_SLICE, nil=True)
    if pattern and not text:
        return Slice((b"",), STRING_SLICE)
    texts: list[bytes] = []
    begin = end = 0
    for spans in matches(expression, text, budget, most):
        if 0 < most <= len(texts) + 1:
            break
        end, after = spans[0]
        if after:
            texts.append(text[begin:end])
        begin = after
    if end != len(text):
        texts.append(text[begin:])
    return Slice(texts, STRING_SLICE)


def _replaced(
    budget: RenderBudget, expression: Pattern, text: bytes, replacement: Callable[[Sequence[ByteSpan]], bytes]
) -> bytes:
    pieces, last, size = [], 0, len(text)
    for spans in matches(expression, text, budget):
        start, end = spans[0]
        new = replacement(spans)
        size += len(new)
        budget.check_size(size)
        pieces += [text[last:start], new]
        last = end
    return b"".join([*pieces, text[last:]])


_PATTERN = Parameter(STRING.name, STRING.convert, _constant)
_PATTERN_OR_TEXT = Parameter(STRING.name, STRING.convert, partial(_constant, or_text=True))
_TABLE = {
    "regexFind": budgeted(_find, _PATTERN, STRING),
    "regexFindAll": budgeted(_find_all, _PATTERN, STRING, INT),
    "regexReplaceAll": budgeted(_replace, _PATTERN, STRING, STRING),
    "regexReplaceAllLiteral": budgeted(
        lambda budget, pattern, text, new: _replaced(budget, _compiled(budget, pattern), text, lambda _spans: new),
        _PATTERN,
        STRING,
        STRING,
    ),
    "regexSplit": budgeted(_split, _PATTERN, STRING, INT),
}

FUNCTIONS: Mapping[str, Function] = {
    **_TABLE,
    # Each has a second name, which returns an error in Go instead of a panic; in a template both fail alike.
    **{f"must{name[0].upper()}{name[1:]}": entry for name, entry in _TABLE.items()},
    "mustRegexMatch": budgeted(_must_match, _PATTERN, STRING),
    "regexMatch": budgeted(forgiving(_must_match, lambda _pattern, _text: False), _PATTERN_OR_TEXT, STRING),
    "regexQuoteMeta": function(lambda text: _META.sub(rb"\\\g<0>", text), STRING),
}
