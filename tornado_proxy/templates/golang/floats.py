"""Floating-point numbers as text (strconv.FormatFloat with 64 bits)."""

from __future__ import annotations

import math
import struct
from decimal import Decimal

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
