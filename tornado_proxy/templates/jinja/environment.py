"""Jinja2's sandbox, narrowed: only what is allowed here by name can be reached, and all work is paid for.

Jinja2 compiles a template to Python that asks its environment for every attribute, item, call, operator and text; the
methods below answer. Where it would not ask, the tree is changed before it is compiled: see `instrument`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from types import BuiltinMethodType, MethodType
from typing import Any

from jinja2 import StrictUndefined, Undefined, pass_context
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from tornado_proxy.templates.jinja.arithmetic import apply
from tornado_proxy.templates.jinja.budget import budget_of
from tornado_proxy.templates.jinja.filters import FILTERS
from tornado_proxy.templates.jinja.instrument import HIDDEN_FILTERS
from tornado_proxy.templates.jinja.sizes import TEXT_METHODS
from tornado_proxy.templates.jinja.tests import TESTS
from tornado_proxy.templates.jinja.texts import described, written
from tornado_proxy.templates.jinja.views import View

_ATTRIBUTES: Mapping[type, Collection[str]] = {
    str: TEXT_METHODS,
    dict: frozenset({"get", "items", "keys", "values"}),
    LoopContext: frozenset(
        {
            "cycle",
            "depth",
            "first",
            "index",
            "index0",
            "last",
            "length",
            "nextitem",
            "previtem",
            "revindex",
            "revindex0",
        }
    ),
}
"""What a template may read of values that are not ours; their methods may be called."""

# With these a call would run in a context of variables that the template chose, the budget among them.
_JINJA_ARGUMENTS = ("_loop_vars", "_block_vars")


@pass_context
def _range(context: Context, *bounds: int) -> list[int]:
    """Python's range as a list that has been paid for."""
    numbers = range(*bounds)
    budget_of(context).work(max(0, (numbers.stop - numbers.start) // numbers.step))
    return list(numbers)


@pass_context
def _finalize(context: Context, value: object) -> str:
    """The text of what stands between `{{` and `}}`."""
    text = written(value)
    budget_of(context).make(len(text))
    return text


GLOBALS: Mapping[str, Any] = {"range": _range, "namespace": Namespace}
"""The functions that a template may call."""


class KeyEnvironment(ImmutableSandboxedEnvironment):
    """The one environment of all `jinja` templates; it holds no state of its own."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "**", "%"})

    def __init__(self) -> None:
        super().__init__(
            undefined=StrictUndefined,
            finalize=_finalize,
            keep_trailing_newline=True,
            optimized=False,  # constants are evaluated at rendering, where they are paid for
            cache_size=0,
        )
        self.globals = dict(GLOBALS)
        self.filters = {**FILTERS, **HIDDEN_FILTERS}
        self.tests = dict(TESTS)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """The attribute of a value, from those that its kind has in templates."""
        if isinstance(obj, View):
            return self._entry(obj, attribute)
        if attribute in _ATTRIBUTES.get(type(obj), ()) or (isinstance(obj, Namespace) and attribute[:1] != "_"):
            with suppress(AttributeError):
                return getattr(obj, attribute)
        return self.getitem(obj, attribute) if isinstance(obj, dict) else self._nothing(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """The item of a value: of a text or list by position, of a mapping by key, else as an attribute."""
        if isinstance(obj, (View, Namespace)):
            return self.getattr(obj, written(argument))
        # A tuple as a key would be hashed, whatever is nested in it.
        if isinstance(obj, (str, list, tuple, dict)) and not isinstance(argument, tuple):
            with suppress(LookupError, TypeError):
                return obj[argument]
        return self._nothing(obj, argument)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a macro, a function, or a method of a text; nothing else can be called."""
        budget = budget_of(context)
        budget.work()
        for name in _JINJA_ARGUMENTS:
            kwargs.pop(name, None)
        if isinstance(obj, Macro):
            with budget.macro():
                return context.call(obj, *args, **kwargs)
        budget.read(args, kwargs)
        if isinstance(obj, BuiltinMethodType) and isinstance(obj.__self__, str):
            size = TEXT_METHODS[obj.__name__]
            budget.read(obj.__self__)
            budget.make(size(obj.__self__, *args, **kwargs) if size else 0)
        elif isinstance(obj, Undefined) or not _is_callable(obj):
            raise SecurityError(str(obj) if isinstance(obj, Undefined) else f"{described(obj)} cannot be called")
        result = context.call(obj, *args, **kwargs)
        budget.keep(result)
        return result

    def _entry(self, view: View, name: str) -> Any:
        try:
            return view.entry(name)
        except KeyError:
            return self.undefined(view.lack(name))

    def _nothing(self, obj: object, name: object) -> Undefined:
        """What is undefined, with a message that does not write out how either value is nested."""
        missing = f"`{name}`" if isinstance(name, (str, int)) else f"item that goes by {described(name)}"
        return self.undefined(f"{described(obj)} has no {missing}")

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """The result of an operator between two values."""
        return apply(budget_of(context), operator, left, right)


def _is_callable(obj: Any) -> bool:
    """Whether something is a function of ours, or a method that templates may have."""
    if isinstance(obj, (BuiltinMethodType, MethodType)):
        return obj.__name__ in _ATTRIBUTES.get(type(obj.__self__), ())
    return any(obj is function for function in GLOBALS.values())
