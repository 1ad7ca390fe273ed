"""What an expression in a template does about slashes, where that can be told from its parts."""

from __future__ import annotations

from tornado_proxy.goregex.alphabet import readable
from tornado_proxy.goregex.codepoints import contains
from tornado_proxy.goregex.language import language
from tornado_proxy.goregex.syntax import (
    AnyCharacter,
    Assertion,
    AssertionKind,
    BracketClass,
    Member,
    Node,
    PerlClass,
    Repeat,
    Text,
    UnicodeClass,
    walk,
)
from tornado_proxy.lint.anchors import bare, ends_anchored, starts_anchored

_LINES = (AssertionKind.LINE_START, AssertionKind.LINE_END)


def matches_every_slash(expression: str) -> bool:
    """Whether each `/` of any text is part of a match: it reads one character, or a run, and `/` is among them."""
    tree = language(expression).tree
    node = None if tree is None else bare(tree)
    if isinstance(node, Repeat) and node.least <= 1:
        node = bare(node.body)
    match node:
        case Text():
            return node.characters == "/"
        case BracketClass() | PerlClass() | UnicodeClass() | AnyCharacter():
            return contains(readable(node), ord("/"))
        case _:
            return False


def matches_no_slash(expression: str) -> bool:
    """Whether no match holds a `/`."""
    tree = language(expression).tree
    return tree is not None and not any(map(_reads_slash, walk(tree)))


def admits_no_slash(expression: str) -> bool:
    """Whether a text in which it is found holds no `/`: it speaks of the whole text."""
    tree = language(expression).tree
    if tree is None or not (starts_anchored(tree) and ends_anchored(tree)):
        return False
    by_line = any(isinstance(each, Assertion) and each.kind in _LINES for each in walk(tree))
    return not by_line and matches_no_slash(expression)


def _reads_slash(node: Node | Member) -> bool:
    match node:
        case Text():
            return "/" in node.characters
        case BracketClass() | PerlClass() | UnicodeClass() | AnyCharacter():
            return contains(readable(node), ord("/"))
        case _:
            return False
