"""What `print`, `println` and `printf` write, the last with flags, widths and argument indexes (package fmt)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tornado_proxy.templates.golang.formatting import Printer
from tornado_proxy.templates.golang.text import go_string
from tornado_proxy.templates.golang.values import Value, type_name
from tornado_proxy.templates.template import RenderBudget

_LARGEST = 1_000_000
_LONGEST = 8
_FLAGS = {"#": "sharp", "0": "zero", "+": "plus", "-": "minus", " ": "space"}
_DIGITS = re.compile("[0-9]*")


def sprint(budget: RenderBudget, *values: Value, follow: bool = False) -> bytes:
    """fmt.Sprint: a space stands between two operands if neither is a string."""
    printer = Printer(budget)
    after_string = True
    for value in values:
        is_string = type(value) is bytes
        if not is_string and not after_string:
            printer.write(b" ")
        printer.argument(value, "v", follow=follow)
        after_string = is_string
    return b"".join(printer.buffer)


def sprintln(budget: RenderBudget, *values: Value) -> bytes:
    """fmt.Sprintln: a space stands between any two, a line feed at the end."""
    printer = Printer(budget)
    for number, value in enumerate(values):
        if number:
            printer.write(b" ")
        printer.argument(value, "v")
    printer.write(b"\n")
    return b"".join(printer.buffer)


def sprintf(budget: RenderBudget, format: bytes, *values: Value) -> bytes:
    """The format with each verb replaced by its argument."""
    printer = Printer(budget)
    _Formatting(format.decode("utf-8", "surrogateescape"), values, printer).run()
    return b"".join(printer.buffer)


@dataclass(slots=True)
class _Formatting:
    """One walk through a format; `next` is the argument that the next verb takes."""

    format: str
    values: Sequence[Value]
    printer: Printer
    position: int = 0
    next: int = 0
    reordered: bool = False
    good_index: bool = True
    after_index: bool = False

    def run(self) -> None:
        """Write everything."""
        while self.position < len(self.format):
            percent = self.format.find("%", self.position)
            end = len(self.format) if percent < 0 else percent
            self.printer.write(self.format[self.position : end].encode("utf-8", "surrogateescape"))
            self.position = end + 1
            if percent >= 0:
                self._verb()
        if not self.reordered and self.next < len(self.values):
            self._extra()

    def _verb(self) -> None:
        printer = self.printer
        printer.clear()
        self.good_index, self.after_index = True, False
        while (flag := self._peek()) in _FLAGS:
            setattr(printer, _FLAGS[flag], True)
            self.position += 1
        self._index()
        self._width()
        self._precision()
        if not self.after_index:
            self._index()
        verb = self._peek()
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

    def _peek(self) -> str:
        return self.format[self.position : self.position + 1]

    def _index(self) -> None:
        """An argument's number between brackets."""
        self.after_index = False
        if self._peek() != "[":
            return
        self.reordered = True
        closing = self.format.find("]", self.position)
        if closing < 0 or len(self.format) - self.position < 3:
            self.good_index = False
            self.position += 1
            return
        digits = self.format[self.position + 1 : closing]
        self.position = closing + 1
        number = _number(digits)
        self.after_index = number is not None
        if number is None or not 1 <= number <= len(self.values):
            self.good_index = False
        else:
            self.next = number - 1

    def _width(self) -> None:
        printer = self.printer
        if self._peek() == "*":
            self.position += 1
            printer.width = self._star()
            if printer.width is None:
                printer.write(b"%!(BADWIDTH)")
            elif printer.width < 0:
                printer.width, printer.minus, printer.zero = -printer.width, True, False
            self.after_index = False
            return
        printer.width = self._digits()
        if self.after_index and printer.width is not None:
            self.good_index = False

    def _precision(self) -> None:
        printer = self.printer
        # A point that ends the format is its verb.
        if self._peek() != "." or self.position + 1 >= len(self.format):
            return
        self.position += 1
        if self.after_index:
            self.good_index = False
        self._index()
        if self._peek() != "*":
            printer.precision = self._digits() or 0
            return
        self.position += 1
        printer.precision = self._star()
        if printer.precision is None or printer.precision < 0:
            printer.precision = None
            printer.write(b"%!(BADPREC)")
        self.after_index = False

    def _star(self) -> int | None:
        """An argument that gives a width or a precision; None if it cannot."""
        if self.next >= len(self.values):
            return None
        value = self.values[self.next]
        self.next += 1
        if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _LARGEST:
            return None
        return int(value)

    def _digits(self) -> int | None:
        match = _DIGITS.match(self.format, self.position)
        assert match is not None
        if not match[0]:
            return None
        number = _number(match[0])
        # Go gives up the rest of the format with a number that is too large.
        self.position = len(self.format) if number is None else match.end()
        return number

    def _extra(self) -> None:
        printer = self.printer
        printer.clear()
        printer.write(b"%!(EXTRA ")
        for number, value in enumerate(self.values[self.next :]):
            if number:
                printer.write(b", ")
            printer.write(go_string(type_name(value)))
            if value is not None:
                printer.write(b"=")
                printer.argument(value, "v")
        printer.write(b")")


def _number(digits: str) -> int | None:
    """The number, if it is one and not absurdly large."""
    significant = digits.lstrip("0")
    if not digits or not _DIGITS.fullmatch(digits) or len(significant) > _LONGEST:
        return None
    number = int(significant or "0")
    return number if number // 10 <= _LARGEST else None
