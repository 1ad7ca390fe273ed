"""Properties of sources and templates that are known without running them: anchors, ends of results, groups."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gotemplate.regexp import syntax
from gotemplate.regexp.matching import Pattern, group_number
from tornado_proxy.rules.model import Rewrite
from tornado_proxy.rules.tree import Dialect
from tornado_proxy.templates.template import PlainTemplate, trimmed


def starts_anchored(tree: syntax.Node) -> bool:
    """Returns whether every match begins where the key begins."""
    return _anchored(tree, syntax.STARTS, last=False)


def ends_anchored(tree: syntax.Node) -> bool:
    """Returns whether every match ends where the key ends."""
    return _anchored(tree, syntax.ENDS, last=True)


def _anchored(node: syntax.Node, kinds: frozenset[syntax.AssertionKind], *, last: bool) -> bool:
    match node:
        case syntax.Assertion():
            return node.kind in kinds
        case syntax.Sequence():
            edge = edge_of(node, last=last)
            return any(_anchored(part, kinds, last=last) for part in edge)
        case syntax.Group():
            return _anchored(node.body, kinds, last=last)
        case syntax.Alternation():
            return all(_anchored(branch, kinds, last=last) for branch in node.branches)
        case syntax.Repeat():
            return node.least > 0 and _anchored(node.body, kinds, last=last)
        case _:
            return False


def edge_of(node: syntax.Sequence, *, last: bool) -> list[syntax.Node]:
    """Returns the first parts of a sequence, or the last in reverse order, up to the one that reads a character."""
    edge: list[syntax.Node] = []
    for part in reversed(node.pieces) if last else node.pieces:
        edge.append(part)
        if not isinstance(part, syntax.Assertion | syntax.FlagChange):
            break
    return edge


def edge_part(tree: syntax.Node, *, last: bool) -> syntax.Node | None:
    """Returns the part, within groups, that reads a source's first or last character; None if no part does."""
    node: syntax.Node | None = tree
    while node is not None:
        match node:
            case syntax.Sequence():
                edge = edge_of(node, last=last)
                node = edge[-1] if edge and not isinstance(edge[-1], syntax.Assertion | syntax.FlagChange) else None
            case syntax.Group():
                node = node.body
            case syntax.Assertion() | syntax.FlagChange():
                return None
            case _:
                return node
    return None


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
    while isinstance(node, syntax.Group) or (isinstance(node, syntax.Sequence) and len(node.pieces) == 1):
        node = node.body if isinstance(node, syntax.Group) else node.pieces[0]
    return node


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


def has_group(pattern: Pattern, reference: str) -> bool:
    """Returns whether a source has the group that a plain template refers to."""
    number = group_number(reference)
    return reference in pattern.names if number is None else number <= pattern.group_count


# Unambiguous slips first, then text that is a slip only if there is such a group; `$$` is a dollar.
_IN_PLAIN = re.compile(
    r"\$\$|\\(?:([0-9])|[gk]<(\w+)>)|\$\{(\w+)(?![\w}])|\$(&)"
    r"|\$\((?P<round>\w+)\)|\{(?<![{$]\{)(?P<curly>\w+)\}(?!\})|%(?P<percent>[1-9])(?![0-9A-Fa-f])"
)
# In other dialects plain references are slips; those within braces are variables of the dialect, or text.
_IN_OTHERS = re.compile(
    r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|\$\$"
    r"|\\(?:(?P<number>[1-9])|[gk]<(?P<called>\w+)>)|\$\{(?P<braced>\w+)\}|\$(?P<bare>\w+)",
    re.DOTALL,
)
_WHOLE = {"&": "0"}
_REFERENCES = {
    Dialect.PLAIN: ("${{{}}}", "${{{}}}"),
    Dialect.JINJA: ("{{{{ groups[{}] }}}}", "{{{{ groups.{} }}}}"),
    Dialect.GO: ('{{{{ index .Groups "{}" }}}}', "{{{{ .Groups.{} }}}}"),
}
"""The forms in which each dialect refers to a group: by its number, and by its name."""


class Slip(NamedTuple):
    """A text that was meant as a reference to a group, and its place in the template (code points)."""

    group: str
    start: int
    end: int


def slips(rewrite: Rewrite) -> Iterator[Slip]:
    """Yields texts that look like references but are not; ambiguous ones only if the group exists."""
    expression = _IN_PLAIN if rewrite.dialect is Dialect.PLAIN else _IN_OTHERS
    for reference in expression.finditer(rewrite.template.text):
        if reference.lastindex is not None:
            group = _WHOLE.get(reference[reference.lastindex], reference[reference.lastindex])
            if reference.lastgroup is None or has_group(rewrite.pattern, group):
                yield Slip(group, *reference.span())


def reference(group: str, dialect: Dialect) -> str:
    """Returns a reference to a group, as a dialect writes it."""
    by_number, by_name = _REFERENCES[dialect]
    return (by_name if group_number(group) is None else by_number).format(group)
