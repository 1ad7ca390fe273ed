"""The functions of text/template itself: printing, escaping, indexing, comparing (funcs.go, package fmt)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from gotemplate.limits import LARGEST_WIDTH, LONGEST_WIDTH
from gotemplate.template import values as go
from gotemplate.template.calling import ANY, REFLECTED, STRING, Function, budgeted, function, special
from gotemplate.template.errors import RenderBudget
from gotemplate.template.formatting import Printer
from gotemplate.template.operands import Evaluate, Run
from gotemplate.template.text import go_string, is_print, runes
from gotemplate.template.urls import query_escape

_FLAGS = {"#": "sharp", "0": "zero", "+": "plus", "-": "minus", " ": "space"}
_INDEX = re.compile(r"\[(?:(?!\]\Z)[^\]]*\])?")  # Go reads a bracket alone if it is not closed, or is empty at the end
# What stands before a verb; a point that ends the format is its verb.
_START = re.compile(
    rf"(?P<flags>[#0+ -]*)(?P<index>{_INDEX.pattern})?(?P<width>\*|[0-9]*)"
    rf"(?:\.(?!\Z)(?P<precision_index>{_INDEX.pattern})?(?P<precision>\*|[0-9]*))?"
)


def sprint(budget: RenderBudget, *values: go.Value, follow: bool = False) -> bytes:
    """fmt.Sprint: writes a space between two operands if neither is a string."""
    printer = Printer(budget)
    after_string = True
    for value in values:
        is_string = type(value) is bytes
        if not is_string and not after_string:
            printer.write(b" ")
        printer.argument(value, "v", follow=follow)
        after_string = is_string
    return b"".join(printer.buffer)


def sprintln(budget: RenderBudget, *values: go.Value) -> bytes:
    """fmt.Sprintln: writes a space between any two operands, and a line feed at the end."""
    printer = Printer(budget)
    for number, value in enumerate(values):
        if number:
            printer.write(b" ")
        printer.argument(value, "v")
    printer.write(b"\n")
    return b"".join(printer.buffer)


def sprintf(budget: RenderBudget, format: bytes, *values: go.Value) -> bytes:
    """fmt.Sprintf: replaces each verb of the format by its argument."""
    printer = Printer(budget)
    _Formatting(format.decode("utf-8", "surrogateescape"), values, printer).run()
    return b"".join(printer.buffer)


class _Formatting(msgspec.Struct):
    """One pass over a format; `next` is the index of the next verb's argument."""

    format: str
    values: Sequence[go.Value]
    printer: Printer
    position: int = 0
    next: int = 0
    reordered: bool = False
    good_index: bool = True
    after_index: bool = False

    def run(self) -> None:
        while self.position < len(self.format):
            percent = self.format.find("%", self.position)
            end = len(self.format) if percent < 0 else percent
            self.printer.write(self.format[self.position : end].encode("utf-8", "surrogateescape"))
            self.position = end + 1
            if percent >= 0:
                self._verb()
        if not self.reordered and self.next < len(self.values):
            printer = self.printer
            printer.clear()
            printer.write(b"%!(EXTRA ")
            for number, value in enumerate(self.values[self.next :]):
                if number:
                    printer.write(b", ")
                printer.write(go_string(go.type_name(value)))
                if value is not None:
                    printer.write(b"=")
                    printer.argument(value, "v")
            printer.write(b")")

    def _verb(self) -> None:
        printer = self.printer
        printer.clear()
        start = _START.match(self.format, self.position)
        assert start is not None
        self.position = start.end()
        for flag in start["flags"]:
            setattr(printer, _FLAGS[flag], True)
        self.good_index = True
        self._index(start["index"])
        self._width(start["width"])
        if start["precision"] is not None and self.position == start.end():
            self._precision(start["precision_index"], start["precision"])
        if not self.after_index and (last := _INDEX.match(self.format, self.position)):
            self.position = last.end()
            self._index(last[0])
        verb = self.format[self.position : self.position + 1]
        self.position += 1
        if not verb:
            printer.write(b"%!(NOVERB)")
        elif verb == "%":
            printer.write(b"%")
        elif not self.good_index:
            printer.write(go_string(f"%!{verb}(BADINDEX)"))
        elif self.next >= len(self.values):
            printer.write(go_string(f"%!{verb}(MISSING)"))
        else:
            self._argument(verb)

    def _argument(self, verb: str) -> None:
        printer = self.printer
        if verb in ("v", "w"):
            printer.sharp_v, printer.sharp = printer.sharp, False
            printer.plus_v, printer.plus = printer.plus, False
        printer.argument(self.values[self.next], verb)
        self.next += 1

    def _index(self, index: str | None) -> None:
        """Goes on with the argument of an index in brackets, if there is one."""
        number = _number(index[1:-1]) if index else None
        self.after_index = number is not None
        self.reordered = self.reordered or index is not None
        if number is not None and 1 <= number <= len(self.values):
            self.next = number - 1
        elif index is not None:
            self.good_index = False

    def _width(self, text: str) -> None:
        printer = self.printer
        width = self._measure(text)
        if text == "*" and width is None:
            printer.write(b"%!(BADWIDTH)")
        elif width is not None and width < 0:
            width, printer.minus, printer.zero = -width, True, False
        elif width is not None and self.after_index:
            self.good_index = False
        printer.width = width

    def _precision(self, index: str | None, text: str) -> None:
        printer = self.printer
        if self.after_index:
            self.good_index = False
        self._index(index)
        precision = self._measure(text)
        printer.precision = precision if text == "*" else precision or 0
        if printer.precision is None or printer.precision < 0:
            printer.precision = None
            printer.write(b"%!(BADPREC)")

    def _measure(self, text: str) -> int | None:
        """Returns a width or a precision, for `*` the next argument; None if it is missing or not valid."""
        if text != "*":
            number = _number(text)
            if text and number is None:  # too large: Go ignores the rest of the format
                self.position = len(self.format) + 1
            return number
        self.after_index = False
        if self.next >= len(self.values):
            return None
        value = self.values[self.next]
        self.next += 1
        is_number = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST_WIDTH
        return int(value) if is_number else None


