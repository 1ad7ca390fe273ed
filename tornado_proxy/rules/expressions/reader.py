r"""The reader of expressions, one pass from left to right: what it accepts and refuses is what Go's parser does.

Not all that differs can be seen in one construct. A count that applies to nothing, `(?:a{1000}){0}`, counts for RE2
and not for Go; within it, counts are left out of the program. And where what is repeated may itself match nothing, RE2
may take more than Go does, unless something stands in it that is true at any place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from tornado_proxy.rules.expressions import additions, pieces
from tornado_proxy.rules.expressions.brackets import ClassProgram, read_bracket, read_property
from tornado_proxy.rules.expressions.errors import PatternError
from tornado_proxy.rules.expressions.escapes import read_escape
from tornado_proxy.rules.expressions.groups import read_opening
from tornado_proxy.rules.expressions.pieces import Piece
from tornado_proxy.rules.expressions.properties import folded
from tornado_proxy.rules.expressions.ranges import bracketed

_PLAIN = re.compile(r"[^\\()\[|^$.*+?{]+")
_COUNT = re.compile(r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_PROGRAM = 32 << 20  # characters; RE2 could not compile one that is longer
# What may follow the one character that a repetition applies to: it, flags, or an empty `\\Q\\E`.
_REPETITIONS = ("*", "+", "?", "{", "(?", "\\Q")
_FLAGS = re.compile(r"\(\?[imsU]*-?[imsU]*\)")
_SOMEWHERE = r"(?:\b|\B)"
_UNBOUNDED = {"*": 0, "+": 1}


class Expression(NamedTuple):
    """An expression that Go accepts: what RE2 is given for it, and the name of each group, empty where it has none."""

    program: str
    names: tuple[str, ...]


@dataclass(slots=True)
class _Group:
    """A group that is open, or the whole expression: what stands in it so far, and what held before it."""

    opening: int
    start: int
    fold: bool
    captures: bool
    branches: list[Piece] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)

    def close_branch(self) -> None:
        """End one alternative."""
        self.branches.append(pieces.concatenated(self.start, self.pieces))
        self.pieces = []

    def close(self) -> Piece:
        """The group as one piece."""
        self.close_branch()
        whole = pieces.alternated(self.start, self.branches)
        return pieces.captured(self.start, whole) if self.captures else pieces.grouped(whole)


def read_expression(text: str) -> Expression:
    """What an expression means; raises `PatternError` where Go's regexp.Compile refuses it."""
    if ill := _SURROGATE.search(text):
        raise PatternError("the expression is not valid Unicode", ill.start(), ill.end())
    reader = _Reader(text)
    while reader.at < len(text):
        reader.step()
    return reader.finish()


