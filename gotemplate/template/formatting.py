"""Formatting of values with a verb, its flags, width and precision, or as `print` writes them (package fmt)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

from gotemplate.limits import COST_OF_STRINGER
from gotemplate.template import text as go_text
from gotemplate.template import values as go
from gotemplate.template.errors import RenderBudget

_INTEGER_FORMS = {"v": "d", "d": "d", "b": "b", "o": "o", "O": "o", "x": "x", "X": "x"}
_FLOAT_PRECISIONS = dict.fromkeys("vbgGxX", go_text.SHORTEST) | dict.fromkeys("fFeE", 6)
_FLOAT_VERBS = {"v": "g", "F": "f"}
_PREFIXES = {"b": "0b", "x": "0x"}


def printed(value: go.Value, budget: RenderBudget) -> bytes:
    """Returns the output of an action; a pointer is followed unless it is in an interface with methods."""
    return b"<no value>" if value is go.INVALID else shown(value, budget, follow=True)


def shown(value: go.Value, budget: RenderBudget, *, follow: bool = False) -> bytes:
    """Formats a value like `%v`."""
    if type(value) is bytes:
        return value
    printer = Printer(budget)
    printer.argument(value, "v", follow=follow)
    return b"".join(printer.buffer)


class Printer:
    """A buffer that values are formatted into by a verb; `sharp_v` and `plus_v` are the flags of `%#v` and `%+v`."""

    def __init__(self, budget: RenderBudget) -> None:
        self.budget = budget
        self.buffer: list[bytes] = []
        self.size = 0
        self._erring = False
        self.clear()

    def clear(self) -> None:
        """Clears the flags of the previous verb."""
        self.minus = self.plus = self.sharp = self.space = self.zero = self.plus_v = self.sharp_v = False
        self.width: int | None = None
        self.precision: int | None = None

    def write(self, text: bytes) -> None:
        """Adds text to the buffer."""
        self.size += len(text)
        self.budget.check_size(self.size)
        self.buffer.append(text)

    def pad(self, text: bytes, *, zeros: bool = True) -> None:
        """Adds text to the buffer, padded to the width in runes; `zeros` allows padding with zeros."""
        missing = (self.width or 0) - len(go_text.runes(text))
        if missing <= 0:
            self.write(text)
            return
        self.budget.text(missing)
        if self.minus:
            self.write(text + b" " * missing)
        else:
            self.write((b"0" if self.zero and zeros else b" ") * missing + text)

    def integer(self, value: int, verb: str, *, sharp: bool) -> None:
        """Writes an integer in the base of a verb; `sharp` demands the prefix, as the verb O does."""
        if self.precision == 0 and value == 0:
            self.pad(b"", zeros=False)
            return
        form = _INTEGER_FORMS[verb]
        digits = format(abs(value), form)
        sign = "-" if value < 0 else "+" if self.plus else " " if self.space else ""
        least = self.precision
        if least is None and self.zero and not self.minus and self.width is not None:
            least = self.width - (1 if sign else 0)
        self.budget.text(least or 0)
        digits = digits.rjust(least or 0, "0")
        if sharp:
            digits = _PREFIXES.get(form, "") + digits
            digits = f"0{digits}" if form == "o" and digits[0] != "0" else digits
        if verb == "O":
            digits = "0o" + digits
        digits = sign + digits
        self.pad((digits.upper() if verb == "X" else digits).encode(), zeros=False)

    def unicode(self, value: int) -> None:
        """Writes an integer as U+0078, and adds its character if the flag `#` is set."""
        value &= go_text.MAX_UINT
        precision = max(self.precision or 4, 4)
        self.budget.text(precision)
        text = f"U+{value:0{precision}X}"
        if self.sharp and _is_character(value) and go_text.is_print(chr(value)):
            text += f" '{chr(value)}'"
        self.pad(text.encode(), zeros=False)

    def quoted(self, value: bytes) -> None:
        """Writes a quoted string: between backticks with `#` if that is possible, in ASCII with `+`."""
        value = self._cut(value)
        self.budget.spend(len(value) >> 3)
        if self.sharp and go_text.can_backquote(value):
            self.pad(b"`" + value + b"`")
        else:
            self.pad(go_text.quote(value, ascii_only=self.plus))

    def hexadecimal(self, value: bytes, *, large: bool) -> None:
        """Writes bytes in hexadecimal: as many as the precision, with spaces between by a flag, and 0x by `#`."""
        value = value if self.precision is None else value[: self.precision]
        prefix = b"0x" if self.sharp else b""
        digits = value.hex(" ").encode().split(b" ")
        text = prefix + (b" " + prefix).join(digits) if self.space else prefix + b"".join(digits)
        text = text if value else b""
        self.pad(text.upper() if large else text)

    def _cut(self, value: bytes) -> bytes:
        """Returns as many runes of a string as the precision allows."""
        if self.precision is None or len(value) <= self.precision:
            return value
        starts = go_text.rune_starts(value)
        return value if len(starts) <= self.precision else value[: starts[self.precision]]

    def floating(self, value: float, verb: str, precision: int) -> None:
        """Writes a float64; a precision of -1 demands the shortest form."""
        precision = precision if self.precision is None else self.precision
        self.budget.text(max(precision, 0))
        number = go_text.format_float(value, verb, precision)
        sign = number[0] if number[0] in "+-" else "+"
        number = number.lstrip("+-")
        if sign == "+" and self.space and not self.plus:
            sign = " "
        if not math.isfinite(value):
            unsigned = number == "NaN" and not self.space and not self.plus
            self.pad((number if unsigned else sign + number).encode(), zeros=False)
            return
        if self.sharp and verb != "b":
            number = go_text.with_zeros(number, verb, precision)
        if sign == "+" and not self.plus:
            self.pad(number.encode())
        elif self.zero and not self.minus and self.width is not None and self.width > len(number) + 1:
            self.budget.text(self.width)
            self.write((sign + number.rjust(self.width - 1, "0")).encode())
        else:
            self.pad((sign + number).encode())

    def argument(self, value: go.Value, verb: str, *, follow: bool = False) -> None:
        """Writes a value that is not inside another; `follow` writes what a pointer points to, without its `&`."""
        if value is None and verb in "Tv":
            self.pad(b"<nil>")
        elif value is None or verb == "w":
            self.bad_verb(value, verb)
        elif verb == "T":
            self.pad(self._cut(go.type_name(value).encode()))
        elif verb == "p":
            go.type_name(value)  # an absent user has no type name and raises an error here
            if go.is_nil(value):
                self.integer(0, "x", sharp=not self.sharp)
            elif isinstance(value, go.Slice | go.Map | go.Struct):
                raise go.ExecutionError("an address in memory cannot be printed")
            else:
                self.bad_verb(value, "p")
        elif follow and type(value) is go.Struct and value.type.stringer is None and not value.boxed:
            self._struct(value, verb, 0)
        else:
            self._value(value, verb, 0)

    def bad_verb(self, value: go.Value, verb: str) -> None:
        """Writes the error text for a verb that does not fit the value."""
        self._erring = True
        self.write(go_text.go_string(f"%!{verb}("))
        if value is None:
            self.write(b"<nil>")
        else:
            self.write(go.type_name(value).encode() + b"=")
            self._value(value, "v", 0)
        self.write(b")")
        self._erring = False

    def _value(self, value: go.Value, verb: str, depth: int) -> None:
        self.budget.spend()
        self.budget.nest(depth)
        if value is None:
            # This happens only inside a list or a map, where Go writes a nil in the same way with every verb.
            self.write(b"interface {}(nil)" if self.sharp_v else b"<nil>")
            return
        of = go.type_of(value)
        if of.stringer is not None and verb in "vsxXq" and not self.sharp_v and not self._erring:
            self.budget.spend(COST_OF_STRINGER)
            self._string(of.stringer(value), verb)
        else:
            self._KINDS[of.kind](self, value, verb, depth)

    def _bool(self, value: bool, verb: str, _depth: int) -> None:  # noqa: FBT001 - the value to write, not a flag
        if verb in "tv":
            self.pad(b"true" if value else b"false")
        else:
            self.bad_verb(value, verb)

    def _signed(self, value: int, verb: str, _depth: int) -> None:
        if verb in _INTEGER_FORMS:
            self.integer(value, verb, sharp=self.sharp)
        elif verb == "c":
            self.pad(_rune(value).encode())
        elif verb == "q":
            self.pad(go_text.quote_rune(_rune(value), ascii_only=self.plus))
        elif verb == "U":
            self.unicode(value)
        else:
            self.bad_verb(value, verb)

    def _unsigned(self, value: int, verb: str, depth: int) -> None:
        if verb == "v" and self.sharp_v:
            self.integer(value, "x", sharp=True)
        else:
            self._signed(value, verb, depth)

    def _float(self, value: float, verb: str, _depth: int) -> None:
        if verb in _FLOAT_PRECISIONS:
            self.floating(value, _FLOAT_VERBS.get(verb, verb), _FLOAT_PRECISIONS[verb])
        else:
            self.bad_verb(value, verb)

    def _complex(self, value: complex, verb: str, depth: int) -> None:
        if verb not in _FLOAT_PRECISIONS:
            self.bad_verb(value, verb)
            return
        plus = self.plus
        self.write(b"(")
        self._float(value.real, verb, depth)
        self.plus = True
        self._float(value.imag, verb, depth)
        self.write(b"i)")
        self.plus = plus

    def _string(self, value: bytes, verb: str, _depth: int = 0) -> None:
        if verb == "q" or (verb == "v" and self.sharp_v):
            self.quoted(value)
        elif verb in "sv":
            self.pad(self._cut(value))
        elif verb in "xX":
            self.hexadecimal(value, large=verb == "X")
        else:
            self.bad_verb(value, verb)

    def _container(self, value: go.Slice | go.Map, verb: str, depth: int) -> None:
        is_map = isinstance(value, go.Map)
        if self.sharp_v:
            self.write(value.type.name.encode())
            if value.nil:
                self.write(b"(nil)")
                return
        self.write(b"{" if self.sharp_v else b"map[" if is_map else b"[")
        for number, item in enumerate(sorted(value) if is_map else value):
            self._separate(number)
            if is_map:
                self._value(item, verb, depth + 1)
                self.write(b":")
            self._value(value[item] if is_map else item, verb, depth + 1)
        self.write(b"}" if self.sharp_v else b"]")

    def _separate(self, number: int) -> None:
        if number:
            self.write(b", " if self.sharp_v else b" ")

    def _struct(self, value: go.Struct, verb: str, depth: int) -> None:
        if value.type.opaque:
            raise go.ExecutionError(f"`{value.type.name}` cannot be written as a whole")
        if self.sharp_v:
            self.write(value.type.name.removeprefix("*").encode())
        self.write(b"{")
        for number, (name, getter) in enumerate(value.type.getters.items()):
            self._separate(number)
            if self.plus_v or self.sharp_v:
                self.write(name + b":")
            self._value(getter(value.source), verb, depth + 1)
        self.write(b"}")

    def _pointer(self, value: go.Value, verb: str, depth: int) -> None:
        if go.is_nil(value):
            # The verbs of integers write the integer 0.
            if verb == "v" and self.sharp_v:
                self.write(f"({go.type_name(value)})(nil)".encode())
            elif verb == "v":
                self.pad(b"<nil>")
            elif verb in "bdoxX":
                self.integer(0, verb, sharp=self.sharp)
            else:
                self.bad_verb(value, verb)
        elif depth:
            raise go.ExecutionError(f"`{value.type.name}` within another value is an address, which cannot be printed")
        else:
            self.write(b"&")
            self._struct(value, verb, depth)

    _KINDS: ClassVar[dict[str, Callable[[Printer, go.Value, str, int], None]]] = {
        "bool": _bool,
        "int": _signed,
        "int64": _signed,
        "uint8": _unsigned,
        "uint64": _unsigned,
        "float64": _float,
        "complex128": _complex,
        "string": _string,
        "slice": _container,
        "map": _container,
        "struct": _struct,
        "ptr": _pointer,
        "interface": _pointer,
    }


def _rune(value: int) -> str:
    """Returns the character of a code, or U+FFFD if there is no such character."""
    value &= go_text.MAX_UINT
    return chr(value) if _is_character(value) else "\ufffd"


def _is_character(code: int) -> bool:
    return code <= 0x10FFFF and not 0xD800 <= code < 0xE000
