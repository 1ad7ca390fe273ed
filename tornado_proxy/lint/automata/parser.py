"""From the text of an expression in Go's syntax to its tree.

It reads what RE2 reads (the page `Syntax` of google/re2) and leaves judging to RE2: `parse` means what RE2 means of any
text that RE2 accepts, or raises `Unsupported`; of other texts it may say anything, but it neither fails nor hangs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tornado_proxy.lint.automata.classes import POSIX
from tornado_proxy.lint.automata.syntax import (
    Alternation,
    AnyByte,
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
    UnicodeClass,
    Unsupported,
)

DEEPEST = 60
"""Groups within groups; beyond, the recursion of parser and builder would come near Python's own limit."""

MOST_REPEATED = 1000
"""The largest count in braces that Go and RE2 take."""

_OPENING = re.compile(r"\((?:\?(?:P?<(?P<name>[^>]*)>|(?P<on>[imsU]*)(?:-(?P<off>[imsU]+))?(?P<close>[:)])))?")
_COUNTED = re.compile(r"\{(?P<least>0|[1-9][0-9]*)(?P<comma>,(?P<most>0|[1-9][0-9]*)?)?\}")
_POSIX = re.compile(r"\[:(?P<negated>\^?)(?P<name>[a-z]+):\]")
_UNICODE = re.compile(r"\\(?P<sign>[pP])(?:\{(?P<negated>\^?)(?P<name>[^}]*)\}|(?P<letter>[A-Z]))")
_OCTAL = re.compile(r"\\(?P<code>0[0-7]{0,2}|[1-7][0-7]{1,2})")
_HEXADECIMAL = re.compile(r"\\x(?:(?P<two>[0-9A-Fa-f]{2})|\{(?P<any>[0-9A-Fa-f]{1,8})\})")
_ESCAPES = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ASSERTIONS = {
    "A": AssertionKind.TEXT_START,
    "z": AssertionKind.TEXT_END,
    "b": AssertionKind.WORD_BOUNDARY,
    "B": AssertionKind.NO_WORD_BOUNDARY,
}
_REPEATS: Mapping[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def parse(text: str) -> Node:
    """The tree of an expression; raises `Unsupported`."""
    parser = _Parser(text)
    node = parser.alternation()
    if parser.at < len(text):
        raise Unsupported(f"`)` at offset {parser.at} closes nothing")
    return node


class _Parser:
    """A place in a text, and what is known there: the flags, the groups opened."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.flags: frozenset[str] = frozenset()
        self.captures = 0
        self.depth = 0

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
            found = self.quoted() if self.take(r"\Q") else [self.one()]
            self.repeat(found)
            parts += found
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts), Extent(start, self.at))

    def quoted(self) -> list[Node]:
        r"""The characters after `\Q`, up to `\E` or the end."""
        end = self.text.find(r"\E", self.at)
        if end < 0:
            end = len(self.text)
        found = [self.character(offset, self.text[offset], offset + 1) for offset in range(self.at, end)]
        self.at = min(end + 2, len(self.text))
        return list(found)

    def one(self) -> Node:  # noqa: PLR0911 - one case for each way to begin
        """The next thing that a repetition could apply to, or a change of flags."""
        start, character = self.at, self.text[self.at]
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
        return self.character(start, character, self.at)

    def character(self, start: int, character: str, end: int) -> Character:
        folded = "i" in self.flags and (character.isalpha() or not character.isascii())
        return Character(character, folded, Extent(start, end))

    def repeat(self, found: list[Node]) -> None:
        """Wrap the last of what was found in the repetition that follows it, if one does."""
        counts = self.counts()
        if counts is None:
            return
        if not found or isinstance(found[-1], FlagChange):
            raise Unsupported(f"the repetition before offset {self.at} repeats nothing")
        lazy = self.take("?") != ("U" in self.flags)
        start = found[-1].extent.start
        found[-1] = Repeat(found[-1], *counts, lazy, Extent(start, self.at))
        if self.counts() is not None:
            raise Unsupported(f"two repetitions meet before offset {self.at}")

    def counts(self) -> tuple[int, int | None] | None:
        """How often the repetition that begins here repeats; None, and nothing read, where none does."""
        simple = _REPEATS.get(self.text[self.at : self.at + 1])
        if simple is not None:
            self.at += 1
            return simple
        counted = _COUNTED.match(self.text, self.at)
        if counted is None:
            return None
        self.at = counted.end()
        least = int(counted["least"])
        most = int(counted["most"]) if counted["most"] else None if counted["comma"] else least
        if max(least, most or 0) > MOST_REPEATED or (most is not None and most < least):
            raise Unsupported(f"`{counted[0]}` is no count")
        return least, most

    def group(self) -> Node:
        start = self.at
        opening = _OPENING.match(self.text, start)
        if opening is None or (opening[0] == "(" and self.text.startswith("?", opening.end())):
            raise Unsupported(f"the group at offset {start} begins as none does")
        self.at = opening.end()
        outer = self.flags
        on, off = frozenset(opening["on"] or ""), frozenset(opening["off"] or "")
        self.flags = (outer | on) - off
        if opening["close"] == ")":
            return FlagChange(on, off, Extent(start, self.at))
        number = None if opening["close"] else self.numbered()
        body = self.nested()
        self.flags = outer
        if not self.take(")"):
            raise Unsupported(f"the group at offset {start} is not closed")
        return Group(body, number, opening["name"], Extent(start, self.at), on, off)

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
        letter = self.text[start + 1 : start + 2]
        if letter in _ASSERTIONS:
            self.at += 2
            return Assertion(_ASSERTIONS[letter], Extent(start, self.at))
        if letter == "C":
            self.at += 2
            return AnyByte(Extent(start, self.at))
        return self.named_class() or self.character(start, self.escaped(), self.at)

    def named_class(self) -> PerlClass | UnicodeClass | None:
        """The class that a backslash begins, within brackets or outside; None, and nothing read, where none does."""
        start, folded = self.at, "i" in self.flags
        letter = self.text[start + 1 : start + 2]
        if self.text[start] != "\\" or letter not in {"d", "s", "w", "D", "S", "W", "p", "P"}:
            return None
        if letter not in "pP":
            self.at += 2
            return PerlClass(letter.lower(), letter.isupper(), folded, Extent(start, self.at))
        named = _UNICODE.match(self.text, start)
        if named is None:
            raise Unsupported(f"the class at offset {start} has no name")
        self.at = named.end()
        negated = (named["sign"] == "P") != (named["negated"] == "^")
        return UnicodeClass(named["letter"] or named["name"], negated, folded, Extent(start, self.at))

    def escaped(self) -> str:
        """The character that a backslash stands for, within brackets or outside."""
        letter = self.text[self.at + 1 : self.at + 2]
        code = _HEXADECIMAL.match(self.text, self.at) or _OCTAL.match(self.text, self.at)
        if code is not None:
            self.at = code.end()
            return _character(int(code["code"], 8) if code.re is _OCTAL else int(code["two"] or code["any"], 16))
        if letter in _ESCAPES or (letter.isascii() and not letter.isalnum() and letter):
            self.at += 2
            return _ESCAPES.get(letter, letter)
        raise Unsupported(f"`\\{letter}` is no escape")

    def bracket(self) -> BracketClass:
        start = self.at
        self.at += 1
        negated = self.take("^")
        members: list[Member] = []
        while not (members and self.take("]")):
            if self.at >= len(self.text):
                raise Unsupported(f"the class at offset {start} is not closed")
            members.append(self.member())
        return BracketClass(tuple(members), negated, Extent(start, self.at))

    def member(self) -> Member:
        start, folded = self.at, "i" in self.flags
        posix = _POSIX.match(self.text, start)
        if posix is not None:
            self.at = posix.end()
            if posix["name"] not in POSIX:
                raise Unsupported(f"`{posix[0]}` is no class")
            return PosixClass(posix["name"], bool(posix["negated"]), folded, Extent(start, self.at))
        return self.named_class() or self.range(start)

    def range(self, start: int) -> Character | CharacterRange:
        first = self.bound()
        if not self.text.startswith("-", self.at) or self.text.startswith("-]", self.at):
            return self.character(start, first, self.at)
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
            return self.escaped()
        self.at += 1
        return self.text[self.at - 1]

    def take(self, expected: str) -> bool:
        """Whether a text stands here, which is then read."""
        if not self.text.startswith(expected, self.at):
            return False
        self.at += len(expected)
        return True


def _character(code: int) -> str:
    if code > 0x10FFFF:
        raise Unsupported(f"U+{code:X} is no code point")
    return chr(code)
