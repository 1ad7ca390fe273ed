"""Operators between two values: numbers of a size that a key can hold, texts and lists within the budget."""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Mapping
from typing import Any

from tornado_proxy.templates.errors import LimitError, RenderError
from tornado_proxy.templates.jinja.budget import MOST_BITS, Budget
from tornado_proxy.templates.jinja.sizes import formatted
from tornado_proxy.templates.jinja.texts import described

_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": python.add,
    "-": python.sub,
    "*": python.mul,
    "/": python.truediv,
    "//": python.floordiv,
    "**": python.pow,
    "%": python.mod,
}


def apply(budget: Budget, operator: str, left: Any, right: Any) -> Any:
    """The result of an operator; raises `LimitError` before more is made than may be."""
    budget.work()
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return _calculate(operator, left, right)
    match operator, left, right:
        case "+", str(), str():
            budget.make(len(left) + len(right))
        case "+", list() | tuple(), list() | tuple():
            budget.work(len(left) + len(right))
        case "*", str() | list() | tuple(), int():
            _repeat(budget, left, right)
        case "*", int(), str() | list() | tuple():
            _repeat(budget, right, left)
        case "%", str(), _:
            budget.read(right)
            budget.make(formatted(left, right))
        case _:
            raise RenderError(f"`{operator}` cannot be put between {described(left)} and {described(right)}")
    return _OPERATORS[operator](left, right)


def _calculate(operator: str, left: float, right: float) -> Any:
    if operator == "**" and isinstance(left, int) and isinstance(right, int) and right > 0:
        _check_bits(left.bit_length() * right)
    result = _OPERATORS[operator](left, right)
    if isinstance(result, int):
        _check_bits(result.bit_length())
    return result


def _check_bits(bits: int) -> None:
    if bits > MOST_BITS:
        raise LimitError(f"a number has more than {MOST_BITS} bits")


def _repeat(budget: Budget, value: str | list[Any] | tuple[Any, ...], times: int) -> None:
    size = len(value) * max(times, 0)
    if isinstance(value, str):
        budget.make(size)
    else:
        budget.work(size)
