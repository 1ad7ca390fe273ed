"""What is known of a rule from its text alone: where its source is anchored, and how its results begin and end."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gotemplate.regexp import syntax
from tornado_proxy.rules.model import Rewrite
from tornado_proxy.templates.template import PlainTemplate, trimmed


def starts_anchored(tree: syntax.Node) -> bool:
    """Returns whether every match begins where the key begins."""
    return _anchored(tree, syntax.STARTS, last=False)


def ends_anchored(tree: syntax.Node) -> bool:
    """Returns whether every match ends where the key ends."""
    return _anchored(tree, syntax.ENDS, last=True)


def _anchored(tree: syntax.Node, kinds: frozenset[syntax.AssertionKind], *, last: bool) -> bool:
    return any(
        (isinstance(node, syntax.Assertion) and node.kind in kinds)
        or (isinstance(node, syntax.Alternation) and all(_anchored(each, kinds, last=last) for each in node.branches))
        or (isinstance(node, syntax.Repeat) and node.least > 0 and _anchored(node.body, kinds, last=last))
        for node in _edge(tree, last=last)
    )


def _edge(tree: syntax.Node, *, last: bool) -> list[syntax.Node]:
    """Returns the first parts, within groups, or the last in reverse order, up to the one that reads a character."""
    edge: list[syntax.Node] = []
    for node, _ in syntax.atoms(tree, backwards=last):
        edge.append(node)
        if not isinstance(node, _READING_NOTHING):
            break
    return edge


_READING_NOTHING = syntax.Assertion | syntax.FlagChange | syntax.Sequence  # a sequence that is not opened is empty


def edge_part(tree: syntax.Node, *, last: bool) -> syntax.Node | None:
    """Returns the part, within groups, that reads a source's first or last character; None if no part does."""
    part = _edge(tree, last=last)[-1]
    return None if isinstance(part, _READING_NOTHING) else part


def certain(node: syntax.Node) -> Iterator[syntax.Node]:
    """Yields the parts that take part in every match."""
    yield node
    if isinstance(node, syntax.Group) or (isinstance(node, syntax.Repeat) and node.least > 0):
        yield from certain(node.body)
    elif isinstance(node, syntax.Sequence):
        for part in node.pieces:
            yield from certain(part)


def open_start(tree: syntax.Node) -> bool:
    """Returns whether a source matches at any depth, probably by mistake."""
    first = edge_part(tree, last=False)
    of_a_name = isinstance(first, syntax.Text) and first.characters.startswith(".") and ends_anchored(tree)
    return not (starts_anchored(tree) or takes_anything(first) or of_a_name)


def open_end(tree: syntax.Node) -> bool:
    """Returns whether a source matches keys that continue after it, probably by mistake."""
    return not ends_anchored(tree) and _goes_on(edge_part(tree, last=True))


def _goes_on(last: syntax.Node | None) -> bool:
    if isinstance(last, syntax.Alternation):
        return any(_goes_on(edge_part(branch, last=True)) for branch in last.branches)
    below = isinstance(last, syntax.Text) and last.characters.endswith("/")
    return not (last is None or below or takes_anything(last))


def takes_anything(node: syntax.Node | None) -> bool:
    """Returns whether a part is `.*` or the like, which may match any rest of a key."""
    return isinstance(node, syntax.Repeat) and node.most is None and isinstance(bare(node.body), syntax.AnyCharacter)


def bare(node: syntax.Node) -> syntax.Node:
    """Returns a part without the parentheses around it."""
    first, *others = (each for each, _ in syntax.atoms(node))
    return node if others else first


_ADDRESS = re.compile(r"(?i)[a-z][a-z0-9+.-]*://")
_OPENING = re.compile(r"\{\{|\{%|\{#")
_CLOSING = re.compile(r".*(?:\}\}|%\}|#\})", re.DOTALL)


def head(rewrite: Rewrite) -> str:
    """Returns the text that every result begins with; empty if a hole comes first."""
    template = rewrite.template
    if isinstance(template, PlainTemplate):
        return template.opening
    return _OPENING.split(trimmed(template.text), maxsplit=1)[0]


def tail(rewrite: Rewrite) -> str:
    """Returns the text that every result ends with; empty if a hole comes last."""
    template = rewrite.template
    if isinstance(template, PlainTemplate):
        return template.holes[-1][1] if template.holes else template.opening
    return _CLOSING.sub("", trimmed(template.text), count=1)


def constant(rewrite: Rewrite) -> str | None:
    """Returns the result if it is always the same; None if it has holes."""
    template = rewrite.template
    if isinstance(template, PlainTemplate):
        return None if template.holes else template.opening
    return None if _OPENING.search(template.text) else trimmed(template.text)


def is_address(text: str) -> bool:
    """Returns whether a text begins like the address of a page, and not like a key."""
    return _ADDRESS.match(text) is not None
