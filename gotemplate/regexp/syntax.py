"""The syntax tree of an expression, and Go's limits on its depth, size and repetitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from itertools import groupby, pairwise, repeat, takewhile
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from gotemplate.limits import GREATEST_DEPTH, GREATEST_REPEAT


class PatternError(Exception):
    """An expression that Go or RE2 refuses, or that would be slow; `offset` and `end` are code points in it."""

    def __init__(self, message: str, offset: int = 0, end: int | None = None, help: str | None = None) -> None:
        super().__init__(message)
        self.offset = offset
        self.end = end
        self.help = help


class Extent(NamedTuple):
    """A range of the expression's text in code points; `end` is excluded."""

    start: int
    end: int


class _SyntaxNode(msgspec.Struct, frozen=True, eq=False):
    """A node, compared and printed without its extent."""

    def _content(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "extent"}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SyntaxNode) and type(self) is type(other) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash((type(self), *self._content().values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={each!r}' for name, each in self._content().items())})"


class AssertionKind(Enum):
    """A condition on the characters around a gap, in the form that reads the same under any flags."""

    TEXT_START = r"\A"  # also `^`
    TEXT_END = r"\z"  # also `$`
    LINE_START = "(?m:^)"
    LINE_END = "(?m:$)"
    WORD_BOUNDARY = r"\b"
    NO_WORD_BOUNDARY = r"\B"


class Text(_SyntaxNode, frozen=True):
    """Consecutive literal characters; `folded` if their other cases match too.

    An escaped character is a text of its own, so that a character's offset follows from its index.
    """

    characters: str
    folded: bool
    extent: Extent

    def split(self) -> tuple[Text, ...]:
        """Returns a text for each of its characters."""
        if len(self.characters) == 1:
            return (self,)
        places = enumerate(self.characters, self.extent.start)
        return tuple(Text(each, self.folded, Extent(start, start + 1)) for start, each in places)


class CharacterRange(_SyntaxNode, frozen=True):
    """`a-z` within brackets, both ends included, or one character; `folded` if their other cases match too."""

    first: str
    last: str
    folded: bool
    extent: Extent


class NamedClass(_SyntaxNode, frozen=True):
    r"""A class by its official name: `\d`, `[:alpha:]`, `\p{Greek}`; if negated, `\D`, `[:^alpha:]`, `\P{Greek}`."""

    name: str
    negated: bool
    folded: bool
    extent: Extent


Member = CharacterRange | NamedClass  # the nodes within brackets


class BracketClass(_SyntaxNode, frozen=True):
    """`[…]`: one character of its members; `[^…]` if negated: one of no member."""

    members: tuple[Member, ...]
    negated: bool
    extent: Extent


class AnyCharacter(_SyntaxNode, frozen=True):
    """`.`: any character; under `(?s)` also a line end."""

    newline: bool
    extent: Extent


class Assertion(_SyntaxNode, frozen=True):
    r"""`^`, `$`, `\A`, `\z`, `\b` or `\B`."""

    kind: AssertionKind
    extent: Extent


class FlagChange(_SyntaxNode, frozen=True):
    """`(?i)`: flags for the rest of the group that contains it."""

    on: frozenset[str]
    off: frozenset[str]
    extent: Extent


class Group(_SyntaxNode, frozen=True):
    """`(…)`, `(?P<name>…)` or, without a number, `(?:…)`; it may set flags for its body."""

    body: Node
    number: int | None
    name: str | None
    extent: Extent
    on: frozenset[str] = frozenset()
    off: frozenset[str] = frozenset()


class Repeat(_SyntaxNode, frozen=True):
    """`*`, `+`, `?` or `{n,m}`: `least` to `most` times; `most` is None without a bound; `lazy` prefers fewer."""

    body: Node
    least: int
    most: int | None
    lazy: bool
    extent: Extent


class Sequence(_SyntaxNode, frozen=True):
    """Consecutive pieces; without pieces, the empty expression."""

    pieces: tuple[Node, ...]
    extent: Extent


class Alternation(_SyntaxNode, frozen=True):
    """`a|b`: one of its branches."""

    branches: tuple[Node, ...]
    extent: Extent


AnyOf = NamedClass | BracketClass | AnyCharacter  # the nodes that match one character of a set

Node = Text | AnyOf | Assertion | FlagChange | Group | Repeat | Sequence | Alternation


def children(node: Node | Member) -> tuple[Node | Member, ...]:
    """Returns the child nodes."""
    return node.members if isinstance(node, BracketClass) else _parts(node)


def walk(node: Node) -> Iterator[Node | Member]:
    """Yields a node and all its descendants, in the order of the text."""
    waiting: list[Node | Member] = [node]
    while waiting:
        yield (current := waiting.pop())
        waiting.extend(reversed(children(current)))


class Atom(NamedTuple):
    """A part of the outermost sequence, with groups opened; `end` is the offset after it and its closing `)`."""

    node: Node
    end: int

    def split(self) -> Iterator[Atom]:
        """Yields its characters as atoms of their own if it is a text, and itself otherwise."""
        *before, last = self.node.split() if isinstance(self.node, Text) else [self.node]
        yield from (Atom(each, each.extent.end) for each in before)
        yield Atom(last, self.end)


def atoms(tree: Node, *, backwards: bool = False) -> Iterator[Atom]:
    """Yields the pieces of the outermost sequence, or those from its end, with nested sequences and groups opened."""
    waiting: list[tuple[Node, int | None]] = [(tree, None)]  # with the end of the group that ends with a node
    while waiting:
        node, outer = waiting.pop()
        end = node.extent.end if outer is None else outer
        if isinstance(node, Group):
            waiting.append((node.body, end))
        elif isinstance(node, Sequence) and node.pieces:
            pieces = [*zip(node.pieces[:-1], repeat(None)), (node.pieces[-1], end)]
            waiting += pieces if backwards else reversed(pieces)
        else:
            yield Atom(node, end)


STARTS = frozenset({AssertionKind.TEXT_START, AssertionKind.LINE_START})
ENDS = frozenset({AssertionKind.TEXT_END, AssertionKind.LINE_END})


def literal_edge(tree: Node, anchors: frozenset[AssertionKind], *, folds: bool) -> str:
    """Returns the literal text beside an anchor at the edge of an expression; with `folds`, also ASCII of any case."""
    step = 1 if anchors is STARTS else -1
    nodes = (node for node, _ in atoms(tree, backwards=step < 0) if not isinstance(node, FlagChange))
    edge, first = "", next(nodes, None)
    if isinstance(first, Assertion) and first.kind in anchors:
        for node in nodes:
            if not isinstance(node, Text):
                break
            text = node.characters[::step]
            certain = "".join(takewhile(str.isascii, text)) * folds if node.folded else text
            edge += certain
            if len(certain) < len(text):
                break
    return edge[::step]


_Result = TypeVar("_Result")


def fold(tree: Node, combine: Callable[[Node, list[_Result]], _Result]) -> _Result:
    """Calls `combine` for each node, not for members, with the results of its children; a tree may be of any depth."""
    order: list[tuple[Node, int]] = []
    waiting = [tree]
    while waiting:
        parts = _parts(node := waiting.pop())
        order.append((node, len(parts)))
        waiting.extend(parts)
    results: list[_Result] = []
    for node, count in reversed(order):
        start = len(results) - count
        results[start:] = [combine(node, results[start:])]
    return results[0]


def _parts(node: Node | Member) -> tuple[Node, ...]:
    if isinstance(node, Sequence):
        return node.pieces
    if isinstance(node, Group | Repeat):
        return (node.body,)
    return node.branches if isinstance(node, Alternation) else ()


GREATEST_SIZE = (128 << 20) // 40  # instructions of Go's program, which may take 128 MiB


# The kinds of nodes that Go treats differently when it joins nodes; a folded one is a literal under `(?i)`.
_MeasureKind = Literal["literal", "folded", "concatenation", "alternation", "empty", "flags", "other"]


class Measure(NamedTuple):
    """A node as Go counts it: instructions, levels, and the most copies that counts make of one part."""

    kind: _MeasureKind
    size: int = 1
    depth: int = 1
    copies: int = 1


_EMPTY = Measure("empty")


def measure(node: Node, below: list[Measure]) -> Measure:
    """Returns the measure of a node from its children's; raises `PatternError`."""
    measure = _measured(node, below)
    start, end = node.extent
    if measure.size > GREATEST_SIZE:
        raise PatternError("expression too large", start, end, "lower its counts, or split it into several")
    if measure.depth > GREATEST_DEPTH:
        raise PatternError(f"expression nested deeper than {GREATEST_DEPTH} levels", start, end)
    if measure.copies > GREATEST_REPEAT:
        raise PatternError(f"nested counts make more than {GREATEST_REPEAT} copies", start, end, "lower a count")
    return measure


def _measured(node: Node, below: list[Measure]) -> Measure:  # noqa: PLR0911 - one case for each kind of node
    match node:
        case Text():
            return Measure("folded" if node.folded else "literal", len(node.characters))
        case Repeat():
            return _repeated(below[0], node.least, node.most)
        case Group(number=None):
            return below[0]
        case Group():
            return Measure("other", below[0].size + 2, below[0].depth + 1, below[0].copies)
        case Sequence():
            return _joined("concatenation", list(_with_literals_joined(below)), 0)
        case Alternation():
            counted = [one for one, other in pairwise(below) if not one.kind == other.kind == "empty"]
            return _joined("alternation", [*counted, below[-1]], len(counted))
        case FlagChange():
            return Measure("flags")
        case _:
            return Measure("other")


def _repeated(body: Measure, least: int, most: int | None) -> Measure:
    if most is None:
        size = body.size + 2 if least == 0 else least * body.size + 1
    else:
        size = max(1, most * body.size + most - least)
    # `{0}` makes no copies, whatever its body has.
    copies = 1 if most == 0 else body.copies * max(1, least if most is None else most)
    return Measure("other", size, body.depth + 1, copies)


def _with_literals_joined(measures: list[Measure]) -> Iterator[Measure]:
    without_flags = (part for part in measures if part.kind != "flags")
    for kind, parts in groupby(without_flags, attrgetter("kind")):
        if kind in ("literal", "folded"):
            yield Measure(kind, sum(part.size for part in parts))
        else:
            yield from parts


def _joined(kind: _MeasureKind, measures: list[Measure], extra: int) -> Measure:
    if len(measures) <= 1:
        return measures[0] if measures else _EMPTY
    return Measure(
        kind,
        sum(part.size for part in measures) + extra,
        # A child of the same kind adds no level.
        1 + max(part.depth - (part.kind == kind) for part in measures),
        max(part.copies for part in measures),
    )