def _number(digits: str) -> int | None:
    """Returns the number of some digits; None if they are not a number or it is too large for Go."""
    significant = digits.lstrip("0")
    if not (digits.isascii() and digits.isdecimal()) or len(significant) > LONGEST_WIDTH:
        return None
    number = int(significant or "0")
    return number if number // 10 <= LARGEST_WIDTH else None


_HTML = {b"\0": b"\xef\xbf\xbd", b'"': b"&#34;", b"'": b"&#39;", b"&": b"&amp;", b"<": b"&lt;", b">": b"&gt;"}
_HTML_SPECIAL = re.compile(b"[\\0\"'&<>]")


def escape_html(text: bytes) -> bytes:
    """template.HTMLEscapeString."""
    return _HTML_SPECIAL.sub(lambda match: _HTML[match[0]], text)


_JS = {"\\": "\\\\", "'": "\\'", '"': '\\"', "<": "\\u003C", ">": "\\u003E", "&": "\\u0026", "=": "\\u003D"}


def _escape_js(budget: RenderBudget, *values: go.Value) -> bytes:
    """template.JSEscaper."""
    text = _text(budget, *values).decode("utf-8", "surrogateescape")
    return "".join(map(_js_rune, text)).encode("utf-8", "surrogateescape")


def _js_rune(rune: str) -> str:
    if rune in _JS:
        return _JS[rune]
    if rune < " ":
        return f"\\u00{ord(rune):02X}"
    # Go escapes only valid characters beyond ASCII, and writes other bytes as they are.
    if rune <= "\x7f" or "\udc80" <= rune <= "\udcff" or is_print(rune):
        return rune
    return f"\\u{ord(rune):04X}"


def _eq(first: go.Value, *others: go.Value) -> bool:
    if not others:
        raise go.ExecutionError("there is nothing to compare with")
    return any(go.equal(first, other) for other in others)


def _less_or_equal(first: go.Value, other: go.Value) -> bool:
    return go.less(first, other) or go.equal(first, other)


def _index(item: go.Value, *indexes: go.Value) -> go.Value:
    """Returns the element of a list, a string or a map at an index; further indexes apply to that element."""
    if item is None or item is go.INVALID:
        raise go.ExecutionError("there is no value to index")
    for each in indexes:
        if isinstance(item, go.Map):
            if type(each) is not bytes:
                raise go.ExecutionError(f"a map's key is a string, not `{go.type_name(each)}`")
            field = item.lookup(each)
            item = go.zero(item.type.element) if field is go.INVALID else field
        elif isinstance(item, go.Slice | bytes):
            element = item[_position(each, len(item) - 1)]
            item = go.Uint8(element) if isinstance(item, bytes) else element
        else:
            raise go.ExecutionError(f"`{go.type_name(item)}` cannot be indexed")
    return item


