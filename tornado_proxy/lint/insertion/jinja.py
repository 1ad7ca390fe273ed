"""The insertions of a `jinja` template, read off its tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from jinja2 import nodes

from tornado_proxy.lint.insertion.insertion import EMAIL, GROUPS, HEADER, NAME, QUERY, Insertion
from tornado_proxy.templating.jinja.environment import KeyEnvironment
from tornado_proxy.templating.jinja.source import Tokens, parse

_LOOKUPS: Mapping[str, str] = {"request.headers": HEADER, "request.query": QUERY, "user.groups": GROUPS}
_SOURCES: Mapping[str, str] = {
    **_LOOKUPS,
    "user.email": EMAIL,
    "user.name": NAME,
    "user.given_name": NAME,
    "user.family_name": NAME,
}
_HARMLESS_FILTERS = frozenset({"abs", "count", "float", "int", "length", "round"})
_SETTLING_METHODS = frozenset({"isalnum", "isalpha", "isdecimal", "isdigit", "isidentifier", "isnumeric"})

_ENVIRONMENT = KeyEnvironment()


def insertions(text: str) -> Iterator[Insertion]:
    """The insertions of a template that compiles, in the order of its text."""
    tree, tokens = parse(_ENVIRONMENT, text)
    reading = _Reading(tokens, _tainted(tree, tokens))
    return reading.written(tree, frozenset())


def _tainted(tree: nodes.Template, tokens: Tokens) -> Mapping[str, str]:
    """The template's own variables that take a value which a client chooses, and what that is."""
    names: dict[str, str] = {}
    reading = _Reading(tokens, names)
    known = -1
    while known < len(names):
        known = len(names)
        for target, value in _bindings(tree):
            found = next(reading.values(value, frozenset()), None)
            if found and isinstance(target, nodes.Name):
                names.setdefault(target.name, found.what)
    return names


def _bindings(tree: nodes.Template) -> Iterator[tuple[nodes.Node, nodes.Node]]:
    """Every name, or other target, with the expression that it takes its value from."""
    yield from ((each.target, each.node) for each in tree.find_all(nodes.Assign))
    yield from ((each.target, each.iter) for each in tree.find_all(nodes.For))
    for each in tree.find_all(nodes.With):
        yield from zip(each.targets, each.values, strict=True)


class _Reading:
    """A template's tokens, and what its own variables hold."""

    def __init__(self, tokens: Tokens, names: Mapping[str, str]) -> None:
        self._tokens = tokens
        self._names = names

    def written(self, node: nodes.Node, settled: AbstractSet[str]) -> Iterator[Insertion]:
        """The insertions of a statement; `settled` are the values that a condition has compared."""
        match node:
            case nodes.Output():
                for each in node.nodes:
                    yield from self.values(each, settled)
            case nodes.If():
                yield from self._all(node.body, settled | _settled(node.test))
                yield from self._all([*node.elif_, *node.else_], settled)
            case _:
                statements = (each for each in node.iter_child_nodes() if isinstance(each, nodes.Stmt))
                yield from self._all(statements, settled)

    def _all(self, statements: Iterable[nodes.Node], settled: AbstractSet[str]) -> Iterator[Insertion]:
        for each in statements:
            yield from self.written(each, settled)

    def values(self, node: nodes.Node, settled: AbstractSet[str]) -> Iterator[Insertion]:
        """The insertions of an expression that becomes part of the result."""
        match node:
            case nodes.CondExpr():
                yield from self.values(node.expr1, settled | _settled(node.test))
                if node.expr2 is not None:
                    yield from self.values(node.expr2, settled)
            case nodes.Compare() | nodes.Not() | nodes.Test():
                return
            case nodes.Filter() if _is_harmless(node):
                return
            case nodes.Call(node=nodes.Getattr(attr="replace")) if _takes_slashes_out(node):
                return
            case nodes.Name():
                if node.name in self._names and node.name not in settled:
                    yield Insertion(self._names[node.name], node.lineno, self._tokens.end(node.lineno))
            case nodes.Getattr() | nodes.Getitem():
                yield from self._chain(node, settled)
            case _:
                for each in node.iter_child_nodes():
                    yield from self.values(each, settled)

    def _chain(self, node: nodes.Getattr | nodes.Getitem, settled: AbstractSet[str]) -> Iterator[Insertion]:
        what = _SOURCES.get(_dotted(node)) or _LOOKUPS.get(_dotted(node.node))
        if what is None:
            yield from self.values(node.node, settled)
        elif _dotted(node) not in settled:
            yield Insertion(what, _start(node), self._end(node))

    def _end(self, node: nodes.Getattr | nodes.Getitem) -> int:
        if isinstance(node, nodes.Getattr):
            return self._tokens.end(self._tokens.after(node.lineno))
        closing = self._tokens.after(node.arg.lineno)
        bracketed = self._tokens.text.startswith("]", closing)
        return closing + 1 if bracketed else self._tokens.end(node.arg.lineno)


def _is_harmless(node: nodes.Filter) -> bool:
    """Whether what a filter makes can span no segments."""
    return node.name in _HARMLESS_FILTERS or (node.name == "replace" and _takes_slashes_out(node))


def _takes_slashes_out(node: nodes.Filter | nodes.Call) -> bool:
    return bool(node.args) and isinstance(node.args[0], nodes.Const) and node.args[0].value == "/"


def _settled(test: nodes.Node) -> AbstractSet[str]:
    """The values of which a condition says what they may be."""
    match test:
        case nodes.And():
            return _settled(test.left) | _settled(test.right)
        case nodes.Compare(ops=[nodes.Operand(op="eq" | "in")]):
            return {_dotted(test.expr)}
        case nodes.Call(node=nodes.Getattr() as method) if method.attr in _SETTLING_METHODS:
            return {_dotted(method.node)}
        case _:
            return frozenset()


def _dotted(node: nodes.Node) -> str:
    """What a chain of fields is called, `request.headers.x-team`; empty for anything else."""
    match node:
        case nodes.Name():
            return node.name
        case nodes.Getattr():
            name = node.attr
        case nodes.Getitem(arg=nodes.Const() as constant):
            name = str(constant.value).lower()
        case _:
            return ""
    inner = _dotted(node.node)
    return f"{inner}.{name}" if inner else ""


def _start(node: nodes.Node) -> int:
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        node = node.node
    return node.lineno
