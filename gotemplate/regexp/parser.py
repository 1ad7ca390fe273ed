r"""The parser of expressions: one pass that accepts and refuses what Go's parser does.

Groups are on a stack of their own, so that no nesting exhausts Python's. An operator applies to the operand before it,
even if flags or an empty `\Q\E` are between them. What reads a token that needs no context comes first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple

import msgspec

from gotemplate.limits import GREATEST_REPEAT, SHORT_EXPRESSION
from gotemplate.regexp import syntax
from gotemplate.regexp.classes import LAST, POSIX, resolve, unicode_tables
from gotemplate.regexp.syntax import Extent, NamedClass, PatternError

# What to write instead of the constructs of other dialects. RE2 matches in linear time, so it has nothing that needs
# backtracking: look-around, back-references, recursion. The rest is only written differently.
_AROUND = "match that text too, or give the exceptions an expression of their own before this one"
_AGAIN = "an expression cannot require the same text twice; match both, and use one in the template"
_FOREVER = "an expression cannot contain itself; write out the levels"
_COMMENT = "write the comment beside the expression"
_NAMED = "write `(?P<name>…)` or `(?<name>…)`"

# Longer prefixes first.
_GROUPS = (
    ("(?<=", "look-behind", _AROUND),
    ("(?<!", "look-behind", _AROUND),
    ("(?=", "look-ahead", _AROUND),
    ("(?!", "look-ahead", _AROUND),
    ("(?>", "atomic group", "write `(?:…)`: RE2 never backtracks, so an atomic group changes nothing"),
    ("(?#", "comment", _COMMENT),
    ("(?(", "condition", "write one alternative for each case"),
    ("(?'", "group name in quotes", _NAMED),
    ("(?P=", "back-reference", _AGAIN),
    ("(?R", "recursion", _FOREVER),
    *((f"(?{digit}", "recursion", _FOREVER) for digit in range(10)),
)

_FLAGS_ELSEWHERE = {
    "x": "remove the flag and the spaces",
    "u": "remove the flag: Unicode is always on",
    "a": "`\\d`, `\\w`, `\\s` and `\\b` are always ASCII; remove the flag",
}

_ESCAPES = {
    "Z": "write `\\z` for the end of the text",
    "G": "write `^` or `\\A` for the beginning of the text",
    "K": "remove it: what stands before it is part of the match",
    "h": "write `[ \\t]`",
    "R": "write `(?:\\r\\n|\\n|\\r)`",
    "e": "write `\\x1b`",
    "c": "write the control character as `\\x01` to `\\x1a`",
    "u": "write `\\x{1234}`",
    "U": "write `\\x{12345}`",
    "k": _AGAIN,
    "g": _AGAIN,
}

_ESCAPES_IN_CLASS = {
    "b": "write `\\x08` for a backspace",
    **dict.fromkeys("ABz", "an assertion is not allowed in a class"),
    "Q": "escape each character with a backslash",
}


# A single digit other than zero would be a back-reference.
_OCTAL = re.compile(r"\\(0[0-7]{0,2}|[1-7][0-7]{1,2})")
_HEXADECIMAL = re.compile(r"\\x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]+)\})")
_PUNCTUATION = re.compile(r"\\([\x00-/:-@\[-`{-\x7f])")
_CONTROLS = {"a": 0x07, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}

_UNICODE_CLASS = re.compile(r"\\([pP])(?:\{(\^?)([^}]*)\}|(.?))", re.DOTALL)
_POSIX_CLASS = re.compile(r"\[:(\^?)(.*?):\]", re.DOTALL)
_COUNT = re.compile(r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}")

_GROUP_NAME = re.compile(r"\(\?P?<([^>]*)>")
_GROUP_NAME_BEGINS = re.compile(r"\(\?P?<")
_NAME = re.compile(r"[A-Za-z0-9_]+")
_FLAGS = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_FLAGS_BEGIN = re.compile(r"\(\?[imsU]*-?[imsU]*")


def read_escape(text: str, at: int, *, in_class: bool = False) -> tuple[int, int]:
    """Returns the code point of an escape and the offset after it (regexp/syntax, parseEscape)."""
    if at + 1 == len(text):
        raise PatternError("trailing backslash", at, at + 1, "write `\\\\` for the character itself")
    if match := _PUNCTUATION.match(text, at):
        return ord(match[1]), match.end()
    if text[at + 1] in _CONTROLS:
        return _CONTROLS[text[at + 1]], at + 2
    if match := _OCTAL.match(text, at):
        return int(match[1], 8), match.end()
    match = _HEXADECIMAL.match(text, at)
    if match is None:
        raise _invalid_escape(text[at : at + 2], at, in_class=in_class)
    code = int(match[1] or match[2], 16)
    if code > LAST:
        raise PatternError(f"code point out of range `{match[0]}`", *match.span(), "the greatest is `\\x{10FFFF}`")
    return code, match.end()


def _invalid_escape(escape: str, at: int, *, in_class: bool) -> PatternError:
    letter = escape[1]
    message = f"invalid escape `{escape}`"
    if letter == "x":
        advice = "write two hexadecimal digits, `\\x41`, or a code point in braces, `\\x{1F600}`"
    elif letter in "123456789" and not in_class:
        message, advice = f"unsupported back-reference `{escape}`", _AGAIN
    elif in_class and letter in _ESCAPES_IN_CLASS:
        message, advice = f"invalid escape `{escape}` in a class", _ESCAPES_IN_CLASS[letter]
    elif in_class and letter in "dDsSwWpP":
        message, advice = f"invalid range end `{escape}`", "write `\\-` for the hyphen"
    else:
        literally = f"write `{letter}` for the character itself, `\\\\{letter}` with a backslash before it"
        advice = _ESCAPES.get(letter, literally)
    return PatternError(message, at, at + 2, advice)


def read_unicode_class(text: str, at: int, *, folded: bool) -> NamedClass:
    r"""Returns the class of a `\p` or `\P`."""
    match = _UNICODE_CLASS.match(text, at)
    assert match
    sign, caret, braced, single = match.groups(default="")
    name = braced or single
    if single == "{":
        raise PatternError(f"unclosed `\\{sign}{{`", at, at + 3, "write `}` after the name of the class")
    official = resolve(name)
    if official is None:
        raise _unknown_class(name, at, match.end(), unicode_tables().names)
    return NamedClass(f"\\p{{{official}}}", (sign == "P") != bool(caret), folded, Extent(*match.span()))


def read_posix_class(text: str, at: int, *, folded: bool) -> NamedClass | None:
    """Returns the class of a `[:`; None if no `:]` follows."""
    match = _POSIX_CLASS.match(text, at)
    if match is None:
        return None
    if match[2] not in POSIX:
        raise _unknown_class(match[2], at, match.end(), POSIX)
    return NamedClass(f"[:{match[2]}:]", bool(match[1]), folded, Extent(*match.span()))


def _unknown_class(name: str, at: int, end: int, names: Iterable[str]) -> PatternError:
    # No name is that long, and difflib's time grows with the length.
    close = get_close_matches(name, names, n=1, cutoff=0.65) if len(name) <= 64 else []
    message = f"unknown character class `{name}`" if name else "missing character class name"
    return PatternError(message, at, end, f"did you mean `{close[0]}`?" if close else None)


Count = tuple[int, int | None]  # the bounds of a repetition; the second is None without an upper bound


def read_count(text: str, at: int) -> tuple[Count, int] | None:
    """Returns the count of a `{` and the offset after it; None if the brace is a literal character."""
    match = _COUNT.match(text, at)
    if match is None:
        return None
    # Python refuses to convert thousands of digits.
    bounds = [int(each) if len(each) <= 4 else GREATEST_REPEAT + 1 for each in (match[1], match[3] or match[1])]
    least, most = bounds
    if max(bounds) > GREATEST_REPEAT:
        raise PatternError(f"repeat count too large `{match[0]}`", *match.span(), f"the limit is {GREATEST_REPEAT}")
    if match[2] and not match[3]:
        return (least, None), match.end()
    if least > most:
        raise PatternError(f"invalid repeat count `{match[0]}`", *match.span(), f"write `{{{most},{least}}}`")
    return (least, most), match.end()


class GroupOpening(NamedTuple):
    """The text after `(`: a group's name, flags, or neither; `opens` is False for flags of the surrounding group."""

    end: int
    captures: bool = False
    name: str | None = None
    on: frozenset[str] = frozenset()
    off: frozenset[str] = frozenset()
    opens: bool = True


