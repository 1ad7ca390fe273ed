"""The groups of a rewrite's source: their names, and where each stands."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tornado_proxy.goregex.errors import PatternError
from tornado_proxy.goregex.language import language
from tornado_proxy.goregex.parser import parse
from tornado_proxy.goregex.syntax import Group, Node, walk
from tornado_proxy.lang.tree import RewriteStatement

# Of an expression that is not finished, what is sure to be a group.
_NAMED = re.compile(r"\(\?P?<(\w+)>")


def tree_of(statement: RewriteStatement) -> Node | None:
    """The tree of a rewrite's source; None where it has a mistake, or is too deep."""
    return language(statement.source.value).tree


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
        return parse(source).names
    except PatternError:
        return None
