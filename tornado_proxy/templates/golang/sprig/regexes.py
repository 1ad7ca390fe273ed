"""Regular expressions: matched, found, replaced, split by (sprig's regex.go)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial

from tornado_proxy.templates.errors import LimitError
from tornado_proxy.templates.golang.calling import INT, STRING, Function, Parameter, budgeted, function
from tornado_proxy.templates.golang.failures import ExecutionError
from tornado_proxy.templates.golang.limits import Budget
from tornado_proxy.templates.golang.nodes import Literal
from tornado_proxy.templates.golang.regex import (
    LARGEST_MEMORY,
    USUAL_MEMORY,
    Expression,
    Span,
    captures,
    compile_regex,
    matches,
)
from tornado_proxy.templates.golang.text import runes
from tornado_proxy.templates.golang.values import STRING_SLICE, Slice
from tornado_proxy.templates.plain import PlainTemplate, compile_template

LONGEST = 2048
"""The most bytes of an expression."""

# What an expression costs that was not used lately.
_COMPILATION = 50
_CLASS = 80
_CLASSES = re.compile(rb"\\[pP]")  # each is made of hundreds of ranges
_META = re.compile(rb"[\\.+*?()|\[\]{}^$]")


@lru_cache(maxsize=256)
def _expansion(replacement: bytes) -> PlainTemplate:
    return compile_template(replacement.decode("utf-8", "surrogateescape"), {}, 0)


class _Constant(bytes):
    """An expression that stands in the template, compiled with it."""

    expression: Expression


def _constant(literal: Literal, *, or_text: bool = False) -> bytes:
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


def _read(pattern: bytes, memory: int) -> Expression:
    if len(pattern) > LONGEST:
        raise LimitError(f"the template makes an expression of more than {LONGEST} bytes")
    try:
        return compile_regex(pattern.decode(), memory)
    except ValueError as error:
        raise ExecutionError(f"`{runes(pattern)}` is not a regular expression: {error}") from None


def _compiled(budget: Budget, pattern: bytes) -> Expression:
    if isinstance(pattern, _Constant):
        expression = pattern.expression
    else:
        budget.spend(_COMPILATION + 4 * len(pattern) + _CLASS * len(_CLASSES.findall(pattern)))
        expression = _read(pattern, USUAL_MEMORY)
    budget.spend(expression.size >> 4)
    return expression


def _must_match(budget: Budget, pattern: bytes, text: bytes) -> bool:
    """Whether the expression is found."""
    return next(matches(_compiled(budget, pattern), text, budget), None) is not None


def _match(budget: Budget, pattern: bytes, text: bytes) -> bool:
    """The same, but what is no expression is not found."""
    try:
        return _must_match(budget, pattern, text)
    except ExecutionError:
        return False


def _find(budget: Budget, pattern: bytes, text: bytes) -> bytes:
    """The first match, empty where there is none."""
    spans = next(matches(_compiled(budget, pattern), text, budget), None)
    return b"" if spans is None else text[slice(*spans[0])]


def _find_all(budget: Budget, pattern: bytes, text: bytes, most: int) -> Slice:
    """So many matches at most, all of them where that is negative."""
    found = [text[slice(*spans[0])] for spans in matches(_compiled(budget, pattern), text, budget, most)]
    return Slice(found, STRING_SLICE, nil=not found)


def _replace(budget: Budget, pattern: bytes, text: bytes, replacement: bytes) -> bytes:
    """Each match replaced, `$1` and `${name}` standing for its groups."""
    expression, expansion = _compiled(budget, pattern), _expansion(replacement)

    def expand(spans: Sequence[Span]) -> bytes:
        start, end = spans[0]
        budget.text(len(replacement) + len(expansion.group_references) * (end - start))
        return expansion.expand(captures(expression, text, spans)).encode("utf-8", "surrogateescape")

    return _replaced(budget, expression, text, expand)


def _replace_literally(budget: Budget, pattern: bytes, text: bytes, replacement: bytes) -> bytes:
    """Each match replaced by the text as it stands."""
    return _replaced(budget, _compiled(budget, pattern), text, lambda _spans: replacement)


def _split(budget: Budget, pattern: bytes, text: bytes, most: int) -> Slice:
    """The parts between matches, at most so many (Regexp.Split)."""
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
    budget: Budget, expression: Expression, text: bytes, replacement: Callable[[Sequence[Span]], bytes]
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
