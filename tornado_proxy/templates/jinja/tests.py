"""The tests of templates (`is defined`, `is in`), those of Jinja2 that a key may need, paid for by what they read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from jinja2 import pass_context, tests
from jinja2.runtime import Context

from tornado_proxy.templates.jinja.budget import budget_of
from tornado_proxy.templates.jinja.views import Nobody

Test = Callable[..., Any]

_NAMES = (
    *("boolean", "defined", "false", "float", "integer", "mapping", "number", "string", "true", "undefined"),
    *("divisibleby", "even", "lower", "odd", "upper"),
    *("==", "eq", "equalto", "!=", "ne", "<", "lt", "lessthan", "<=", "le", ">", "gt", "greaterthan", ">=", "ge", "in"),
)


def _is_none(value: object) -> bool:
    """Whether a value is none; so is the user where nobody is signed in."""
    return value is None or isinstance(value, Nobody)


def _paid(test: Test) -> Test:
    @pass_context
    def tested(context: Context, value: Any, *args: Any) -> Any:
        budget_of(context).read(value, args)
        return test(value, *args)

    return tested


TESTS: Mapping[str, Test] = {
    **{name: _paid(cast("Test", tests.TESTS[name])) for name in _NAMES},
    "none": _paid(_is_none),
}
"""Every test that a template may name."""
