"""The filters and tests of templates, those of Jinja2 that a key may need, each charged for what it reads and makes.

Not among them: what is random or depends on the time or the place, what makes markup, what is for pages of text
(`indent`, `wordwrap`), and what reaches for attributes by names made at rendering (`attr`, `groupby`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from jinja2 import filters, pass_context, tests
from jinja2.runtime import Context

from tornado_proxy.templates.jinja.limits import Size, budget_of, formatted_with, joined, padded, replaced, written
from tornado_proxy.templates.jinja.views import NobodyView
from tornado_proxy.templates.template import RenderError

Filter = Callable[..., Any]

_PRECISION = 15  # digits of a float that mean something


def _of_text(method: Filter) -> Filter:
    """A filter that works on the text of its value."""

    def filtered(_: Context, value: object, *args: Any, **kwargs: Any) -> Any:
        return method(written(value), *args, **kwargs)

    return filtered


def _of_value(function: Filter) -> Filter:
    """A filter that works on its value."""

    def filtered(_: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        return function(value, *args, **kwargs)

    return filtered


def _with_environment(function: Filter) -> Filter:
    """One of Jinja2's own that asks the environment for attributes, or for what stands for nothing."""

    def filtered(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        return function(context.environment, value, *args, **kwargs)

    return filtered


def _join(value: Iterable[object], d: object = "") -> str:
    return written(d).join(written(each) for each in value)


def _replace(text: str, old: object, new: object, count: int | None = None) -> str:
    return text.replace(written(old), written(new), -1 if count is None else count)


def _round(value: float, precision: int = 0, method: Any = "common") -> float:
    if abs(precision) > _PRECISION:
        raise RenderError(f"`round` keeps at most {_PRECISION} digits")
    return filters.do_round(value, precision, method)


def _sum(value: Iterable[float], start: float = 0) -> float:
    numbers = [start, *value]
    if not all(isinstance(each, (int, float)) for each in numbers):
        raise RenderError("`sum` adds up numbers")
    return sum(numbers)


def _reverse(value: Any) -> Any:
    return value[::-1] if isinstance(value, str) else list(value)[::-1]


def _map(context: Context, value: Iterable[Any], name: str | None = None, *args: Any, **kwargs: Any) -> list[Any]:
    environment = context.environment
    if name is None:
        attribute = kwargs.pop("attribute")
        return [environment.getitem(each, attribute) for each in value]
    if name not in FILTERS:
        raise RenderError(f"unknown filter `{written(name)}`")
    return [environment.call_filter(name, each, args, kwargs, context) for each in value]


def _chosen(*, keep: bool) -> Filter:
    """The items that pass a test, or those that do not."""

    def filtered(context: Context, value: Iterable[Any], name: str | None = None, *args: Any) -> list[Any]:
        if name is None:
            return [each for each in value if bool(each) is keep]
        call_test = context.environment.call_test
        return [each for each in value if call_test(name, each, args, None, context) is keep]

    return filtered


def _paid(function: Filter, size: Size | None) -> Filter:
    """A filter that pays for what it reads, and for what it makes: in advance, where the size is known."""

    @pass_context
    def filtered(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        budget = budget_of(context)
        budget.work()
        budget.read(value, args, kwargs)
        if size is not None:
            budget.make(size(value, *args, **kwargs))
            return function(context, value, *args, **kwargs)
        result = function(context, value, *args, **kwargs)
        budget.keep(result)
        return result

    return filtered


_TEXT: Mapping[str, Filter] = {
    "capitalize": str.capitalize,
    "lower": str.lower,
    "string": str,
    "title": filters.do_title,
    "trim": str.strip,
    "upper": str.upper,
    "urlencode": filters.do_urlencode,
}

_VALUES: Mapping[str, Filter] = {
    "abs": abs,
    "count": len,
    "d": filters.do_default,
    "default": filters.do_default,
    "float": filters.do_float,
    "int": filters.do_int,
    "length": len,
    "list": list,
    "reverse": _reverse,
    "round": _round,
    "sum": _sum,
}

_ASKING: Mapping[str, Filter] = {
    "first": filters.sync_do_first,
    "last": filters.do_last,
    "max": filters.do_max,
    "min": filters.do_min,
    "sort": filters.do_sort,
    "truncate": filters.do_truncate,
    "unique": lambda *args, **kwargs: list(filters.sync_do_unique(*args, **kwargs)),
}

FILTERS: Mapping[str, Filter] = {
    **{name: _paid(_of_text(method), None) for name, method in _TEXT.items()},
    **{name: _paid(_of_value(function), None) for name, function in _VALUES.items()},
    **{name: _paid(_with_environment(function), None) for name, function in _ASKING.items()},
    "center": _paid(_of_text(lambda text, width=80: text.center(width)), padded),
    "format": _paid(_of_text(lambda text, *values, **named: text % (named or values)), formatted_with),
    "join": _paid(_of_value(_join), joined),
    "replace": _paid(_of_text(_replace), replaced),
    "map": _paid(_map, None),
    "reject": _paid(_chosen(keep=False), None),
    "select": _paid(_chosen(keep=True), None),
}
"""Every filter that a template may name."""


Test = Callable[..., Any]

_NAMES = (
    *("boolean", "defined", "false", "float", "integer", "mapping", "number", "string", "true", "undefined"),
    *("divisibleby", "even", "lower", "odd", "upper"),
    *("==", "eq", "equalto", "!=", "ne", "<", "lt", "lessthan", "<=", "le", ">", "gt", "greaterthan", ">=", "ge", "in"),
)


def _is_none(value: object) -> bool:
    """Whether a value is none; so is the user where nobody is signed in."""
    return value is None or isinstance(value, NobodyView)


def _paid_test(test: Test) -> Test:
    @pass_context
    def tested(context: Context, value: Any, *args: Any) -> Any:
        budget_of(context).read(value, args)
        return test(value, *args)

    return tested


TESTS: Mapping[str, Test] = {
    **{name: _paid_test(cast("Test", tests.TESTS[name])) for name in _NAMES},
    "none": _paid_test(_is_none),
}
"""Every test that a template may name."""
