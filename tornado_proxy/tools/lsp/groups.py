"""The groups of a rewrite's source: their names, and where each stands."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tornado_proxy.lang.tree import RewriteStatement
from tornado_proxy.lint.automata import language
from tornado_proxy.lint.automata.syntax import Group, Node, walk
from tornado_proxy.rules.expressions.errors import PatternError
from tornado_proxy.rules.expressions.reader import read_expression

# Of an expression that is not finished, what is sure to be a group.
_NAMED = re.compile(r"\(\?P?<(\w+)>")


def tree_of(statement: RewriteStatement) -> Node | None:
    """The tree of a rewrite's source; None where it has a mistake, or is too deep."""
    source = statement.source.value
    return language(source).tree if _names(source) is not None else None


def group_of(statement: RewriteStatement, name: str) -> Group | None:
    """The group that a template means by a name or a number."""
    tree = tree_of(statement)
    for node in walk(tree) if tree else ():
        if isinstance(node, Group) and node.number is not None and name in (node.name, str(node.number)):
            return node
    return None


def group_names(source: str) -> Sequence[str]:
    """What a template may call the groups of a source: their names, or numbers where they have none."""
    names = _names(source)
    if names is None:
        return list(dict.fromkeys(_NAMED.findall(source)))
    return list(dict.fromkeys(name or str(number) for number, name in enumerate(names, start=1)))


def _names(source: str) -> Sequence[str] | None:
    try:
        return read_expression(source).names
    except PatternError:
        return None
