"""Defaults for empty values, types and numbers (sprig's defaults.go, reflect.go and numeric.go), random ones apart."""

from __future__ import annotations

import math
import operator
import re
import secrets
import string
import uuid
from base64 import b64encode
from collections.abc import Callable, Mapping
from fractions import Fraction

from gotemplate.limits import COST_OF_DECIMAL, DIVISION_PLACES
from gotemplate.template import text as go_text
from gotemplate.template import values as go
from gotemplate.template.calling import ANY, BOOL, FLOAT, INT, STRING, Function, budgeted, function
from gotemplate.template.errors import RenderBudget
from gotemplate.template.formatting import shown
from gotemplate.template.values import ExecutionError


def forgiving(call: Callable[..., go.Value], fallback: Callable[..., go.Value]) -> Callable[..., go.Value]:
    """Returns a function with a fallback value for errors, as in sprig's functions without `must`."""

    def forgiven(budget: RenderBudget, *arguments: go.Value) -> go.Value:
        try:
            return call(budget, *arguments)
        except go.ExecutionError:
            return fallback(*arguments)

    return forgiven


def _fail(message: bytes) -> go.Value:
    raise go.ExecutionError(go_text.runes(message))


_DECIMAL = re.compile(r"([+-]?)([0-9]*)\.[0-9]*")
_LARGEST_UINT = (20, str(go_text.MAX_UINT))  # as the number of its digits and their text, which compare as numbers do
_LEADING_DIGITS = re.compile(r"[+-]?0*([0-9]*)")


def to_int(value: go.Value) -> int:
    """cast.ToInt: truncates floats, reads strings as Go's integer literals or cuts decimals; any other value is 0."""
    if isinstance(value, float):
        return go_text.float_to_int(value)
    if isinstance(value, bytes):
        text = go_text.runes(value)
        decimal = _DECIMAL.fullmatch(text)
        return _read_int(decimal[1] + (decimal[2] or "0") if decimal else text, 0)
    return go_text.wrap_int(int(value)) if isinstance(value, int) else 0


def to_float(value: go.Value) -> float:
    """cast.ToFloat64: reads strings as Go's floating-point literals; any other value is 0."""
    if isinstance(value, bytes):
        try:
            return go_text.parse_float(go_text.runes(value))
        except go_text.NumberError:
            return 0.0
    return float(value) if isinstance(value, int | float) else 0.0


def _read_int(text: str, base: int) -> int:
    try:
        return go_text.parse_int(text, base)
    except go_text.NumberError:
        return 0


def atoi(text: bytes) -> int:
    """strconv.Atoi without its error: a number that is too large is the largest int, whatever follows its digits."""
    number = go_text.runes(text)
    leading = _LEADING_DIGITS.match(number)
    assert leading is not None
    if (len(leading[1]), leading[1]) > _LARGEST_UINT:
        number = leading[0]
    try:
        return go_text.parse_int(number, 10)
    except go_text.NumberError as error:
        return error.clamped


def _wrapping(operation: Callable[[int, int], int]) -> Callable[..., go.Int64]:
    """Returns the operation over all arguments; each result wraps to 64 bits."""

    def calculate(first: go.Value, *others: go.Value) -> go.Int64:
        result = to_int(first)
        for other in others:
            result = go_text.wrap_int(operation(result, to_int(other)))
        return go.Int64(result)

    return calculate


def _quotient(dividend: int, divisor: int) -> int:
    if divisor == 0:
        raise go.ExecutionError("division by zero")
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def _fraction(value: go.Value) -> Fraction:
    """Returns the exact decimal of a float's shortest form."""
    number = to_float(value)
    if not math.isfinite(number):
        raise go.ExecutionError(f"`{number}` is not a decimal")
    return Fraction(repr(number))


def _decimal(operation: Callable[[Fraction, Fraction], Fraction]) -> Callable[..., float]:
    """Returns the operation over all arguments in exact decimals; the result is a float."""

    def calculate(budget: RenderBudget, first: go.Value, *others: go.Value) -> float:
        budget.spend(COST_OF_DECIMAL)
        result = _fraction(first)
        for other in others:
            result = operation(result, _fraction(other))
            budget.spend(COST_OF_DECIMAL)
            budget.spend(result.denominator.bit_length() + result.numerator.bit_length() >> 4)
        try:
            return float(result)
        except OverflowError:
            return -math.inf if result < 0 else math.inf

    return calculate


