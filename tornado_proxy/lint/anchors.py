"""Where in a key a source can be found: read off its expression's tree."""

from __future__ import annotations

from typing import assert_never

from tornado_proxy.goregex.syntax import (
    Alternation,
    AnyCharacter,
    Assertion,
    AssertionKind,
    BracketClass,
    FlagChange,
    Group,
    Node,
    PerlClass,
    Repeat,
    Sequence,
    Text,
    UnicodeClass,
)

_STARTS = frozenset({AssertionKind.TEXT_START, AssertionKind.LINE_START})
_ENDS = frozenset({AssertionKind.TEXT_END, AssertionKind.LINE_END})


def starts_anchored(tree: Node) -> bool:
    """Whether every match begins where the key begins."""
    return _anchored(tree, _STARTS, last=False)


def ends_anchored(tree: Node) -> bool:
    """Whether every match ends where the key ends."""
    return _anchored(tree, _ENDS, last=True)


def _anchored(node: Node, kinds: frozenset[AssertionKind], *, last: bool) -> bool:
    match node:
        case Assertion():
            return node.kind in kinds
        case Sequence():
            edge = edge_of(node, last=last)
            return any(_anchored(part, kinds, last=last) for part in edge)
        case Group():
            return _anchored(node.body, kinds, last=last)
        case Alternation():
            return all(_anchored(branch, kinds, last=last) for branch in node.branches)
        case Repeat():
            return node.least > 0 and _anchored(node.body, kinds, last=last)
        case Text() | PerlClass() | UnicodeClass() | BracketClass() | AnyCharacter() | FlagChange():
            return False
        case _:
            assert_never(node)


def edge_of(node: Sequence, *, last: bool) -> list[Node]:
    """The first parts of a sequence, or from the end the last ones, up to and with one that reads a character."""
    found: list[Node] = []
    for part in reversed(node.parts) if last else node.parts:
        found.append(part)
        if not isinstance(part, Assertion | FlagChange):
            break
    return found


def edge_part(tree: Node, *, last: bool) -> Node | None:
    """The part that reads a source's first character, or its last: groups are opened; None where there is none."""
    node: Node | None = tree
    while node is not None:
        match node:
            case Sequence():
                edge = edge_of(node, last=last)
                node = edge[-1] if edge and not isinstance(edge[-1], Assertion | FlagChange) else None
            case Group():
                node = node.body
            case Assertion() | FlagChange():
                return None
            case _:
                return node
    return None


def open_start(tree: Node) -> bool:
    """Whether a source is found at any depth, and does not seem to mean it."""
    first = edge_part(tree, last=False)
    of_a_name = isinstance(first, Text) and first.characters.startswith(".") and ends_anchored(tree)
    return not (starts_anchored(tree) or takes_anything(first) or of_a_name)


def open_end(tree: Node) -> bool:
    """Whether keys may go on behind what a source speaks of, and it does not seem to mean it."""
    return not ends_anchored(tree) and _goes_on(edge_part(tree, last=True))


def _goes_on(last: Node | None) -> bool:
    if isinstance(last, Alternation):
        return any(_goes_on(edge_part(branch, last=True)) for branch in last.branches)
    below = isinstance(last, Text) and last.characters.endswith("/")
    return not (last is None or below or takes_anything(last))


def takes_anything(node: Node | None) -> bool:
    """Whether a part is `.*` or the like: whatever the rest of a key is, it may take it."""
    return isinstance(node, Repeat) and node.most is None and isinstance(bare(node.body), AnyCharacter)


def bare(node: Node) -> Node:
    """What a part holds, without the parentheses around it."""
    while isinstance(node, Group) or (isinstance(node, Sequence) and len(node.parts) == 1):
        node = node.body if isinstance(node, Group) else node.parts[0]
    return node