def _position(each: go.Value, last: int) -> int:
    if not isinstance(each, int) or isinstance(each, bool):
        raise go.ExecutionError(f"an index is an integer, not `{go.type_name(each)}`")
    if not 0 <= each <= last:
        raise go.ExecutionError(f"the index {each} is out of range")
    return int(each)


def _slice(item: go.Value, *indexes: go.Value) -> go.Value:
    """Returns the part of a list or a string between two indexes; a third one, a list's capacity, is only checked."""
    if not isinstance(item, go.Slice | bytes):
        raise go.ExecutionError(f"`{go.type_name(item)}` cannot be sliced")
    if len(indexes) > (2 if isinstance(item, bytes) else 3):
        raise go.ExecutionError(f"{len(indexes)} indexes are too many")
    positions = [_position(each, len(item)) for each in indexes]
    start, end, *rest = [*positions, *(0, len(item))[len(positions) :]]
    if [start, end, *rest] != sorted([start, end, *rest]):
        raise go.ExecutionError("the indexes of a slice must not decrease")
    return item[start:end] if isinstance(item, bytes) else go.Slice(item[start:end], item.type, nil=item.nil)


def _length(item: go.Value) -> int:
    if isinstance(item, go.Slice | go.Map | bytes):
        return len(item)
    raise go.ExecutionError(f"`{go.type_name(item)}` has no length")


def _call(item: go.Value, *_arguments: go.Value) -> go.Value:
    """Raises `ExecutionError`: Go calls a function that is a value, and no value in a template is a function."""
    raise go.ExecutionError(f"`{go.type_name(item)}` is not a function")


def _text(budget: RenderBudget, *values: go.Value) -> bytes:
    """Formats the arguments as an action does."""
    text = sprint(budget, *(b"<no value>" if value is None else value for value in values), follow=True)
    budget.spend(len(text) >> 2)  # each character may be escaped separately
    return text


def _first_with(run: Run, dot: go.Value, arguments: Sequence[Evaluate], *, truth: bool) -> go.Value:
    """Returns the first argument with this truth, or the last one; the arguments after it are not evaluated."""
    value: go.Value = go.INVALID
    for evaluate in arguments:
        value = evaluate(run, dot)
        if go.is_true(value) is truth:
            break
    return value


def _include(run: Run, dot: go.Value, arguments: Sequence[Evaluate]) -> go.Value:
    """Returns the output of a template that is defined beside the outermost one."""
    name, data = [evaluate(run, dot) for evaluate in arguments]
    if (body := run.helpers.get(name)) is None:
        raise go.ExecutionError(f"unknown template `{runes(name)}`")
    templates = run.templates
    run.templates = run.helpers
    text = run.capture(body, go.INVALID if data is None else data)
    run.templates = templates
    return text


INCLUDE = special(_include, STRING, ANY)  # the function that Helm adds to sprig: the output of a template as a value


STANDARD: Mapping[str, Function] = {
    "and": special(partial(_first_with, truth=False), REFLECTED, rest=REFLECTED),
    "call": function(_call, REFLECTED, rest=REFLECTED),
    "eq": function(_eq, REFLECTED, rest=REFLECTED),
    "ge": function(lambda first, other: not go.less(first, other), REFLECTED, REFLECTED),
    "gt": function(lambda first, other: not _less_or_equal(first, other), REFLECTED, REFLECTED),
    "html": budgeted(lambda budget, *values: escape_html(_text(budget, *values)), rest=ANY),
    "index": function(_index, REFLECTED, rest=REFLECTED),
    "js": budgeted(_escape_js, rest=ANY),
    "le": function(_less_or_equal, REFLECTED, REFLECTED),
    "len": function(_length, REFLECTED),
    "lt": function(go.less, REFLECTED, REFLECTED),
    "ne": function(lambda first, other: not go.equal(first, other), REFLECTED, REFLECTED),
    "not": function(lambda value: not go.is_true(value), REFLECTED),
    "or": special(partial(_first_with, truth=True), REFLECTED, rest=REFLECTED),
    "print": budgeted(sprint, rest=ANY),
    "printf": budgeted(sprintf, STRING, rest=ANY),
    "println": budgeted(sprintln, rest=ANY),
    "slice": function(_slice, REFLECTED, rest=REFLECTED),
    "urlquery": budgeted(lambda budget, *values: query_escape(_text(budget, *values)), rest=ANY),
}