# One for all the expressions that begin with `(?i)`.
_flag_set = lru_cache(maxsize=64)(frozenset[str])


def read_opening(text: str, at: int) -> GroupOpening:
    """Returns the start of a group, or flags for the rest of one (regexp/syntax, parsePerlFlags)."""
    if not text.startswith("(?", at):
        return GroupOpening(at + 1, captures=True)
    if named := _GROUP_NAME.match(text, at):
        if not _NAME.fullmatch(named[1]):
            _refuse_unsupported(text, at)
            advice = "a name consists of ASCII letters, digits and underscores"
            message = f"invalid group name `{named[1]}`" if named[1] else "missing group name"
            raise PatternError(message, *named.span(1), advice)
        return GroupOpening(named.end(), captures=True, name=named[1])
    if flags := _FLAGS.match(text, at):
        on, off = _flag_set(flags[1]), _flag_set(flags[2] or "")
        return GroupOpening(flags.end(), on=on, off=off, opens=flags[3] == ":")
    _refuse_unsupported(text, at)
    if beginning := _GROUP_NAME_BEGINS.match(text, at):
        raise PatternError("unclosed group name", *beginning.span(), "write `>` where the name ends")
    read = _FLAGS_BEGIN.match(text, at)
    assert read
    end = read.end()
    flag = text[end : end + 1]
    if not flag:
        raise PatternError("unclosed group", at, end, "write `)` where it ends")
    if flag in ":)":
        advice = "name the flags to turn off: `i`, `m`, `s`, `U`"
        raise PatternError("missing flag after `-`", end - 1, end, advice)
    advice = _FLAGS_ELSEWHERE.get(flag, "the flags are `i`, `m`, `s` and `U`")
    raise PatternError(f"unknown flag `{flag}`", end, end + 1, advice)


