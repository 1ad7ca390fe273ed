"""From the text of an expression in Go's syntax to its tree.

What may be written is judged by `rules.expressions`, whose readers of escapes, classes and groups are used here: of any
text that it accepts, `parse` makes a tree that means the same, or raises `Unsupported`; of other texts it may make
anything, but it neither fails otherwise nor hangs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tornado_proxy.lint.automata.classes import POSIX_NAMES
from tornado_proxy.lint.automata.errors import Unsupported
from tornado_proxy.lint.automata.syntax import (
    Alternation,
    AnyCharacter,
    Assertion,
    AssertionKind,
    BracketClass,
    Character,
    CharacterRange,
    Extent,
    FlagChange,
    Group,
    Member,
    Node,
    PerlClass,
    PosixClass,
    Repeat,
    Sequence,
    Text,
    UnicodeClass,
)
from tornado_proxy.rules.expressions.brackets import read_property
from tornado_proxy.rules.expressions.errors import PatternError
from tornado_proxy.rules.expressions.escapes import read_escape
from tornado_proxy.rules.expressions.groups import Opening, read_opening

DEEPEST = 60
"""Groups within groups; beyond, the recursion of parser and builder would come near Python's own limit."""

_PLAIN = re.compile(r"[^\\()\[|^$.*+?{]+")
_COUNTED = re.compile(r"\{(?P<least>0|[1-9][0-9]*)(?P<comma>,(?P<most>0|[1-9][0-9]*)?)?\}")
_LARGEST_COUNT = 1000
_POSIX = re.compile(r"\[:(?P<negated>\^?)(?P<name>[a-z]+):\]")
_NAMED_CLASS = re.compile(r"\\(?P<letter>[dDsSwWpP])")
_LETTER_ASSERTIONS = {
    "A": AssertionKind.TEXT_START,
    "z": AssertionKind.TEXT_END,
    "b": AssertionKind.WORD_BOUNDARY,
    "B": AssertionKind.NO_WORD_BOUNDARY,
}
_REPEATS: Mapping[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def parse(text: str) -> Node:
    """The tree of an expression; raises `Unsupported`."""
    parser = _Parser(text)
    try:
        node = parser.alternation()
    except PatternError as error:
        raise Unsupported(str(error)) from error
    if parser.at < len(text):
        raise Unsupported(f"`)` at offset {parser.at} closes nothing")
    return node


class _Parser:
    """A place in a text, and what holds there: flags, groups around it, groups before it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.flags: frozenset[str] = frozenset()
        self.depth = 0
        self.captures = 0

    def alternation(self) -> Node:
        start = self.at
        branches = [self.sequence()]
        while self.take("|"):
            branches.append(self.sequence())
        return branches[0] if len(branches) == 1 else Alternation(tuple(branches), Extent(start, self.at))

    def sequence(self) -> Node:
        start = self.at
        parts: list[Node] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            found = self.quoted() if self.text[self.at] == "\\" and self.take(r"\Q") else self.one()
            parts += self.repeated(found)
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts), Extent(start, self.at))

    def quoted(self) -> Text | None:
        r"""The characters after `\Q`, up to `\E` or the end; None where there are none."""
        start, end = self.at, self.text.find(r"\E", self.at)
        stop = len(self.text) if end < 0 else end
        self.at = stop if end < 0 else end + 2
        return self.plain(self.text[start:stop], Extent(start, stop)) if start < stop else None

    def one(self) -> Node:  # noqa: PLR0911 - one case for each way to begin
        """The next thing that a repetition could apply to, if only to its last character, or a change of flags."""
        start = self.at
        run = _PLAIN.match(self.text, start)
        if run is not None:
            self.at = run.end()
            return self.plain(run[0], Extent(start, self.at))
        character = self.text[start]
        match character:
            case "(":
                return self.group()
            case "[":
                return self.bracket()
            case "\\":
                return self.escape()
            case "*" | "+" | "?":
                raise Unsupported(f"`{character}` at offset {start} repeats nothing")
            case "{" if _COUNTED.match(self.text, start):
                raise Unsupported(f"the count at offset {start} repeats nothing")
        self.at += 1
        extent = Extent(start, self.at)
        match character:
            case ".":
                return AnyCharacter("s" in self.flags, extent)
            case "^":
                return Assertion(AssertionKind.LINE_START if "m" in self.flags else AssertionKind.TEXT_START, extent)
            case "$":
                return Assertion(AssertionKind.LINE_END if "m" in self.flags else AssertionKind.TEXT_END, extent)
        return self.plain(character, extent)

    def plain(self, characters: str, extent: Extent) -> Text:
        return Text(characters, self.folds(characters), extent)

    def folds(self, characters: str) -> bool:
        """Whether case is nothing here, and any of some characters may have another."""
        return "i" in self.flags and any(each.isalpha() or not each.isascii() for each in characters)

    def repeated(self, found: Node | None) -> list[Node]:
        """What was found, its last part wrapped in the repetition that follows, if one does."""
        counts = self.counts()
        if counts is None:
            return [] if found is None else [found]
        if found is None or isinstance(found, FlagChange):
            raise Unsupported(f"the repetition before offset {self.at} repeats what stands before flags or a quotation")
        *before, last = self.split(found) if isinstance(found, Text) else [found]
        lazy = self.take("?") != ("U" in self.flags)
        repeat = Repeat(last, *counts, lazy, Extent(last.extent.start, self.at))
        if self.counts() is not None:
            raise Unsupported(f"two repetitions meet before offset {self.at}")
        return [*before, repeat]

    def split(self, text: Text) -> list[Node]:
        """A text with its last character apart."""
        if len(text.characters) == 1:
            return [text]
        (start, end), characters = text.extent, text.characters
        rest = self.plain(characters[:-1], Extent(start, end - 1))
        return [rest, self.plain(characters[-1], Extent(end - 1, end))]

    def counts(self) -> tuple[int, int | None] | None:
        """How often the repetition that begins here repeats; None, and nothing read, where none does."""
        operator = self.text[self.at : self.at + 1]
        if operator in _REPEATS:
            self.at += 1
            return _REPEATS[operator]
        counted = _COUNTED.match(self.text, self.at) if operator == "{" else None
        if counted is None:
            return None
        self.at = counted.end()
        least = _count(counted["least"])
        most = None if counted["comma"] and not counted["most"] else _count(counted["most"] or counted["least"])
        if least > _LARGEST_COUNT or (most is not None and not least <= most <= _LARGEST_COUNT):
            raise Unsupported(f"`{counted[0]}` is no count")
        return least, most

    def group(self) -> Node:
        """A group, or a change of flags."""
        start, outer = self.at, self.flags
        opening = read_opening(self.text, start) if self.text.startswith("(?", start) else Opening("(")
        self.at += len(opening.text)
        captures = opening.text == "(" or opening.name is not None
        on, _, off = ("", "", "") if captures else opening.text[2:-1].partition("-")
        self.flags = (outer | set(on)) - set(off)
        if not opening.opens:
            return FlagChange(frozenset(on), frozenset(off), Extent(start, self.at))
        number = self.numbered() if captures else None
        body = self.nested()
        self.flags = outer
        if not self.take(")"):
            raise Unsupported(f"the group at offset {start} is not closed")
        return Group(body, number, opening.name, Extent(start, self.at), frozenset(on), frozenset(off))

    def numbered(self) -> int:
        self.captures += 1
        return self.captures

    def nested(self) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unsupported(f"more than {DEEPEST} groups within each other")
        body = self.alternation()
        self.depth -= 1
        return body

    def escape(self) -> Node:
        """What a backslash begins outside brackets."""
        start = self.at
        kind = _LETTER_ASSERTIONS.get(self.text[start + 1 : start + 2])
        if kind is not None:
            self.at += 2
            return Assertion(kind, Extent(start, self.at))
        return self.named_class() or self.plain(self.escaped(), Extent(start, self.at))

    def named_class(self) -> PerlClass | UnicodeClass | None:
        """The class that stands here, within brackets or outside; None, and nothing read, where none does."""
        start, folded = self.at, "i" in self.flags
        named = _NAMED_CLASS.match(self.text, start)
        if named is None:
            return None
        if named["letter"] in "pP":
            found, self.at = read_property(self.text, start)
            return UnicodeClass(found.name, found.negated, folded, Extent(start, self.at))
        self.at += 2
        return PerlClass(named["letter"].lower(), named["letter"].isupper(), folded, Extent(start, self.at))

    def escaped(self, *, in_class: bool = False) -> str:
        """The character that a backslash stands for."""
        code, self.at = read_escape(self.text, self.at, in_class=in_class)
        return chr(code)

    def bracket(self) -> BracketClass:
        start = self.at
        self.at += 1
        negated = self.take("^")
        members: list[Member] = []
        # A closing bracket that stands first is a character like others.
        while not (members and self.take("]")):
            if self.at >= len(self.text):
                raise Unsupported(f"the class at offset {start} is not closed")
            members.append(self.member())
        return BracketClass(tuple(members), negated, Extent(start, self.at))

    def member(self) -> Member:
        start, folded = self.at, "i" in self.flags
        posix = _POSIX.match(self.text, start)
        if posix is None:
            return self.named_class() or self.range(start)
        self.at = posix.end()
        if posix["name"] not in POSIX_NAMES:
            raise Unsupported(f"`{posix[0]}` is no class")
        return PosixClass(posix["name"], bool(posix["negated"]), folded, Extent(start, self.at))

    def range(self, start: int) -> Character | CharacterRange:
        first = self.bound()
        if not self.text.startswith("-", self.at) or self.text.startswith("-]", self.at):
            return Character(first, self.folds(first), Extent(start, self.at))
        self.at += 1
        last = self.bound()
        if last < first:
            raise Unsupported(f"the range at offset {start} runs backwards")
        return CharacterRange(first, last, "i" in self.flags, Extent(start, self.at))

    def bound(self) -> str:
        """One end of a range: a character as it stands, or escaped."""
        if self.at >= len(self.text):
            raise Unsupported("a range has no end")
        if self.text[self.at] == "\\":
            return self.escaped(in_class=True)
        self.at += 1
        return self.text[self.at - 1]

    def take(self, expected: str) -> bool:
        """Whether a text stands here, which is then read."""
        if not self.text.startswith(expected, self.at):
            return False
        self.at += len(expected)
        return True


def _count(digits: str) -> int:
    return int(digits) if len(digits) <= 4 else _LARGEST_COUNT + 1