class _Reader:
    """The state of one pass over a text."""

    def __init__(self, text: str) -> None:
        self.at = 0
        self._text = text
        self._parts: list[str] = []  # of the program
        self._counts: list[int] = []  # the parts that are counts
        self._names: list[str] = []
        self._groups = [_Group(0, 0, fold=False, captures=False)]
        self._fold = False
        self._bounds = 0  # of the ranges in all classes
        self._length = 0  # of the programs of all classes
        self._operator = 0  # the part that is the last repetition's operator; the next is free
        self._flags = ""  # what stands directly before that operator
        self._repetition: int | None = None  # where the last step's repetition began, if it was one

    def step(self) -> None:
        """Read one construct."""
        repetition, self._repetition = self._repetition, None
        match self._text[self.at]:
            case "(":
                self._open()
            case ")":
                self._close()
            case "|":
                self._groups[-1].close_branch()
                self._add("|", 1)
            case "[":
                self._class(*read_bracket(self._text, self.at, fold=self._fold))
            case "^" | "$" as place:
                self._operand(place, self.at + 1, nullable=True)
            case ".":
                self._operand(".", self.at + 1)
            case "*" | "+" | "?" as operator:
                most = 1 if operator == "?" else None
                self._repeat(self.at + 1, (_UNBOUNDED.get(operator, 0), most), repetition)
            case "{":
                self._count(repetition)
            case "\\":
                self._backslash()
            case _:
                self._plain()

    def finish(self) -> Expression:
        """The expression, when all has been read."""
        group = self._groups[-1]
        if len(self._groups) > 1:
            raise PatternError(
                "the group is never closed",
                group.opening,
                group.opening + 1,
                "write `)` where it ends, or `\\(` for a parenthesis",
            )
        self._check(group.close(), 0)
        return Expression("".join(self._parts), tuple(self._names))

    def _add(self, part: str, length: int) -> None:
        self._parts.append(part)
        self.at += length

    def _push(self, piece: Piece) -> None:
        self._groups[-1].pieces.append(piece)

    def _operand(self, part: str, end: int, *, nullable: bool = False) -> None:
        """Take in one construct that matches one character, or, if it is `nullable`, a place between two."""
        self._push(Piece(pieces.Kind.OTHER, len(self._parts), nullable=nullable))
        self._parts.append(part)
        self.at = end

    def _class(self, program: ClassProgram, end: int) -> None:
        self._bounds += program.bounds
        self._length += len(program.text)
        if self._bounds > pieces.GREATEST_CLASSES or self._length > _LONGEST_PROGRAM:
            raise PatternError("the expression is too large", self.at, end, "write fewer of its large classes")
        self._operand(program.text, end)

    def _open(self) -> None:
        group = _Group(self.at, len(self._parts), self._fold, captures=True)
        if not self._text.startswith("(?", self.at):
            self._begin(group, "")
            self._add("(", 1)
            return
        opening = read_opening(self._text, self.at)
        if opening.name is not None:
            self._begin(group, opening.name)
            self._parts.append("(")
        else:
            if opening.opens:
                group.captures = False
                self._groups.append(group)
            self._fold = self._fold if opening.fold is None else opening.fold
            self._parts.append(opening.text)
        self.at += len(opening.text)

    def _begin(self, group: _Group, name: str) -> None:
        self._names.append(name)
        self._groups.append(group)

    def _close(self) -> None:
        if len(self._groups) == 1:
            raise PatternError("`)` closes no group", self.at, self.at + 1, "write `\\)` for a parenthesis")
        group = self._groups.pop()
        self._fold = group.fold
        piece = group.close()
        self._check(piece, group.opening)
        self._push(piece)
        self._add(")", 1)

    def _count(self, repetition: int | None) -> None:
        found = _COUNT.match(self._text, self.at)
        if found is None:
            self._literal("{", 1)
            return
        least = int(found[1])
        most = None if found[2] and not found[3] else int(found[3] or found[1])
        if max(least, most or 0) > pieces.GREATEST_REPEAT:
            raise PatternError(f"`{found[0]}` counts further than {pieces.GREATEST_REPEAT}", *found.span())
        if most is not None and least > most:
            cure = f"write `{{{most},{least}}}`"
            raise PatternError(f"`{found[0]}` has its greater bound first", *found.span(), cure)
        self._repeat(found.end(), (least, most), repetition)
        self._counts.append(self._operator)

    def _repeat(self, end: int, bounds: tuple[int, int | None], repetition: int | None) -> None:
        """Apply a repetition that ends at an offset, or one character later if it is lazy."""
        start, self._repetition = self.at, self.at
        end += self._text.startswith("?", end)
        if repetition is not None:
            raise _nested(self._text, repetition, start, end)
        operands = self._groups[-1].pieces
        if not operands:
            raise _nothing_to_repeat(self._text[start:end], start, end)
        operand = operands[-1]
        operands[-1] = piece = pieces.repeated(operand, *bounds)
        self._check(piece, start)
        least, most = bounds
        if max(least, most or 0) > 1 and piece.copies > pieces.GREATEST_REPEAT:
            raise PatternError(
                f"repetitions within one another make more than {pieces.GREATEST_REPEAT} copies", start, end
            )
        if operand.kind is pieces.Kind.REPETITION:
            self._group_repetition(operand)
        elif operand.nullable and most != 1 and self._parts[operand.start].startswith("(?") and self._parts[-1] == ")":
            self._parts[operand.start] = f"(?:{self._parts[operand.start]}"
            self._parts[-1] = f"){_SOMEWHERE})"
        self._flags = self._last_flags()
        self._operator = len(self._parts)
        self._parts += self._text[start:end], ""
        self.at = end
        if most == 0:
            self._leave_out_counts(operand)

    def _group_repetition(self, operand: Piece) -> None:
        r"""Put a repetition in a group; in `a*\Q\E*`, RE2 would take two for one that does not exist."""
        somewhere = _SOMEWHERE if operand.nullable else ""
        self._parts[operand.start] = f"(?:{self._parts[operand.start]}"
        # The flags before the operator are those of what follows, too.
        self._parts[self._operator + 1] = f"{somewhere}){self._flags}"

    def _last_flags(self) -> str:
        """The flags that stand last, before an operator."""
        at = len(self._parts)
        while at and _FLAGS.fullmatch(self._parts[at - 1]):
            at -= 1
        return "".join(self._parts[at:])

    def _leave_out_counts(self, operand: Piece) -> None:
        while self._counts and self._counts[-1] >= operand.start:
            self._parts[self._counts.pop()] = ""

    def _check(self, piece: Piece, at: int) -> None:
        if piece.size > pieces.GREATEST_SIZE:
            raise PatternError("the expression is too large", at, help="count less, or split it into several rewrites")
        if piece.depth > pieces.GREATEST_DEPTH:
            raise PatternError(f"the expression nests deeper than {pieces.GREATEST_DEPTH} levels", at)

    def _backslash(self) -> None:
        match self._text[self.at + 1 : self.at + 2]:
            case "Q":
                self._quoted()
            case "p" | "P":
                part, end = read_property(self._text, self.at)
                self._class(part.program(fold=self._fold), end)
            case letter if letter and letter in "AbBzdDsSwW":
                self._operand(self._text[self.at : self.at + 2], self.at + 2, nullable=letter in "AbBz")
            case _:
                code, end = read_escape(self._text, self.at)
                self._literal(chr(code), end - self.at)

    def _quoted(self) -> None:
        r"""Read what stands between `\Q` and `\E`, or the end."""
        start = self.at + 2
        end = self._text.find("\\E", start)
        quoted = self._text[start : end if end >= 0 else None]
        for character in quoted:
            self._literal(character, 0)
        self.at = start + len(quoted) + (2 if end >= 0 else 0)

    def _plain(self) -> None:
        """Read characters that stand for themselves; the last is apart where a repetition may follow it."""
        found = _PLAIN.match(self._text, self.at)
        assert found
        run = found[0]
        if self._fold and not run.isascii():
            for character in run:
                self._literal(character, 1)
            return
        repeats = self._text.startswith(_REPETITIONS, found.end())
        for part in filter(None, (run[:-1], run[-1])) if repeats else (run,):
            self._push(pieces.literal(len(self._parts), len(part), fold=self._fold))
            self._add(part, len(part))

    def _literal(self, character: str, length: int) -> None:
        """Take in one character, written with so many."""
        self._push(pieces.literal(len(self._parts), 1, fold=self._fold))
        self._add(_spelled(character, fold=self._fold), length)


def _spelled(character: str, *, fold: bool) -> str:
    code = ord(character)
    if fold and code in additions.OTHER_CASE:
        return bracketed(folded(((code, code),)))
    return character if character.isascii() and character.isalnum() else f"\\x{{{code:x}}}"


def _nested(text: str, repetition: int, start: int, end: int) -> PatternError:
    if text[start] == "+":
        return PatternError(
            f"`{text[repetition:end]}` is a possessive quantifier, which Go does not have",
            repetition,
            end,
            "leave out the `+`: RE2 never goes back, so there is nothing to forbid",
        )
    return PatternError(
        f"`{text[repetition:end]}` repeats a repetition", repetition, end, "put what is repeated in a group: `(?:…)`"
    )


def _nothing_to_repeat(operator: str, start: int, end: int) -> PatternError:
    cure = f"write `.{operator}` for any text" if operator == "*" else f"write `\\{operator}` for the character itself"
    return PatternError(f"`{operator}` has nothing before it to repeat", start, end, cure)
