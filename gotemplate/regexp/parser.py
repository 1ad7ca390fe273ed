r"""The parser of expressions: one pass that accepts and refuses what Go's parser does.

Groups are on a stack of their own, so that no nesting exhausts Python's. An operator applies to the operand before it,
even if flags or an empty `\Q\E` are between them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from gotemplate.limits import SHORT_EXPRESSION
from gotemplate.regexp import syntax, tokens
from gotemplate.regexp.tokens import Count, GroupOpening, read_escape

_PLAIN = re.compile(r"[^\\()\[|^$.*+?{]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_REPEATS: Mapping[str, Count] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_ANCHORS = {  # without and with the flag `m`
    "^": (syntax.AssertionKind.TEXT_START, syntax.AssertionKind.LINE_START),
    "$": (syntax.AssertionKind.TEXT_END, syntax.AssertionKind.LINE_END),
}
_ESCAPED_ASSERTIONS = {kind.value[1]: kind for kind in syntax.AssertionKind if kind.value.startswith("\\")}


class Expression(NamedTuple):
    """An expression that Go accepts: its tree, and the names of its capturing groups, `""` for one without a name."""

    text: str
    tree: syntax.Node
    names: tuple[str, ...]


def parse(text: str) -> Expression:
    """Returns the expression of a text; raises `PatternError` where Go's regexp.Compile refuses it."""
    if ill := _SURROGATE.search(text):
        raise syntax.PatternError("the expression is not valid Unicode", ill.start(), ill.end())
    parser = _Parser(text)
    while parser.at < len(text):
        parser.step()
    tree = parser.finish()
    if len(text) > SHORT_EXPRESSION or "{" in text:
        syntax.fold(tree, syntax.measure)
    return Expression(text, tree, tuple(parser.names))


