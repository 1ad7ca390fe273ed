"""The insertions of a `jinja` template: the values of clients that become part of a key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from jinja2 import nodes

from tornado_proxy.lint.shapes import ALL_GROUPS, EMAIL, GROUPS, HEADER, NAME, QUERY, Insertion
from tornado_proxy.templates.jinja.source import TokenPlaces, parse
from tornado_proxy.templates.jinja.template import KeyEnvironment

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
# What of a value that is split at `/`, at all of them or at some, holds none: all parts (None), or those at the end.
_PARTS: Mapping[tuple[str, bool], tuple[int, ...] | None] = {
    ("split", False): None,
    ("rsplit", False): None,
    ("split", True): (0,),
    ("rsplit", True): (-1,),
    ("partition", False): (0,),
    ("rpartition", False): (-1, 2),
}
_CONTAINING = frozenset({"in", "notin"})
_ENDS = {"first": 0, "last": -1}

_ENVIRONMENT = KeyEnvironment()


def insertions(text: str) -> Iterator[Insertion]:
    """The insertions of a template that compiles, in the order of its text."""
    tree, tokens = parse(_ENVIRONMENT, text)
    reading = _InsertionFinder(tokens, _tainted(tree, tokens))
    return reading.written(tree, frozenset())


def _tainted(tree: nodes.Template, tokens: TokenPlaces) -> Mapping[str, str]:
    """The template's own variables that take a value which a client chooses, and what that is."""
    names: dict[str, str] = {}
    reading = _InsertionFinder(tokens, names)
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


class _InsertionFinder:
    """A template's tokens, and what its own variables hold."""

    def __init__(self, tokens: TokenPlaces, names: Mapping[str, str]) -> None:
        self._tokens = tokens
        self._names = names

    def written(self, node: nodes.Node, settled: AbstractSet[str]) -> Iterator[Insertion]:
        """The insertions of a statement; `settled` are the values that a condition has compared."""
        match node:
            case nodes.Output():
                for each in node.nodes:
                    found = self.values(each, settled)
                    yield from (one._replace(what=ALL_GROUPS) for one in found) if _is_list(each) else found
            case nodes.If():
                yield from self._all(node.body, settled | _settled(node.test, holds=True))
                yield from self._all([*node.elif_, *node.else_], settled | _settled(node.test, holds=False))
            case _:
                statements = (each for each in node.iter_child_nodes() if isinstance(each, nodes.Stmt))
                yield from self._all(statements, settled)

    def _all(self, statements: Iterable[nodes.Node], settled: AbstractSet[str]) -> Iterator[Insertion]:
        for each in statements:
            yield from self.written(each, settled)

    def values(self, node: nodes.Node, settled: AbstractSet[str]) -> Iterator[Insertion]:
        """The insertions of an expression that becomes part of the result."""
        if _is_harmless(node):
            return
        match node:
            case nodes.CondExpr():
                yield from self.values(node.expr1, settled | _settled(node.test, holds=True))
                if node.expr2 is not None:
                    yield from self.values(node.expr2, settled | _settled(node.test, holds=False))
            case nodes.Call(node=nodes.Getattr(attr="get") as method) if _dotted(method.node) not in _LOOKUPS:
                # A key that is looked up in a mapping selects a value, and is not inserted itself.
                for part in (method.node, *node.args[1:]):
                    yield from self.values(part, settled)
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


def _is_list(node: nodes.Node) -> bool:
    """Whether a node is all groups of the user, which cannot be written as they are."""
    return isinstance(node, nodes.Getattr | nodes.Getitem) and _dotted(node) == "user.groups"


def _is_harmless(node: nodes.Node) -> bool:
    """Whether what an expression makes can span no segments, whatever it is made of."""
    match node:
        case nodes.Compare() | nodes.Not() | nodes.Test():
            return True
        case nodes.Filter(name="replace") | nodes.Call(node=nodes.Getattr(attr="replace")):
            return _takes_slashes_out(node)
        case nodes.Filter() | nodes.Getitem():
            return _is_between_slashes(node) or (isinstance(node, nodes.Filter) and node.name in _HARMLESS_FILTERS)
        case _:
            return False


def _takes_slashes_out(node: nodes.Filter | nodes.Call) -> bool:
    """Whether a `replace` puts something without a slash in the place of every slash."""
    match node.args:
        case [nodes.Const(value="/"), nodes.Const(value=str() as new)]:
            return "/" not in new and not node.kwargs
        case _:
            return False


def _is_between_slashes(node: nodes.Getitem | nodes.Filter) -> bool:
    """Whether a node is a part of a value that was split at its slashes."""
    index = _ENDS.get(node.name) if isinstance(node, nodes.Filter) else _index(node.arg)
    match node.node:
        case nodes.Call(node=nodes.Getattr(attr=method), args=[nodes.Const(value="/"), *more], kwargs=[]):
            parts = _PARTS.get((method, bool(more)), ())
            return index is not None and (parts is None or index in parts)
        case _:
            return False


def _index(node: nodes.Node) -> int | None:
    match node:
        case nodes.Const(value=int() as index):
            return index
        case nodes.Neg(node=nodes.Const(value=int() as index)):
            return -index
        case _:
            return None


def _settled(test: nodes.Node, *, holds: bool) -> AbstractSet[str]:
    """Returns the values that a condition, or its contrary, limits to known ones or to ones without a slash."""
    match test:
        case nodes.Not():
            return _settled(test.node, holds=not holds)
        case nodes.And() if holds:
            return _settled(test.left, holds=True) | _settled(test.right, holds=True)
        case nodes.Or() if not holds:
            return _settled(test.left, holds=False) | _settled(test.right, holds=False)
        case nodes.Compare(ops=[nodes.Operand(op=operator) as operand]):
            without_slash = operator in _CONTAINING and isinstance(test.expr, nodes.Const) and test.expr.value == "/"
            limited = operator in (("notin", "ne") if without_slash is holds else ("in", "eq"))
            return {_dotted(operand.expr if without_slash else test.expr)} if limited else frozenset()
        case nodes.Call(node=nodes.Getattr() as method) if holds and method.attr in _SETTLING_METHODS:
            return {_dotted(method.node)}
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
