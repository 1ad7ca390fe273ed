"""The frozen syntax tree of one rule file, with its comments; tokens become names and strings, and texts again.

Spans, the form of strings and blank lines are fields of the nodes that are never compared: two documents are equal if
they have the same meaning. `blank_before` is whether a blank line is directly above; comments are above their node.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import msgspec
from lark import Token

from tornado_proxy.rules.diagnostic import Diagnostic, SourceFile, Span


class Dialect(Enum):
    """The language of a template."""

    PLAIN = "plain"
    JINJA = "jinja"
    GO = "go"


class Verdict(Enum):
    """An expectation of a test other than a key."""

    UNCHANGED = "unchanged"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment: its text from `#` to the end of the line, without trailing space."""

    text: str
    span: Span = field(compare=False, repr=False)
    blank_before: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Literal:
    """A name or a string as written and as meant; `offsets` has the place of each code point, and of the end."""

    value: str
    span: Span = field(compare=False, repr=False)
    raw: bool = field(default=False, compare=False)  # written between backticks
    offsets: Sequence[int] = field(default=(), compare=False, repr=False)

    def at(self, start: int, end: int | None = None) -> Span:
        """The span in the file of a part of the value, by code-point offsets within it."""
        if not self.offsets:
            return self.span
        last = len(self.offsets) - 1
        first = self.offsets[min(start, last)]
        return Span(self.span.source, first, max(first, self.offsets[min(start if end is None else end, last)]))


@dataclass(frozen=True, slots=True)
class RewriteStatement:
    """`rewrite [NAME] SOURCE -> [jinja|go] TEMPLATE`."""

    name: Literal | None
    source: Literal
    dialect: Dialect
    template: Literal
    span: Span = field(compare=False, repr=False)
    comments: tuple[Comment, ...] = ()  # on lines of their own, above
    trailing: Comment | None = None  # at the end of the last line
    blank_before: bool = field(default=False, compare=False, repr=False)


class RequestClauses(msgspec.Struct, frozen=True):
    """The clauses of a test about its request: `as`, `method`, `host`, `header` (repeated), `user-groups`, `email`."""

    user: Literal | None = None
    method: Literal | None = None
    host: Literal | None = None
    headers: tuple[tuple[Literal, Literal], ...] = ()
    user_groups: Literal | None = None
    email: Literal | None = None


@dataclass(frozen=True, slots=True)
class TestStatement:
    """`test KEY [clauses] -> KEY | unchanged | error`."""

    __test__ = False  # the name is the language's, not pytest's

    key: Literal
    clauses: RequestClauses
    expected: Literal | Verdict
    span: Span = field(compare=False, repr=False)
    comments: tuple[Comment, ...] = ()
    trailing: Comment | None = None
    blank_before: bool = field(default=False, compare=False, repr=False)


Statement = RewriteStatement | TestStatement


@dataclass(frozen=True, slots=True)
class TargetBlock:
    """`target NAME { … }`."""

    name: Literal
    statements: tuple[Statement, ...]
    span: Span = field(compare=False, repr=False)
    comments: tuple[Comment, ...] = ()  # above the block
    opening: Comment | None = None  # behind `{`
    closing: tuple[Comment, ...] = ()  # on lines of their own, above `}`
    trailing: Comment | None = None  # behind `}`
    blank_before: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Document:
    """One rule file: its blocks in order, and the comments after the last."""

    source: SourceFile = field(compare=False)
    blocks: tuple[TargetBlock, ...] = ()
    closing: tuple[Comment, ...] = ()


# A pair of surrogates first: it is one character.
_ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.", re.DOTALL)
_MEANINGS = {"\\\\": "\\", '\\"': '"', "\\n": "\n", "\\t": "\t"}


def literal(source: SourceFile, token: Token) -> tuple[Literal, Diagnostic | None]:
    """Returns the literal of a NAME, STRING or RAW token, and a diagnostic for a string with an invalid escape."""
    start = token.start_pos or 0
    span = Span(source, start, start + len(token))
    if token.type == "NAME":
        return Literal(str(token), span, offsets=range(span.start, span.end + 1)), None
    inner, raw = token[1:-1], token.type == "RAW"
    if raw and "\r\n" in inner:
        return _without_carriage_returns(inner, span), None
    if not raw and "\\" in inner:
        return _unescaped(inner, span), _bad_escape(inner, span)
    return Literal(inner, span, raw, range(span.start + 1, span.end)), None


