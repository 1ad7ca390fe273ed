"""The operands of an expression as Go measures them: what nests too deeply, repeats too often or grows too large.

Go counts on its own tree (regexp/syntax: maxHeight, maxSize, repeatIsValid), where neighbouring characters are one
literal and a group that captures nothing has no node of its own; so does this module. It does not factor common
beginnings out of alternatives, as Go does before it counts, so that a depth within a few of the limit may be judged
otherwise; nor does it let a literal of thousands of characters grow past the largest size, as Go does.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from itertools import zip_longest
from typing import NamedTuple

GREATEST_DEPTH = 1000
GREATEST_REPEAT = 1000
GREATEST_SIZE = (128 << 20) // 40
"""In instructions of Go's program, of which 128 MiB may be taken."""
GREATEST_CLASSES = (128 << 20) // 4
"""In bounds of ranges, of which 128 MiB may be taken."""


class Kind(Enum):
    """What Go treats apart when it joins pieces."""

    LITERAL = auto()
    FOLDED = auto()  # a literal under `(?i)`
    CONCATENATION = auto()
    ALTERNATION = auto()
    REPETITION = auto()
    EMPTY = auto()
    OTHER = auto()


class Piece(NamedTuple):
    """An operand: its program's size, its depth, the most copies that repetitions make of anything within it.

    `start` is where its program begins among the parts of the whole, `nullable` whether it may match nothing.
    """

    kind: Kind
    start: int
    size: int = 1
    depth: int = 1
    copies: int = 1
    nullable: bool = False


def literal(start: int, length: int, *, fold: bool) -> Piece:
    """Some characters in a row."""
    return Piece(Kind.FOLDED if fold else Kind.LITERAL, start, length)


def concatenated(start: int, pieces: Sequence[Piece]) -> Piece:
    """Pieces one after another; none of them is the empty expression."""
    return _joined(Kind.CONCATENATION, start, _with_literals_joined(pieces), 0)


def alternated(start: int, branches: Sequence[Piece]) -> Piece:
    """Pieces one of which must match; of empty ones that are neighbours, one counts."""
    if len(branches) == 1:
        return branches[0]
    counted = [
        branch
        for branch, following in zip_longest(branches, branches[1:])
        if following is None or not (branch.kind is following.kind is Kind.EMPTY)
    ]
    return _joined(Kind.ALTERNATION, start, counted, len(counted) - 1)


def captured(start: int, piece: Piece) -> Piece:
    """A piece in parentheses that capture it."""
    return Piece(Kind.OTHER, start, piece.size + 2, piece.depth + 1, piece.copies, piece.nullable)


def grouped(piece: Piece) -> Piece:
    """A piece in parentheses that capture nothing: the same, but that they part it from what follows."""
    return piece._replace(kind=Kind.OTHER) if piece.kind is Kind.REPETITION else piece


def repeated(piece: Piece, least: int, most: int | None) -> Piece:
    """A piece that is matched so many times; `most` is None where there is no upper bound."""
    return Piece(
        Kind.REPETITION,
        piece.start,
        _repeated_size(piece, least, most),
        piece.depth + 1,
        _copies(piece, least, most),
        least == 0 or piece.nullable,
    )


def _repeated_size(piece: Piece, least: int, most: int | None) -> int:
    if most is not None:
        return max(1, most * piece.size + most - least)
    return piece.size + 2 if least == 0 else least * piece.size + 1


def _copies(piece: Piece, least: int, most: int | None) -> int:
    """What is repeated no times has no copies, however often they would be repeated."""
    if most == 0:
        return 1
    return piece.copies * max(1, least if most is None else most)


def _with_literals_joined(pieces: Sequence[Piece]) -> list[Piece]:
    joined: list[Piece] = []
    for piece in pieces:
        if joined and piece.kind in (Kind.LITERAL, Kind.FOLDED) and joined[-1].kind is piece.kind:
            joined[-1] = Piece(piece.kind, joined[-1].start, joined[-1].size + piece.size)
        else:
            joined.append(piece)
    return joined


def _joined(kind: Kind, start: int, pieces: Sequence[Piece], extra: int) -> Piece:
    if not pieces:
        return Piece(Kind.EMPTY, start, nullable=True)
    if len(pieces) == 1:
        piece = pieces[0]
        return piece if piece.start == start else piece._replace(start=start)
    return Piece(
        kind,
        start,
        sum(piece.size for piece in pieces) + extra,
        # A piece of the same kind is no level of its own.
        1 + max(piece.depth - (piece.kind is kind) for piece in pieces),
        max(piece.copies for piece in pieces),
        (any if kind is Kind.ALTERNATION else all)(piece.nullable for piece in pieces),
    )
