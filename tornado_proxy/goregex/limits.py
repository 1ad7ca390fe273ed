"""Go's limits on an expression: how deep it nests, how often it repeats, how large its program grows.

Go counts on its own tree (regexp/syntax: maxHeight, maxSize, repeatIsValid), where neighbouring characters are one
literal and a group that captures nothing has no node of its own; so does this module. It does not factor common
beginnings out of alternatives, as Go does before it counts, so that a depth within a few of the limit may be judged
otherwise; nor does it let a literal of thousands of characters grow past the largest size, as Go does.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from itertools import pairwise
from typing import NamedTuple

from tornado_proxy.goregex import syntax
from tornado_proxy.goregex.classes import characters
from tornado_proxy.goregex.tokens import GREATEST_REPEAT

GREATEST_DEPTH = 1000
GREATEST_SIZE = (128 << 20) // 40
"""In instructions of Go's program, which may take 128 MiB."""
GREATEST_CLASSES = (128 << 20) // 4
"""In bounds of ranges, which may take 128 MiB."""

# A text this short is neither too deep nor, without counts, too large.
_SHORT = 1000


class _Kind(Enum):
    """What Go treats apart when it joins nodes."""

    LITERAL = auto()
    FOLDED = auto()  # a literal under `(?i)`
    CONCATENATION = auto()
    ALTERNATION = auto()
    EMPTY = auto()
    FLAGS = auto()
    OTHER = auto()


class Measure(NamedTuple):
    """A node as Go counts it: instructions, levels, and the most copies that counts make of anything within it."""

    kind: _Kind
    size: int = 1
    depth: int = 1
    copies: int = 1


_EMPTY = Measure(_Kind.EMPTY)


def check_limits(text: str, tree: syntax.Node) -> None:
    """Raise `PatternError` where Go finds an expression too deep or too large."""
    if len(text) > _SHORT or "{" in text:
        syntax.fold(tree, measure)
        bounds = sum(
            2 * len(characters(node))
            for node in syntax.walk(tree)
            if isinstance(node, syntax.BracketClass | syntax.UnicodeClass)
        )
        if bounds > GREATEST_CLASSES:
            raise syntax.PatternError("expression too large", 0, len(text), "write fewer of its large classes")


def measure(node: syntax.Node, below: list[Measure]) -> Measure:
    """The measure of a node, given those of the nodes below it; raises `PatternError`."""
    found = _measured(node, below)
    start, end = node.extent
    if found.size > GREATEST_SIZE:
        raise syntax.PatternError(
            "expression too large", start, end, "lower its counts, or split it into several rewrites"
        )
    if found.depth > GREATEST_DEPTH:
        raise syntax.PatternError(f"expression nested deeper than {GREATEST_DEPTH} levels", start, end)
    if found.copies > GREATEST_REPEAT:
        raise syntax.PatternError(f"nested counts make more than {GREATEST_REPEAT} copies", start, end, "lower a count")
    return found


def _measured(node: syntax.Node, below: list[Measure]) -> Measure:  # noqa: PLR0911 - one case for each kind of node
    match node:
        case syntax.Text():
            return Measure(_Kind.FOLDED if node.folded else _Kind.LITERAL, len(node.characters))
        case syntax.Repeat():
            return _repeated(below[0], node.least, node.most)
        case syntax.Group(number=None):
            return below[0]
        case syntax.Group():
            return Measure(_Kind.OTHER, below[0].size + 2, below[0].depth + 1, below[0].copies)
        case syntax.Sequence():
            return _joined(_Kind.CONCATENATION, _with_literals_joined(below), 0)
        case syntax.Alternation():
            counted = [one for one, other in pairwise(below) if not one.kind is other.kind is _Kind.EMPTY]
            return _joined(_Kind.ALTERNATION, [*counted, below[-1]], len(counted))
        case syntax.FlagChange():
            return Measure(_Kind.FLAGS)
        case _:
            return Measure(_Kind.OTHER)


def _repeated(body: Measure, least: int, most: int | None) -> Measure:
    if most is None:
        size = body.size + 2 if least == 0 else least * body.size + 1
    else:
        size = max(1, most * body.size + most - least)
    # What is repeated no times has no copies, however often they would be repeated.
    copies = 1 if most == 0 else body.copies * max(1, least if most is None else most)
    return Measure(_Kind.OTHER, size, body.depth + 1, copies)


def _with_literals_joined(parts: Sequence[Measure]) -> list[Measure]:
    joined: list[Measure] = []
    for part in parts:
        if part.kind is _Kind.FLAGS:
            continue
        if joined and part.kind in (_Kind.LITERAL, _Kind.FOLDED) and joined[-1].kind is part.kind:
            joined[-1] = Measure(part.kind, joined[-1].size + part.size)
        else:
            joined.append(part)
    return joined


def _joined(kind: _Kind, parts: Sequence[Measure], extra: int) -> Measure:
    if len(parts) <= 1:
        return parts[0] if parts else _EMPTY
    return Measure(
        kind,
        sum(part.size for part in parts) + extra,
        # A part of the same kind is not a level of its own.
        1 + max(part.depth - (part.kind is kind) for part in parts),
        max(part.copies for part in parts),
    )
