"""The frozen syntax tree of an expression in Go's syntax, for proofs and for telling people what it means.

An extent is part of every node and never takes part in comparison: two trees are equal if they say the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple


class Extent(NamedTuple):
    """A stretch of the expression's text: code-point offsets, the end excluded."""

    start: int
    end: int


class AssertionKind(Enum):
    """A condition on the characters beside a gap, which reads none."""

    TEXT_START = "text start"  # `^`, `\A`
    TEXT_END = "text end"  # `$`, `\z`
    LINE_START = "line start"  # `^` under `(?m)`
    LINE_END = "line end"  # `$` under `(?m)`
    WORD_BOUNDARY = "word boundary"  # `\b`
    NO_WORD_BOUNDARY = "no word boundary"  # `\B`


@dataclass(frozen=True, slots=True)
class Text:
    """Characters in a row that stand for themselves; `folded` where their other cases match too.

    One that is written otherwise than as itself is a text alone, so that a character's place is known by its index.
    """

    characters: str
    folded: bool
    extent: Extent = field(compare=False, repr=False)

    def apart(self) -> tuple[Text, ...]:
        """Its characters, each as a text of its own."""
        if len(self.characters) == 1:
            return (self,)
        places = enumerate(self.characters, self.extent.start)
        return tuple(Text(each, self.folded, Extent(start, start + 1)) for start, each in places)


@dataclass(frozen=True, slots=True)
class Character:
    """One character within brackets, however written; `folded` where its other cases match too."""

    character: str
    folded: bool
    extent: Extent = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CharacterRange:
    """`a-z` within brackets, both ends included."""

    first: str
    last: str
    folded: bool
    extent: Extent = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PerlClass:
    r"""`\d`, `\s` or `\w`; `\D`, `\S` and `\W` are negated."""

    letter: str
    negated: bool
    folded: bool
    extent: Extent = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PosixClass:
    """`[:alpha:]` or, negated, `[:^alpha:]`, within brackets."""

    name: str
    negated: bool
    folded: bool
    extent: Extent = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class UnicodeClass:
    r"""`\pL`, `\p{Greek}` and, negated, `\PL`, `\P{Greek}`, `\p{^Greek}`, by its one official name."""

    name: str
    negated: bool
    folded: bool
    extent: Extent = field(compare=False, repr=False)


Member = Character | CharacterRange | PerlClass | PosixClass | UnicodeClass
"""What may stand within brackets."""


@dataclass(frozen=True, slots=True)
class BracketClass:
    """`[…]` or, negated, `[^…]`: one character, of any of its members or of none."""

    members: tuple[Member, ...]
    negated: bool
    extent: Extent = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AnyCharacter:
    """`.`: any character; a line end too under `(?s)`."""

    newline: bool
    extent: Extent = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Assertion:
    r"""`^`, `$`, `\A`, `\z`, `\b` or `\B`."""

    kind: AssertionKind
    extent: Extent = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FlagChange:
    """`(?i)`: flags for the rest of the group it stands in."""

    on: frozenset[str]
    off: frozenset[str]
    extent: Extent = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Group:
    """`(…)`, `(?P<name>…)` or, without a number, `(?:…)`; flags may be set for what it holds."""

    body: Node
    number: int | None
    name: str | None
    extent: Extent = field(compare=False, repr=False)
    on: frozenset[str] = frozenset()
    off: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Repeat:
    """`*`, `+`, `?`, `{n,m}`: `least` to `most` times, any number where that is None; `lazy` prefers fewer."""

    body: Node
    least: int
    most: int | None
    lazy: bool
    extent: Extent = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Sequence:
    """One part after another; none: the empty expression."""

    parts: tuple[Node, ...]
    extent: Extent = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Alternation:
    """`a|b`: any of its branches."""

    branches: tuple[Node, ...]
    extent: Extent = field(compare=False, repr=False)


AnyOf = PerlClass | UnicodeClass | BracketClass | AnyCharacter
"""The nodes that read one character, of several."""

Node = Text | AnyOf | Assertion | FlagChange | Group | Repeat | Sequence | Alternation


def children(node: Node | Member) -> tuple[Node | Member, ...]:
    """The nodes directly below one."""
    match node:
        case Group() | Repeat():
            return (node.body,)
        case Sequence():
            return node.parts
        case Alternation():
            return node.branches
        case BracketClass():
            return node.members
        case _:
            return ()


def walk(node: Node) -> Iterator[Node | Member]:
    """A node and all below it, in the order of the text."""
    waiting: list[Node | Member] = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(reversed(children(found)))
