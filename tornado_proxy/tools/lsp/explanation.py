"""Explains an expression in words: an outline of its pieces, in Markdown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import assert_never

import msgspec

from gotemplate.regexp import syntax
from tornado_proxy.lint.check import listed
from tornado_proxy.rules.diagnostic import shortened
from tornado_proxy.rules.excerpt import visible

_TICKS = re.compile("`+")
_LONGEST = 200  # characters of one text that are shown


def code(text: str) -> str:
    """Returns a text as code on one line; a long one is cut."""
    shown = visible(shortened(text, _LONGEST)) or " "
    longest = max((len(ticks) for ticks in _TICKS.findall(shown)), default=0)
    fence = "`" * (longest + 1)
    # CommonMark (6.1) removes one space inside the fence, which separates it from ticks and spaces.
    padding = " " if shown.strip() and (shown[0] in "` " or shown[-1] in "` ") else ""
    return f"{fence}{padding}{shown}{padding}{fence}"


def paragraphs(texts: Iterable[str]) -> str:
    """Joins paragraphs, without empty ones."""
    return "\n\n".join(text for text in texts if text)


def prose(text: str) -> str:
    """Returns a message with Markdown escaped, except for words in backticks."""
    return re.sub(r"([\\*_<>\[\]#|~])(?=[^`]*(?:`[^`]*`[^`]*)*$)", r"\\\1", visible(text))


_ASSERTIONS: Mapping[syntax.AssertionKind, str] = {
    syntax.AssertionKind.TEXT_START: "the beginning of the key",
    syntax.AssertionKind.TEXT_END: "the end of the key",
    syntax.AssertionKind.LINE_START: "the beginning of a line",
    syntax.AssertionKind.LINE_END: "the end of a line",
    syntax.AssertionKind.WORD_BOUNDARY: "the edge of a word",
    syntax.AssertionKind.NO_WORD_BOUNDARY: "not the edge of a word",
}
_PERL = {r"\d": "a digit", r"\s": "a space", r"\w": "a letter, a digit or `_` (ASCII)"}
_NOT_IN_NAMES = re.compile(r"^\\p|\W")  # what surrounds the name of a class
_FLAGS = {
    "i": "in any case",
    "m": "`^` and `$` match at every line",
    "s": "`.` matches line ends too",
    "U": "as little as possible first",
}


class OutlineItem(msgspec.Struct, frozen=True):
    """A part of an expression, its depth, and its meaning in Markdown."""

    extent: syntax.Extent
    depth: int
    meaning: str


_Branching = syntax.Group | syntax.Repeat | syntax.Alternation
_Piece = syntax.Text | syntax.AnyOf | syntax.Assertion | syntax.FlagChange | _Branching


def outline(node: syntax.Node, depth: int = 0) -> Iterator[OutlineItem]:
    """Yields the pieces of an expression in their order; a part that fits on one line is not divided."""
    for piece in _pieces(node):
        if _is_simple(piece):
            yield OutlineItem(piece.extent, depth, _phrase(piece))
            continue
        yield OutlineItem(piece.extent, depth, f"{_heading(piece)}:")
        match piece:
            case (syntax.Alternation() as choice) | syntax.Group(body=syntax.Alternation() as choice):
                yield from _branches(choice, depth + 1)
            case syntax.Group() | syntax.Repeat():
                yield from outline(piece.body, depth + 1)


def _branches(alternation: syntax.Alternation, depth: int) -> Iterator[OutlineItem]:
    for branch in alternation.branches:
        if len(_pieces(branch)) == 1:
            yield from outline(branch, depth)
            continue
        yield OutlineItem(branch.extent, depth, "all of this:" if _pieces(branch) else "nothing")
        yield from outline(branch, depth + 1)


def phrase(node: syntax.Node) -> str:
    """Returns an expression as one phrase."""
    return ", then ".join(map(_phrase, _pieces(node))) or "nothing"


def _pieces(node: syntax.Node) -> Sequence[_Piece]:
    pieces: list[_Piece] = []
    for part in node.pieces if isinstance(node, syntax.Sequence) else (node,):
        last = pieces[-1] if pieces else None
        match part:
            case syntax.Sequence():  # the expression is empty here
                pass
            case syntax.Text() if isinstance(last, syntax.Text) and last.folded == part.folded:
                extent = syntax.Extent(last.extent.start, part.extent.end)
                pieces[-1] = syntax.Text(last.characters + part.characters, part.folded, extent)
            case _:
                pieces.append(part)
    return pieces


def _is_simple(piece: _Piece) -> bool:
    """Returns whether a piece fits into one phrase."""
    match piece:
        case syntax.Group() | syntax.Repeat():
            inner = _pieces(piece.body)
            return len(inner) <= 1 and all(map(_is_simple, inner))
        case syntax.Alternation():
            alternatives = [_pieces(branch) for branch in piece.branches]
            return all(len(each) == 1 and isinstance(each[0], syntax.Text) for each in alternatives)
        case _:
            return True


def _phrase(piece: _Piece) -> str:  # noqa: PLR0911 - one phrase for each kind
    match piece:
        case syntax.Text():
            return code(piece.characters) + (" in any case" if piece.folded else "")
        case syntax.Group():
            body = phrase(piece.body)
            return f"{_heading(piece)}: {body}" if piece.number is not None else body
        case syntax.Repeat():
            return f"{phrase(piece.body)}, {_times(piece)}"
        case syntax.Alternation():
            return " or ".join(map(phrase, piece.branches))
        case syntax.FlagChange():
            return f"from here on: {_flags(piece.on, piece.off)}"
        case syntax.Assertion():
            return _ASSERTIONS[piece.kind]
        case _:
            return _one(piece)


def _heading(piece: _Piece) -> str:
    match piece:
        case syntax.Group():
            number = f"group {piece.number}" if piece.number is not None else ""
            name = code(piece.name) if piece.name else ""
            is_choice = isinstance(piece.body, syntax.Alternation) and not _is_simple(piece.body)
            words = [number, name, _flags(piece.on, piece.off), "one of these" if is_choice else ""]
            return ", ".join(filter(None, words)) or "together"
        case syntax.Repeat():
            return _times(piece)
        case _:
            return "one of these"


_OFTEN = {(0, None): "any number of times", (0, 1): "once or not at all", (1, None): "once or more", (1, 1): "once"}


def _times(repeat: syntax.Repeat) -> str:
    least, most = repeat.least, repeat.most
    span = f"{least} times or more" if most is None else f"{least} to {most} times"
    words = _OFTEN.get((least, most), f"{least} times" if least == most else span)
    return f"{words}, as few as possible" if repeat.lazy else words


def _flags(on: Collection[str], off: Collection[str]) -> str:
    words = [_FLAGS[flag] for flag in sorted(on) if flag in _FLAGS]
    return ", ".join([*words, *(f"no longer {_FLAGS[flag]}" for flag in sorted(off) if flag in _FLAGS)])


def _one(piece: syntax.AnyOf) -> str:
    match piece:
        case syntax.AnyCharacter():
            return "any character"
        case syntax.BracketClass(negated=True):
            return f"any character but {listed(map(_member, piece.members))}"
        case syntax.BracketClass(members=(syntax.CharacterRange(first, last),)) if first == last:
            return code(first)
        case syntax.BracketClass(members=(syntax.NamedClass() as member,)):
            return _member(member)
        case syntax.BracketClass():
            return f"one of {listed(map(_member, piece.members))}"
        case _:
            return _member(piece)


def _member(member: syntax.Member) -> str:
    match member:
        case syntax.CharacterRange(first, last):
            return code(first) if first == last else f"{code(first)} to {code(last)}"
        case syntax.NamedClass() if member.name in _PERL:
            return f"anything but {_PERL[member.name]}" if member.negated else _PERL[member.name]
        case syntax.NamedClass():
            return f"a character {'not ' if member.negated else ''}of {code(_NOT_IN_NAMES.sub('', member.name))}"
        case _:
            assert_never(member)