class _OpenGroup(msgspec.Struct):
    """An unclosed group, or the whole expression: its pieces so far, and the flags outside it."""

    start: int
    opening: GroupOpening
    number: int | None
    outer_flags: frozenset[str]
    branch_start: int
    branches: list[syntax.Node] = []
    pieces: list[syntax.Node] = []
    operand: int | None = None  # the index of the last part that is not a change of flags

    def close_branch(self, end: int) -> None:
        sequence = syntax.Sequence(tuple(self.pieces), syntax.Extent(self.branch_start, end))
        self.branches.append(self.pieces[0] if len(self.pieces) == 1 else sequence)
        self.pieces, self.operand, self.branch_start = [], None, end + 1

    def body(self, end: int) -> syntax.Node:
        self.close_branch(end)
        if len(self.branches) == 1:
            return self.branches[0]
        return syntax.Alternation(tuple(self.branches), syntax.Extent(self.opening.end, end))


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.names: list[str] = []
        self._flags: frozenset[str] = frozenset()
        self._groups = [_OpenGroup(0, GroupOpening(0), None, self._flags, 0)]
        self._repetition: int | None = None  # where the last step began, if it read a repetition
        self._last_posix_end = text.rfind(":]")

    def step(self) -> None:
        repetition, self._repetition = self._repetition, None
        character = self.text[self.at]
        if match := _PLAIN.match(self.text, self.at):
            self._literal(match[0], match.end())
        elif character in _REPEATS:
            self._repeat(_REPEATS[character], self.at + 1, repetition)
        elif character != "{":
            _STEPS[character](self)
        elif counted := tokens.read_count(self.text, self.at):
            self._repeat(*counted, repetition)
        else:
            self._literal("{", self.at + 1)

    def finish(self) -> syntax.Node:
        whole = self._groups[-1]
        if len(self._groups) > 1:
            advice = "close it with `)`, or write `\\(` for a parenthesis"
            raise syntax.PatternError("unclosed group", whole.start, whole.start + 1, advice)
        return whole.body(len(self.text))

    def _push(self, node: syntax.Node) -> None:
        group = self._groups[-1]
        if not isinstance(node, syntax.FlagChange):
            group.operand = len(group.pieces)
        group.pieces.append(node)

    def _advance(self, end: int) -> syntax.Extent:
        """Moves to the end of a construct; returns its extent."""
        extent = syntax.Extent(self.at, end)
        self.at = end
        return extent

    def _literal(self, characters: str, end: int) -> None:
        self._push(syntax.Text(characters, self._folds(characters), self._advance(end)))

    def _folds(self, characters: str) -> bool:
        """Whether the flag `i` is on and some of the characters may have other cases."""
        return "i" in self._flags and _may_have_cases(characters)

    def bar(self) -> None:
        self._groups[-1].close_branch(self.at)
        self.at += 1

    def dot(self) -> None:
        self._push(syntax.AnyCharacter("s" in self._flags, self._advance(self.at + 1)))

    def anchor(self) -> None:
        of_text, of_line = _ANCHORS[self.text[self.at]]
        self._push(syntax.Assertion(of_line if "m" in self._flags else of_text, self._advance(self.at + 1)))

    def open_group(self) -> None:
        start, outer = self.at, self._flags
        opening = tokens.read_opening(self.text, start)
        extent = self._advance(opening.end)
        self._flags = (outer | opening.on) - opening.off
        if not opening.opens:
            self._push(syntax.FlagChange(opening.on, opening.off, extent))
            return
        if opening.captures:
            self.names.append(opening.name or "")
        number = len(self.names) if opening.captures else None
        self._groups.append(_OpenGroup(start, opening, number, outer, opening.end))

    def close_group(self) -> None:
        if len(self._groups) == 1:
            raise syntax.PatternError("unmatched `)`", self.at, self.at + 1, "write `\\)` for a parenthesis")
        group = self._groups.pop()
        body = group.body(self.at)
        self.at += 1
        self._flags = group.outer_flags
        name, on, off = group.opening.name, group.opening.on, group.opening.off
        self._push(syntax.Group(body, group.number, name, syntax.Extent(group.start, self.at), on, off))

    def _repeat(self, count: Count, end: int, repetition: int | None) -> None:
        """Applies a repetition that ends at an offset, or one character later if it is lazy."""
        start, self._repetition = self.at, self.at
        lazy = self.text.startswith("?", end)
        end += lazy
        if repetition is not None:
            operators = self.text[repetition:end]
            message = f"invalid nested repetition `{operators}`"
            advice = "write `.*` for any text" if operators == "**" else "put the repeated part in a group: `(?:…)`"
            if self.text[start] == "+":
                message = f"unsupported possessive quantifier `{operators}`"
                advice = "remove the `+`: RE2 never backtracks, so a possessive quantifier changes nothing"
            raise syntax.PatternError(message, repetition, end, advice)
        pieces, index = self._groups[-1].pieces, self._groups[-1].operand
        if index is None:
            operator = self.text[start:end]
            meant = f"`.{operator}` for any text" if operator == "*" else f"`\\{operator}` for the character itself"
            raise syntax.PatternError(f"nothing to repeat before `{operator}`", start, end, f"write {meant}")
        operand = pieces[index]
        if isinstance(operand, syntax.Text) and len(operand.characters) > 1:
            before, last, (first, end_of_text) = operand.characters[:-1], operand.characters[-1], operand.extent
            folded = operand.folded and _may_have_cases(before)
            pieces.insert(index, syntax.Text(before, folded, syntax.Extent(first, end_of_text - 1)))
            folded = operand.folded and _may_have_cases(last)
            operand = syntax.Text(last, folded, syntax.Extent(end_of_text - 1, end_of_text))
            index += 1
            self._groups[-1].operand = index
        extent = syntax.Extent(operand.extent.start, end)
        pieces[index] = syntax.Repeat(operand, *count, lazy != ("U" in self._flags), extent)
        self.at = end

    def backslash(self) -> None:
        letter = self.text[self.at + 1 : self.at + 2]
        if letter in _ESCAPED_ASSERTIONS:
            self._push(syntax.Assertion(_ESCAPED_ASSERTIONS[letter], self._advance(self.at + 2)))
        elif letter == "Q":
            # The characters up to `\E` or the end of the text.
            start, closing = self.at + 2, self.text.find("\\E", self.at + 2)
            end = len(self.text) if closing < 0 else closing
            self.at = start
            if start < end:
                self._literal(self.text[start:end], end)
            self.at = end if closing < 0 else end + 2
        elif (named := self._named_class(letter)) is not None:
            self._push(named)
        else:
            code, end = read_escape(self.text, self.at)
            self._literal(chr(code), end)

    def _named_class(self, letter: str) -> syntax.NamedClass | None:
        r"""Reads a class such as `\d` or `\p{Greek}`; returns None, and reads nothing, for another escape."""
        folded = "i" in self._flags
        if letter and letter in "pP":
            named = tokens.read_unicode_class(self.text, self.at, folded=folded)
            self.at = named.extent.end
            return named
        if letter and letter in "dDsSwW":
            return syntax.NamedClass(f"\\{letter.lower()}", letter.isupper(), folded, self._advance(self.at + 2))
        return None

    def bracket(self) -> None:
        start = self.at
        negated = self.text.startswith("^", start + 1)
        self.at += 1 + negated
        members: list[syntax.Member] = []
        # A closing bracket in first place is a literal character.
        while not (members and self.text.startswith("]", self.at)):
            members.append(self._member(start))
        self.at += 1
        self._push(syntax.BracketClass(tuple(members), negated, syntax.Extent(start, self.at)))

    def _member(self, opening: int) -> syntax.Member:
        folded = "i" in self._flags
        if self.at < self._last_posix_end:
            posix = tokens.read_posix_class(self.text, self.at, folded=folded)
            if posix is not None:
                self.at = posix.extent.end
                return posix
        if self.text.startswith("\\", self.at):
            named = self._named_class(self.text[self.at + 1 : self.at + 2])
            if named is not None:
                return named
        start = self.at
        first = self._bound(opening)
        if not self.text.startswith("-", self.at) or self.text[self.at + 1 : self.at + 2] in ("]", ""):
            return syntax.CharacterRange(first, first, self._folds(first), syntax.Extent(start, self.at))
        self.at += 1
        last = self._bound(opening)
        if last < first:
            advice = "write the lower character first, or `\\-` for a hyphen"
            raise syntax.PatternError(f"reversed range `{self.text[start : self.at]}`", start, self.at, advice)
        return syntax.CharacterRange(first, last, folded, syntax.Extent(start, self.at))

    def _bound(self, opening: int) -> str:
        """Reads one end of a range: a character, perhaps escaped."""
        if self.at == len(self.text):
            advice = "close it with `]`, or write `\\[` for a bracket"
            raise syntax.PatternError("unclosed class", opening, opening + 1, advice)
        if self.text[self.at] != "\\":
            self.at += 1
            return self.text[self.at - 1]
        code, self.at = read_escape(self.text, self.at, in_class=True)
        return chr(code)


_STEPS: Mapping[str, Callable[[_Parser], None]] = {
    "(": _Parser.open_group,
    ")": _Parser.close_group,
    "|": _Parser.bar,
    "[": _Parser.bracket,
    "^": _Parser.anchor,
    "$": _Parser.anchor,
    ".": _Parser.dot,
    "\\": _Parser.backslash,
}
"""The method that reads a construct, by its first character."""


def _may_have_cases(characters: str) -> bool:
    return any(each.isalpha() or not each.isascii() for each in characters)
