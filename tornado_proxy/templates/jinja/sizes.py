"""How long a text will be, told before it is made: for whatever makes more of less."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from tornado_proxy.templates.errors import LimitError
from tornado_proxy.templates.jinja.texts import written

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
    """The size of a text with `%` conversions, and their values in it; widths are told by the text alone."""
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
"""The methods of texts, and how to tell the size of those that make more than they read."""