def _divide(dividend: Fraction, divisor: Fraction) -> Fraction:
    """decimal.DivRound: rounds to 16 places, half away from zero."""
    if divisor == 0:
        raise go.ExecutionError("division by zero")
    scaled = abs(dividend / divisor) * 10**DIVISION_PLACES
    rounded = Fraction(math.floor(scaled + Fraction(1, 2)), 10**DIVISION_PLACES)
    return rounded if (dividend < 0) == (divisor < 0) else -rounded


def _extreme(sign: int) -> Callable[..., float]:
    """math.Max, or math.Min if the sign is -1: an infinity wins over NaN, NaN over numbers, and 0 over -0 for Max."""

    def rank(number: float) -> tuple[bool, bool, float, float]:
        is_nan = math.isnan(number)
        return number == sign * math.inf, is_nan, 0 if is_nan else sign * number, sign * math.copysign(1, number)

    return lambda first, *others: max(map(to_float, (first, *others)), key=rank)


def _whole(rounding: Callable[[float], int], number: float) -> float:
    """Returns the rounded number with its sign; infinities and NaN stay."""
    return math.copysign(float(rounding(number)), number) if math.isfinite(number) else number


def _round(value: go.Value, places: int, *threshold: float) -> float:
    """Rounds up if the fraction reaches a threshold, one half unless it is given."""
    power = _power_of_ten(places)
    scaled = power * to_float(value)
    fraction = math.modf(scaled)[0] if math.isfinite(scaled) else math.nan
    up = fraction >= (threshold[0] if threshold else 0.5)
    rounded = _whole(math.ceil if up else math.floor, scaled)
    return rounded / power if power else math.nan if rounded == 0 or math.isnan(rounded) else rounded * math.inf


def _power_of_ten(places: int) -> float:
    """Returns math.Pow(10, places) by the squarings of Go; the last bit may differ from C's."""
    mantissa, exponent = 1.0, 0
    square, shift = math.frexp(10.0)
    left = abs(places)
    while left and shift <= 1 << 12:
        if left & 1:
            mantissa *= square
            exponent += shift
        square *= square
        shift <<= 1
        if square < 0.5:
            square += square
            shift -= 1
        left >>= 1
    exponent += shift if left else 0
    try:
        return math.ldexp(mantissa, exponent) if places >= 0 else math.ldexp(1 / mantissa, -exponent)
    except OverflowError:
        return math.inf