def _without_carriage_returns(inner: str, span: Span) -> Literal:
    """Removes carriage returns, as in Go's raw strings: the value does not depend on the file's line ends."""
    kept = [index for index, character in enumerate(inner) if inner[index : index + 2] != "\r\n"]
    offsets = (*(span.start + 1 + index for index in kept), span.end - 1)
    return Literal("".join(inner[index] for index in kept), span, raw=True, offsets=offsets)


def _unescaped(inner: str, span: Span) -> Literal:
    """Returns the value of a string with escapes; an invalid escape is kept."""
    value: list[str] = []
    offsets: list[int] = []
    end = 0
    for escape in _ESCAPE.finditer(inner):
        meaning = _meaning(escape.group())
        if meaning is not None:
            value += (inner[end : escape.start()], meaning)
            offsets += range(end, escape.start() + 1)
            end = escape.end()
    value.append(inner[end:])
    offsets += range(end, len(inner) + 1)
    return Literal("".join(value), span, offsets=tuple([span.start + 1 + offset for offset in offsets]))


def _meaning(escape: str) -> str | None:
    r"""The character of an escape; None for an invalid one: `\.`, too few digits, half of a surrogate pair."""
    if len(escape) == 2:
        return _MEANINGS.get(escape)
    units = bytes.fromhex(escape.replace("\\u", ""))
    try:
        return units.decode("utf-16-be")
    except UnicodeDecodeError:
        return None


def _bad_escape(inner: str, span: Span) -> Diagnostic | None:
    """Returns the diagnostic of the first bad escape; its help is for the whole string."""
    bad = next((each for each in _ESCAPE.finditer(inner) if _meaning(each.group()) is None), None)
    if bad is None:
        return None
    escape, message = bad.group(), f"invalid escape `{bad.group()}`"
    if escape[1].isdecimal():
        advice = f"write `${{{escape[1]}}}` in a plain template for what the group captured"
    elif escape.startswith("\\u"):
        advice = "write the character itself, or `\\uXXXX`; above U+FFFF it takes a pair, as in `\\uD83D\\uDE00`"
    elif "`" in inner:
        advice = f'write `\\{escape}`; a string knows `\\\\`, `\\"`, `\\n`, `\\t` and `\\uXXXX`'
    else:
        intended = inner.replace('\\"', '"')
        advice = f"write the string between backticks, where a backslash is literal: `{intended}`"
    return Diagnostic("bad-escape", message, span.part(1 + bad.start(), 1 + bad.end()), advice)


_NAME = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_.]|-(?!>))*")
# Controls, spaces that are not the space, invisible marks; a fixed list, so that every Python prints the same.
_INVISIBLE = re.compile(
    r"[\x00-\x1f\x7f-\xa0\xad\u1680\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u206f\u3000\ud800-\udfff\ufeff]"
)
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
_NOT_RAW = re.compile(r"[`\r]")


def name_text(name: Literal) -> str:
    """Returns a name as it is printed: without quotes if possible."""
    return name.value if _NAME.fullmatch(name.value) else _quoted(name.value)


def string_text(string: Literal) -> str:
    """Returns a string as it is printed: between backticks or quotes."""
    value = string.value
    needs_escapes = ("\\" in value or '"' in value) and not _INVISIBLE.search(value)
    is_raw = (string.raw or needs_escapes) and not _NOT_RAW.search(value)
    return f"`{value}`" if is_raw else _quoted(value)


def _quoted(value: str) -> str:
    escaped = "".join(_ESCAPES.get(character, character) for character in value)
    return '"' + _INVISIBLE.sub(lambda match: f"\\u{ord(match.group()):04x}", escaped) + '"'


# A pattern that begins differently may be meant literally: `/a/`.
_DELIMITED = re.compile(r"/(?P<body>(?:\^|\\/).*)/(?P<flags>[dgimsuvy]*)", re.DOTALL)
_MEANT = "ims"  # the other flags are about the search, not the pattern


def undelimited(text: str) -> str | None:
    """Returns a pattern without the delimiters of other languages; None if it has no delimiters."""
    match = _DELIMITED.fullmatch(text)
    if match is None:
        return None
    flags = "".join(each for each in _MEANT if each in match["flags"])
    body = match["body"].replace("\\/", "/")
    return f"(?{flags}){body}" if flags else body