def _refuse_unsupported(text: str, at: int) -> None:
    for beginning, what, advice in _GROUPS:
        if text.startswith(beginning, at):
            raise PatternError(f"unsupported {what} `{beginning}`", at, at + len(beginning), advice)


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
        raise PatternError("the expression is not valid Unicode", ill.start(), ill.end())
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
        sequence = syntax.Sequence(tuple(self.pieces), Extent(self.branch_start, end))
        self.branches.append(self.pieces[0] if len(self.pieces) == 1 else sequence)
        self.pieces, self.operand, self.branch_start = [], None, end + 1

    def body(self, end: int) -> syntax.Node:
        self.close_branch(end)
        if len(self.branches) == 1:
            return self.branches[0]
        return syntax.Alternation(tuple(self.branches), Extent(self.opening.end, end))


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
        elif counted := read_count(self.text, self.at):
            self._repeat(*counted, repetition)
        else:
            self._literal("{", self.at + 1)

    def finish(self) -> syntax.Node:
        whole = self._groups[-1]
        if len(self._groups) > 1:
            advice = "close it with `)`, or write `\\(` for a parenthesis"
            raise PatternError("unclosed group", whole.start, whole.start + 1, advice)
        return whole.body(len(self.text))

    def _push(self, node: syntax.Node) -> None:
        group = self._groups[-1]
        if not isinstance(node, syntax.FlagChange):
            group.operand = len(group.pieces)
        group.pieces.append(node)

    def _advance(self, end: int) -> Extent:
        """Moves to the end of a construct; returns its extent."""
        extent = Extent(self.at, end)
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
        opening = read_opening(self.text, start)
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
            raise PatternError("unmatched `)`", self.at, self.at + 1, "write `\\)` for a parenthesis")
        group = self._groups.pop()
        body = group.body(self.at)
        self.at += 1
        self._flags = group.outer_flags
        name, on, off = group.opening.name, group.opening.on, group.opening.off
        self._push(syntax.Group(body, group.number, name, Extent(group.start, self.at), on, off))

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
            raise PatternError(message, repetition, end, advice)
        pieces, index = self._groups[-1].pieces, self._groups[-1].operand
        if index is None:
            operator = self.text[start:end]
            meant = f"`.{operator}` for any text" if operator == "*" else f"`\\{operator}` for the character itself"
            raise PatternError(f"nothing to repeat before `{operator}`", start, end, f"write {meant}")
        operand = pieces[index]
        if isinstance(operand, syntax.Text) and len(operand.characters) > 1:
            before, last, (first, end_of_text) = operand.characters[:-1], operand.characters[-1], operand.extent
            folded = operand.folded and _may_have_cases(before)
            pieces.insert(index, syntax.Text(before, folded, Extent(first, end_of_text - 1)))
            folded = operand.folded and _may_have_cases(last)
            operand = syntax.Text(last, folded, Extent(end_of_text - 1, end_of_text))
            index += 1
            self._groups[-1].operand = index
        extent = Extent(operand.extent.start, end)
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

    def _named_class(self, letter: str) -> NamedClass | None:
        r"""Reads a class such as `\d` or `\p{Greek}`; returns None, and reads nothing, for another escape."""
        folded = "i" in self._flags
        if letter and letter in "pP":
            named = read_unicode_class(self.text, self.at, folded=folded)
            self.at = named.extent.end
            return named
        if letter and letter in "dDsSwW":
            return NamedClass(f"\\{letter.lower()}", letter.isupper(), folded, self._advance(self.at + 2))
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
        self._push(syntax.BracketClass(tuple(members), negated, Extent(start, self.at)))

    def _member(self, opening: int) -> syntax.Member:
        folded = "i" in self._flags
        if self.at < self._last_posix_end:
            posix = read_posix_class(self.text, self.at, folded=folded)
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
            return syntax.CharacterRange(first, first, self._folds(first), Extent(start, self.at))
        self.at += 1
        last = self._bound(opening)
        if last < first:
            advice = "write the lower character first, or `\\-` for a hyphen"
            raise PatternError(f"reversed range `{self.text[start : self.at]}`", start, self.at, advice)
        return syntax.CharacterRange(first, last, folded, Extent(start, self.at))

    def _bound(self, opening: int) -> str:
        """Reads one end of a range: a character, perhaps escaped."""
        if self.at == len(self.text):
            advice = "close it with `]`, or write `\\[` for a bracket"
            raise PatternError("unclosed class", opening, opening + 1, advice)
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
