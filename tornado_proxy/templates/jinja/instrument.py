"""What Jinja2 would do without asking is changed into what it asks for, before a template is compiled.

Each change is a filter whose name begins with a space, so that no template can spell it: around what a loop runs over,
around both sides of a comparison, around slices, in place of `~`, and as the first statement of a macro.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jinja2 import nodes, pass_context
from jinja2.runtime import Context

from tornado_proxy.templates.jinja.budget import budget_of
from tornado_proxy.templates.jinja.filters import Filter
from tornado_proxy.templates.jinja.texts import written


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