def _until_step(budget: RenderBudget, start: int, stop: int, step: int) -> go.Slice:
    if step == 0 or (step > 0) != (start <= stop):
        return go.Slice((), go.INT_SLICE)
    budget.items(-((start - stop) // step))
    return go.Slice(range(start, stop, step), go.INT_SLICE)


def _seq(budget: RenderBudget, *numbers: int) -> bytes:
    """Returns numbers like the command `seq`: `seq LAST`, `seq FIRST LAST` or `seq FIRST STEP LAST`."""
    if not 1 <= len(numbers) <= 3:
        return b""
    start, end = (1, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[-1])
    direction = -1 if end < start else 1
    step = numbers[1] if len(numbers) == 3 else direction
    return b" ".join(b"%d" % number for number in _until_step(budget, start, end + direction, step))


FUNCTIONS: Mapping[str, Function] = {
    "all": function(lambda *values: all(map(go.is_true, values)), rest=ANY),
    "any": function(lambda *values: any(map(go.is_true, values)), rest=ANY),
    "coalesce": function(lambda *values: next(filter(go.is_true, values), None), rest=ANY),
    "default": function(lambda other, *values: values[0] if values and go.is_true(values[0]) else other, ANY, rest=ANY),
    "empty": function(lambda value: not go.is_true(value), ANY),
    "fail": function(_fail, STRING),
    "ternary": function(lambda yes, no, condition: yes if condition else no, ANY, ANY, BOOL),
    "atoi": function(atoi, STRING),
    "float64": function(to_float, ANY),
    "int": function(to_int, ANY),
    "int64": function(lambda value: go.Int64(to_int(value)), ANY),
    # The number in a value's text is octal.
    "toDecimal": budgeted(lambda budget, value: go.Int64(_read_int(go_text.runes(shown(value, budget)), 8)), ANY),
    "deepEqual": budgeted(go.deep_equal, ANY, ANY),
    "kindIs": function(lambda name, value: name == go.kind_of(value).encode(), STRING, ANY),
    "kindOf": function(lambda value: go.kind_of(value).encode(), ANY),
    "typeIs": function(lambda name, value: name == go.type_name(value).encode(), STRING, ANY),
    "typeIsLike": function(lambda name, value: go.type_name(value).encode() in (name, b"*" + name), STRING, ANY),
    "typeOf": function(lambda value: go.type_name(value).encode(), ANY),
    "add": function(lambda *values: _wrapping(operator.add)(0, *values), rest=ANY),
    "add1": function(lambda value: _wrapping(operator.add)(value, 1), ANY),
    "add1f": budgeted(lambda budget, value: _decimal(operator.add)(budget, value, 1), ANY),
    "addf": budgeted(lambda budget, *values: _decimal(operator.add)(budget, 0, *values), rest=ANY),
    "biggest": function(_wrapping(max), ANY, rest=ANY),
    "ceil": function(lambda value: _whole(math.ceil, to_float(value)), ANY),
    "div": function(_wrapping(_quotient), ANY, ANY),
    "divf": budgeted(_decimal(_divide), ANY, rest=ANY),
    "floor": function(lambda value: _whole(math.floor, to_float(value)), ANY),
    "max": function(_wrapping(max), ANY, rest=ANY),
    "maxf": function(_extreme(1), ANY, rest=ANY),
    "min": function(_wrapping(min), ANY, rest=ANY),
    "minf": function(_extreme(-1), ANY, rest=ANY),
    "mod": function(_wrapping(lambda one, other: one - other * _quotient(one, other)), ANY, ANY),
    "mul": function(_wrapping(operator.mul), ANY, rest=ANY),
    "mulf": budgeted(_decimal(operator.mul), ANY, rest=ANY),
    "round": function(_round, ANY, INT, rest=FLOAT),
    "seq": budgeted(_seq, rest=INT),
    "sub": function(_wrapping(operator.sub), ANY, ANY),
    "subf": budgeted(_decimal(operator.sub), ANY, rest=ANY),
    "until": budgeted(lambda budget, count: _until_step(budget, 0, count, -1 if count < 0 else 1), INT),
    "untilStep": budgeted(_until_step, INT, INT, INT),
}


_ASCII = "".join(map(chr, range(32, 127)))


def _spend(budget: RenderBudget, count: int) -> None:
    """Charges a step for each character, because drawing takes longer than copying."""
    budget.check_size(count)
    budget.spend(count)


def _drawn(alphabet: str) -> Function:
    """Returns a function that makes a text of a number of random characters; Go's is empty for a negative number."""

    def draw(budget: RenderBudget, count: int) -> bytes:
        _spend(budget, max(count, 0))
        return "".join(secrets.choice(alphabet) for _ in range(count)).encode()

    return budgeted(draw, INT)


def _bytes(budget: RenderBudget, count: int) -> bytes:
    if count < 0:
        raise ExecutionError("the number of bytes is negative")
    budget.text(2 * count)
    return b64encode(secrets.token_bytes(count))


def _int(least: int, beyond: int) -> int:
    if beyond <= least:
        raise ExecutionError("the range of `randInt` is empty")
    return least + secrets.randbelow(beyond - least)


def _shuffle(budget: RenderBudget, text: bytes) -> bytes:
    _spend(budget, len(text))
    characters = list(go_text.runes(text))
    secrets.SystemRandom().shuffle(characters)
    return go_text.go_string("".join(characters))


RANDOM: Mapping[str, Function] = {
    "randAlpha": _drawn(string.ascii_letters),
    "randAlphaNum": _drawn(string.ascii_letters + string.digits),
    "randAscii": _drawn(_ASCII),
    "randBytes": budgeted(_bytes, INT),
    "randInt": function(_int, INT, INT),
    "randNumeric": _drawn(string.digits),
    "shuffle": budgeted(_shuffle, STRING),
    "uuidv4": function(lambda: str(uuid.uuid4()).encode()),
}
"""The functions with a random result, for callers who want them."""
