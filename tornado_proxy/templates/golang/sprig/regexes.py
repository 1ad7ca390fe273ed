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
    CompileRegex,
    Expression,
    Span,
    captures,
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


class _Regexes:
    """The functions, over one way to read expressions."""

    def __init__(self, compile_regex: CompileRegex) -> None:
        self._compile_regex = compile_regex
        self.pattern = Parameter(STRING.name, STRING.convert, self._constant)
        self.pattern_or_text = Parameter(STRING.name, STRING.convert, partial(self._constant, or_text=True))

    def _constant(self, literal: Literal, *, or_text: bool = False) -> bytes:
        pattern = _Constant(STRING.literal(literal))
        try:
            pattern.expression = self._read(pattern, LARGEST_MEMORY)
        except LimitError as error:
            raise ExecutionError(str(error)) from None
        except ExecutionError:
            if or_text:
                return bytes(pattern)
            raise
        return pattern

    def _read(self, pattern: bytes, memory: int) -> Expression:
        if len(pattern) > LONGEST:
            raise LimitError(f"the template makes an expression of more than {LONGEST} bytes")
        try:
            return self._compile_regex(pattern.decode(), memory)
        except ValueError as error:
            raise ExecutionError(f"`{runes(pattern)}` is no regular expression: {error}") from None

    def _compiled(self, budget: Budget, pattern: bytes) -> Expression:
        if isinstance(pattern, _Constant):
            expression = pattern.expression
        else:
            budget.spend(_COMPILATION + 4 * len(pattern) + _CLASS * len(_CLASSES.findall(pattern)))
            expression = self._read(pattern, USUAL_MEMORY)
        budget.spend(expression.size >> 4)
        return expression

    def must_match(self, budget: Budget, pattern: bytes, text: bytes) -> bool:
        """Whether the expression is found."""
        return next(matches(self._compiled(budget, pattern), text, budget), None) is not None

    def match(self, budget: Budget, pattern: bytes, text: bytes) -> bool:
        """The same, but what is no expression is not found."""
        try:
            return self.must_match(budget, pattern, text)
        except ExecutionError:
            return False

    def find(self, budget: Budget, pattern: bytes, text: bytes) -> bytes:
        """The first match, empty where there is none."""
        spans = next(matches(self._compiled(budget, pattern), text, budget), None)
        return b"" if spans is None else text[slice(*spans[0])]

    def find_all(self, budget: Budget, pattern: bytes, text: bytes, most: int) -> Slice:
        """So many matches at most, all of them where that is negative."""
        found = [text[slice(*spans[0])] for spans in matches(self._compiled(budget, pattern), text, budget, most)]
        return Slice(found, STRING_SLICE, nil=not found)

    def replace(self, budget: Budget, pattern: bytes, text: bytes, replacement: bytes) -> bytes:
        """Each match replaced, `$1` and `${name}` standing for its groups."""
        expression, expansion = self._compiled(budget, pattern), _expansion(replacement)

        def expand(spans: Sequence[Span]) -> bytes:
            start, end = spans[0]
            budget.text(len(replacement) + len(expansion.group_references) * (end - start))
            return expansion.expand(captures(expression, text, spans)).encode("utf-8", "surrogateescape")

        return _replaced(budget, expression, text, expand)

    def replace_literally(self, budget: Budget, pattern: bytes, text: bytes, replacement: bytes) -> bytes:
        """Each match replaced by the text as it stands."""
        return _replaced(budget, self._compiled(budget, pattern), text, lambda _spans: replacement)

    def split(self, budget: Budget, pattern: bytes, text: bytes, most: int) -> Slice:
        """The parts between matches, at most so many (Regexp.Split)."""
        expression = self._compiled(budget, pattern)
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


def functions(compile_regex: CompileRegex) -> Mapping[str, Function]:
    """The functions by name, reading expressions with the compiler given."""
    regexes = _Regexes(compile_regex)
    table = {
        "regexFind": budgeted(regexes.find, regexes.pattern, STRING),
        "regexFindAll": budgeted(regexes.find_all, regexes.pattern, STRING, INT),
        "regexReplaceAll": budgeted(regexes.replace, regexes.pattern, STRING, STRING),
        "regexReplaceAllLiteral": budgeted(regexes.replace_literally, regexes.pattern, STRING, STRING),
        "regexSplit": budgeted(regexes.split, regexes.pattern, STRING, INT),
    }
    # Each has a second name whose panic is an error in Go; in a template both fail alike.
    must = {f"must{name[0].upper()}{name[1:]}": entry for name, entry in table.items()}
    return (
        table
        | must
        | {
            "mustRegexMatch": budgeted(regexes.must_match, regexes.pattern, STRING),
            "regexMatch": budgeted(regexes.match, regexes.pattern_or_text, STRING),
            "regexQuoteMeta": function(lambda text: _META.sub(rb"\\\g<0>", text), STRING),
        }
    )
