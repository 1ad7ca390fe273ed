"""Scalars as text: floats in every form, and each kind with a verb's flags, width and precision (fmt's format.go)."""

from __future__ import annotations

import math
import struct
from decimal import Decimal

from tornado_proxy.templates.golang.literals import MAX_UINT, can_backquote, quote, quote_rune
from tornado_proxy.templates.golang.text import is_print, rune_starts, runes
from tornado_proxy.templates.template import RenderBudget

_BIAS = 1023
_MANTISSA_BITS = 52
# The exponents that the shortest %g writes without one.
_LEAST_PLAIN, _MOST_PLAIN = -4, 6
SHORTEST = -1
"""The precision that asks for the fewest digits that read back as the same number."""


def format_float(value: float, verb: str, precision: int = SHORTEST) -> str:
    """The number in one of Go's forms: b, e, E, f, g, G, x or X."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    sign = "-" if math.copysign(1, value) < 0 else ""
    return sign + _unsigned(abs(value), verb, precision)


def _unsigned(value: float, verb: str, precision: int) -> str:
    match verb:
        case "b":
            return _binary(value)
        case "x" | "X":
            text = _hexadecimal(value, precision)
            return text.upper() if verb == "X" else text
        case "E" | "G":
            return _unsigned(value, verb.lower(), precision).upper()
    return _shortest(value, verb) if precision < 0 else f"{value:.{precision}{verb}}"


def shortest_digits(value: float) -> tuple[str, int]:
    """The fewest digits that read back as a positive number, and where the point stands before, after or in them."""
    _, digits, exponent = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits))
    point = len(text) + int(exponent)
    stripped = text.rstrip("0")
    return stripped, point if stripped else 1


def _shortest(value: float, verb: str) -> str:
    digits, point = shortest_digits(value)
    exponent = point - 1
    if verb == "e" or (verb == "g" and not _LEAST_PLAIN <= exponent < _MOST_PLAIN):
        return _scientific(digits or "0", exponent)
    return _plain(digits, point)


def _scientific(digits: str, exponent: int) -> str:
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _plain(digits: str, point: int) -> str:
    if point <= 0:
        return f"0.{'0' * -point}{digits}"
    whole = digits[:point].ljust(point, "0")
    return f"{whole}.{digits[point:]}" if len(digits) > point else whole


def _parts(value: float) -> tuple[int, int]:
    """The mantissa with its leading bit, and the exponent of that bit."""
    (bits,) = struct.unpack(">Q", struct.pack(">d", value))
    exponent = bits >> _MANTISSA_BITS
    mantissa = bits & ((1 << _MANTISSA_BITS) - 1)
    if exponent == 0:
        return mantissa, 1 - _BIAS
    return mantissa | 1 << _MANTISSA_BITS, exponent - _BIAS


def _binary(value: float) -> str:
    mantissa, exponent = _parts(value)
    return f"{mantissa}p{exponent - _MANTISSA_BITS:+d}"


def _hexadecimal(value: float, precision: int) -> str:
    mantissa, exponent = _parts(value)
    if mantissa == 0:
        exponent = 0
    else:
        shift = _MANTISSA_BITS + 1 - mantissa.bit_length()
        mantissa <<= shift
        exponent -= shift
    digits = _MANTISSA_BITS // 4
    if 0 <= precision < digits:
        dropped = 4 * (digits - precision)
        half, rest = 1 << (dropped - 1), mantissa & ((1 << dropped) - 1)
        mantissa >>= dropped
        if rest > half or (rest == half and mantissa & 1):
            mantissa += 1
        mantissa <<= dropped
        if mantissa >> (_MANTISSA_BITS + 1):
            mantissa >>= 1
            exponent += 1
    fraction = f"{mantissa & ((1 << _MANTISSA_BITS) - 1):0{digits}x}"
    fraction = fraction.rstrip("0") if precision < 0 else fraction.ljust(precision, "0")[:precision]
    point = "." if fraction else ""
    return f"0x{mantissa >> _MANTISSA_BITS}{point}{fraction}p{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


_BASES = {2: "b", 8: "o", 10: "d", 16: "x"}
_PREFIXES = {2: "0b", 16: "0x"}


class Layout:
    """A buffer, and the flags of the verb at hand: `sharp_v` and `plus_v` are those of `%#v` and `%+v`."""

    __slots__ = (
        "budget",
        "buffer",
        "minus",
        "plus",
        "plus_v",
        "precision",
        "sharp",
        "sharp_v",
        "size",
        "space",
        "width",
        "zero",
    )

    def __init__(self, budget: RenderBudget) -> None:
        self.budget = budget
        self.buffer: list[bytes] = []
        self.size = 0
        self.clear()

    def clear(self) -> None:
        """Forget the flags of the verb before."""
        self.minus = self.plus = self.sharp = self.space = self.zero = self.plus_v = self.sharp_v = False
        self.width: int | None = None
        self.precision: int | None = None

    def write(self, text: bytes) -> None:
        """Add to the buffer."""
        self.size += len(text)
        self.budget.fit(self.size)
        self.buffer.append(text)

    def pad(self, text: bytes) -> None:
        """Add to the buffer, made as wide as the verb says, counted in runes."""
        missing = (self.width or 0) - len(runes(text))
        if missing <= 0:
            self.write(text)
            return
        self.budget.text(missing)
        if self.minus:
            self.write(text + b" " * missing)
        else:
            self.write((b"0" if self.zero else b" ") * missing + text)

    def _pad_with_spaces(self, text: bytes) -> None:
        zero, self.zero = self.zero, False
        self.pad(text)
        self.zero = zero

    def boolean(self, value: bool) -> None:  # noqa: FBT001 - it is the value to lay out, no flag
        """A bool."""
        self.pad(b"true" if value else b"false")

    def integer(self, value: int, base: int, verb: str) -> None:
        """An integer in a base; `verb` X and O change the digits and the prefix."""
        if self.precision == 0 and value == 0:
            self._pad_with_spaces(b"")
            return
        digits = format(abs(value), _BASES[base])
        sign = "-" if value < 0 else "+" if self.plus else " " if self.space else ""
        least = self.precision
        if least is None and self.zero and not self.minus and self.width is not None:
            least = self.width - (1 if sign else 0)
        self.budget.text(least or 0)
        digits = digits.rjust(least or 0, "0")
        if self.sharp:
            digits = _PREFIXES[base] + digits if base in _PREFIXES else digits
            digits = f"0{digits}" if base == 8 and digits[0] != "0" else digits
        if verb == "O":
            digits = "0o" + digits
        digits = sign + digits
        self._pad_with_spaces((digits.upper() if verb == "X" else digits).encode())

    def unicode(self, value: int) -> None:
        """An integer as U+0078, and as its character with `#`."""
        value &= MAX_UINT
        precision = max(self.precision or 4, 4)
        self.budget.text(precision)
        text = f"U+{value:0{precision}X}"
        if self.sharp and value <= 0x10FFFF and not 0xD800 <= value < 0xE000 and is_print(chr(value)):
            text += f" '{chr(value)}'"
        self._pad_with_spaces(text.encode())

    def character(self, value: int) -> None:
        """An integer as the character of that code."""
        self.pad(_rune(value).encode())

    def quoted_character(self, value: int) -> None:
        """An integer as a quoted character."""
        self.pad(quote_rune(_rune(value), ascii_only=self.plus))

    def string(self, value: bytes) -> None:
        """A string as it is, cut to as many runes as the precision says."""
        self.pad(self._cut(value))

    def quoted(self, value: bytes) -> None:
        """A quoted string: between backticks with `#` where that is possible, in ASCII with `+`."""
        value = self._cut(value)
        self.budget.spend(len(value) >> 3)
        if self.sharp and can_backquote(value):
            self.pad(b"`" + value + b"`")
        else:
            self.pad(quote(value, ascii_only=self.plus))

    def hexadecimal(self, value: bytes, *, large: bool) -> None:
        """A string's bytes in hexadecimal; the precision counts bytes, a space parts them, `#` adds 0x."""
        value = value if self.precision is None else value[: self.precision]
        prefix = b"0x" if self.sharp else b""
        digits = value.hex(" ").encode().split(b" ")
        text = prefix + (b" " + prefix).join(digits) if self.space else prefix + b"".join(digits)
        text = text if value else b""
        self.pad(text.upper() if large else text)

    def _cut(self, value: bytes) -> bytes:
        if self.precision is None or len(value) <= self.precision:
            return value
        starts = rune_starts(value)
        return value if len(starts) <= self.precision else value[: starts[self.precision]]

    def floating(self, value: float, verb: str, precision: int) -> None:
        """A float64; a precision of -1 asks for the shortest form."""
        precision = precision if self.precision is None else self.precision
        self.budget.text(max(precision, 0))
        number = format_float(value, verb, precision)
        sign = number[0] if number[0] in "+-" else "+"
        number = number.lstrip("+-")
        if sign == "+" and self.space and not self.plus:
            sign = " "
        if not math.isfinite(value):
            unsigned = number == "NaN" and not self.space and not self.plus
            self._pad_with_spaces((number if unsigned else sign + number).encode())
            return
        if self.sharp and verb != "b":
            number = _with_zeros(number, verb, precision)
        if sign == "+" and not self.plus:
            self.pad(number.encode())
        elif self.zero and not self.minus and self.width is not None and self.width > len(number) + 1:
            self.budget.text(self.width)
            self.write((sign + number.rjust(self.width - 1, "0")).encode())
        else:
            self.pad((sign + number).encode())


def _rune(value: int) -> str:
    """The character of a code; U+FFFD where there is none."""
    value &= MAX_UINT
    return chr(value) if value <= 0x10FFFF and not 0xD800 <= value < 0xE000 else "\ufffd"


def _with_zeros(number: str, verb: str, precision: int) -> str:
    """What `#` adds to a number: the point in any case, and for %g the zeros that it would drop."""
    digits = 0
    if verb in "gGx":
        digits = 6 if precision == SHORTEST else precision
    cut = next((i for i, char in enumerate(number) if char in "pP" or (char in "eE" and verb not in "xX")), len(number))
    head, tail = number[:cut], number[cut:]
    seen = False
    for char in head:
        if char == ".":
            continue
        seen = seen or char != "0"
        digits -= seen
    if "." not in head:
        digits -= head == "0"
        head += "."
    return head + "0" * max(digits, 0) + tail
