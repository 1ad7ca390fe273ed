"""Jinja2's sandbox, narrowed: only what is allowed here by name can be reached, and all work is charged.

Jinja2 compiles a template to Python that asks its environment for every attribute, item, call, operator and text. What
it would do without asking is changed in the tree into what it asks for, before the tree is compiled. Each change is a
filter whose name begins with a space, so that no template can spell it: around what a loop runs over, around both sides
of a comparison, around slices, in place of `~`, and as the first statement of a macro.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from types import BuiltinMethodType, MethodType
from typing import Any

from jinja2 import StrictUndefined, Undefined, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from tornado_proxy.templates.jinja.filters import FILTERS, TESTS, Filter
from tornado_proxy.templates.jinja.limits import TEXT_METHODS, apply, budget_of, described, written
from tornado_proxy.templates.jinja.views import View


def instrument(tree: nodes.Template) -> nodes.Template:
    """The tree with every piece of work in it that must be paid for; changes the tree itself."""
    _instrument(tree)
    tree.set_environment(tree.environment)  # type: ignore[arg-type]  # the parser has set it
    return tree


def _instrument(node: nodes.Node) -> nodes.Node:
    for name, value in node.iter_fields():
        if isinstance(value, nodes.Node):
            setattr(node, name, _instrument(value))
        elif isinstance(value, list):
            value[:] = [_instrument(each) if isinstance(each, nodes.Node) else each for each in value]
    change = _CHANGES.get(type(node))
    return change(node) if change else node


def _loop(node: nodes.For) -> nodes.For:
    """All rounds of a loop are paid for before the first."""
    node.iter = _hidden(" each", node.iter, *_cost([*node.body, *([node.test] if node.test else [])]))
    return node


def _macro(node: nodes.Macro | nodes.CallBlock) -> nodes.Node:
    """A macro is paid for whenever it is called."""
    cost = _cost([*node.body, *node.defaults])
    node.body.insert(0, nodes.ExprStmt(_hidden(" spend", nodes.Const(None), *cost), lineno=node.lineno))
    return node


def _comparison(node: nodes.Compare) -> nodes.Compare:
    """Both sides are read."""
    node.expr = _hidden(" read", node.expr)
    for operand in node.ops:
        operand.expr = _hidden(" read", operand.expr)
    return node


def _concatenation(node: nodes.Concat) -> nodes.Filter:
    """A text is made of others."""
    return _hidden(" concatenated", nodes.List(node.nodes, lineno=node.lineno))


def _item(node: nodes.Getitem) -> nodes.Expr:
    """A slice is made of a text or list; single items are asked for."""
    return _hidden(" kept", node) if isinstance(node.arg, nodes.Slice) else node


_CHANGES: Mapping[type[nodes.Node], Callable[[Any], nodes.Node]] = {
    nodes.For: _loop,
    nodes.Macro: _macro,
    nodes.CallBlock: _macro,
    nodes.Compare: _comparison,
    nodes.Concat: _concatenation,
    nodes.Getitem: _item,
}


def _cost(body: Iterable[nodes.Node]) -> tuple[int, int]:
    """How many nodes a body has, and how many characters stand in it as they are."""
    steps = characters = 0
    for statement in body:
        for node in (statement, *statement.find_all(nodes.Node)):
            steps += 1
            characters += len(node.data) if isinstance(node, nodes.TemplateData) else 0
    return steps, characters


def _hidden(name: str, node: nodes.Node, *args: int) -> nodes.Filter:
    constants: list[nodes.Expr] = [nodes.Const(each) for each in args]
    return nodes.Filter(node, name, constants, [], None, None, lineno=node.lineno)


@pass_context
def _each(context: Context, value: Any, steps: int, characters: int) -> Any:
    budget = budget_of(context)
    items = value if isinstance(value, (str, list, tuple, dict)) else list(value)
    budget.work(len(items) * (1 + steps))
    budget.make(len(items) * characters)
    return items


@pass_context
def _spend(context: Context, _: None, steps: int, characters: int) -> None:
    budget = budget_of(context)
    budget.work(steps)
    budget.make(characters)


@pass_context
def _read(context: Context, value: Any) -> Any:
    budget_of(context).read(value)
    return value


@pass_context
def _concatenated(context: Context, values: list[object]) -> str:
    texts = [written(value) for value in values]
    budget_of(context).make(sum(len(text) for text in texts))
    return "".join(texts)


@pass_context
def _kept(context: Context, value: Any) -> Any:
    budget_of(context).keep(value)
    return value


HIDDEN_FILTERS: Mapping[str, Filter] = {
    " each": _each,
    " spend": _spend,
    " read": _read,
    " concatenated": _concatenated,
    " kept": _kept,
}
"""The filters that only the changed tree names."""


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
        missing = f"`{name}`" if isinstance(name, (str, int)) else f"item for {described(name)}"
        return self.undefined(f"{described(obj)} has no {missing}")

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """The result of an operator between two values."""
        return apply(budget_of(context), operator, left, right)


def _is_callable(obj: Any) -> bool:
    """Whether something is a function of ours, or a method that templates may have."""
    if isinstance(obj, (BuiltinMethodType, MethodType)):
        return obj.__name__ in _ATTRIBUTES.get(type(obj.__self__), ())
    return any(obj is function for function in GLOBALS.values())
