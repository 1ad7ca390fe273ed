"""The limits of one rendering: what is left, how long a text will be before it is made, operators within them."""

from __future__ import annotations

import operator as python
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from jinja2 import Undefined
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.utils import Namespace

from tornado_proxy.templates.template import LimitError, RenderError

STEPS = 50_000
"""How many parts of a template are evaluated, each loop's as often as it runs; a usual template takes a few dozen."""

CHARACTERS = 65_536
"""How many characters of text are made, in parts and in whole; a key has at most 1024 bytes."""

MOST_BITS = 1024
"""The size of the largest integer."""

MACRO_DEPTH = 20

# Reading or making this number of characters is as much work as one step.
_CHARACTERS_A_STEP = 16

KEY = " budget"
"""The name of the budget among a template's variables: no template can spell it."""


class JinjaBudget:
    """What is left for one rendering; each method raises `LimitError` when more is asked for."""

    __slots__ = ("_characters", "_depth", "_steps")

    def __init__(self) -> None:
        self._steps = STEPS
        self._characters = CHARACTERS
        self._depth = 0

    def work(self, steps: int = 1) -> None:
        """Take steps."""
        self._steps -= steps
        if self._steps < 0:
            raise LimitError(f"the template takes more than {STEPS} steps")

    def make(self, characters: int) -> None:
        """Make text; before it is made, if that can be."""
        self._characters -= characters
        if self._characters < 0:
            raise LimitError(f"the template makes more than {CHARACTERS} characters")
        self.work(characters // _CHARACTERS_A_STEP)

    def read(self, *values: object) -> None:
        """Look at values through and through; a list that stands in several places is read in each."""
        rest: list[Any] = list(values)
        while rest:
            value = rest.pop()
            if isinstance(value, str):
                self.work(1 + len(value) // _CHARACTERS_A_STEP)
            elif isinstance(value, (list, tuple, dict)):
                self.work(1 + len(value))
                rest.extend(value.values() if isinstance(value, dict) else value)

    def keep(self, value: object) -> None:
        """Take in a value that has been made from what was read."""
        if isinstance(value, str):
            self.make(len(value))
        elif isinstance(value, (list, tuple)):
            self.work(len(value))

    @contextmanager
    def macro(self) -> Iterator[None]:
        """Run a macro."""
        self._depth += 1
        if self._depth > MACRO_DEPTH:
            raise LimitError(f"macros call one another more than {MACRO_DEPTH} deep")
        try:
            yield
        finally:
            self._depth -= 1


def budget_of(context: Context) -> JinjaBudget:
    """The budget of the rendering that a context belongs to."""
    budget = context.parent[KEY]
    assert isinstance(budget, JinjaBudget)
    return budget


_QUOTED = re.compile(r"'([^']*)'")
_KINDS: Mapping[type, str] = {
    str: "a text",
    bool: "a truth value",
    int: "a number",
    float: "a number",
    list: "a list",
    tuple: "a list",
    dict: "a mapping",
    type(None): "`none`",
    Macro: "a macro",
    Namespace: "a namespace",
    LoopContext: "`loop`",
}


def written(value: object) -> str:
    """The text of a text, a number or a truth value; raises `RenderError` for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, int, float)):
        return str(value)
    if isinstance(value, Undefined):
        return str(value)  # raises, and says what is undefined
    raise RenderError(f"{described(value)} has no text")


def described(value: object) -> str:
    """What a value is, in the words of the manual."""
    return getattr(value, "NAME", None) or _KINDS.get(type(value), "this")


def backticked(message: str) -> str:
    """A message of Jinja2 in the form of ours: names in backticks, no capital, no full stop."""
    text = _QUOTED.sub(r"`\1`", message).rstrip(".")
    return text[:1].lower() + text[1:]


Size = Callable[..., int]

_CONVERSION = re.compile(r"%(?:\([^)]*\))?[-#0 +]*(\*|\d*)(?:\.(\*|\d*))?")
_LONGEST_WIDTH = 4  # digits
_LONGEST_NUMBER = 330  # characters of the largest float, all its digits written out


def padded(text: object, width: int = 80, *_: object) -> int:
    """The size of a text brought to a width."""
    return max(len(written(text)), width)


def joined(items: Iterable[object], d: object = "") -> int:
    """The size of texts in a row, with something between them, which Jinja2 calls `d`."""
    sizes = [len(written(item)) for item in items]
    return sum(sizes) + len(sizes) * len(written(d))


def joined_by(separator: str, items: Iterable[object]) -> int:
    """The same, asked of the separator, as Python does."""
    return joined(items, separator)


def replaced(text: object, old: object, new: object, count: int | None = -1) -> int:
    """The size of a text in which one part stands for another."""
    whole, part = written(text), written(old)
    times = whole.count(part)
    if count is not None and count >= 0:
        times = min(times, count)
    return len(whole) + times * len(written(new))


def formatted(text: str, values: object) -> int:
    """The size of a text with `%` conversions, and their values in it; the text alone gives the widths."""
    sizes = 0
    for conversion in _CONVERSION.finditer(text):
        for width in conversion.groups(default=""):
            if width == "*" or len(width) > _LONGEST_WIDTH:
                raise LimitError(f"`{conversion[0]}` asks for more than {10**_LONGEST_WIDTH - 1} characters")
            sizes += int(width or 0)
    return len(text) + sizes + _size_of_values(values)


def _size_of_values(values: object) -> int:
    if isinstance(values, tuple):
        return sum(_size_of_values(value) for value in values)
    if isinstance(values, dict):
        return sum(_size_of_values(value) for value in values.values())
    return max(len(written(values)), 0 if isinstance(values, str) else _LONGEST_NUMBER)


def formatted_with(text: object, *values: object, **named: object) -> int:
    """The same, for the filter."""
    return formatted(written(text), named or values)


TEXT_METHODS: Mapping[str, Size | None] = {
    **dict.fromkeys(
        (
            *("capitalize", "casefold", "lower", "swapcase", "title", "upper"),
            *("count", "endswith", "find", "rfind", "startswith"),
            *("isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "islower", "isnumeric", "isspace", "isupper"),
            *("lstrip", "removeprefix", "removesuffix", "rstrip", "strip"),
            *("partition", "rpartition", "rsplit", "split", "splitlines"),
        )
    ),
    **dict.fromkeys(("center", "ljust", "rjust", "zfill"), padded),
    "join": joined_by,
    "replace": replaced,
}
"""The methods of texts, and the size of the results that may be longer than what is read."""


_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": python.add,
    "-": python.sub,
    "*": python.mul,
    "/": python.truediv,
    "//": python.floordiv,
    "**": python.pow,
    "%": python.mod,
}


def apply(budget: JinjaBudget, operator: str, left: Any, right: Any) -> Any:
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


def _repeat(budget: JinjaBudget, value: str | list[Any] | tuple[Any, ...], times: int) -> None:
    size = len(value) * max(times, 0)
    if isinstance(value, str):
        budget.make(size)
    else:
        budget.work(size)
