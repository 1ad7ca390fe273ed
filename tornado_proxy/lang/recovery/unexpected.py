"""A token that does not fit, what would have fitted, and both in words."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from lark import Token

from tornado_proxy.lang.diagnostic import Note
from tornado_proxy.lang.reading import Reading, Where
from tornado_proxy.lang.recovery.sync import begins_statement


@dataclass(frozen=True, slots=True)
class Unexpected:
    """A token that does not fit: what would have fitted, and in the middle of what."""

    reading: Reading
    token: Token
    accepts: frozenset[str]
    where: Where

    @classmethod
    def at(cls, reading: Reading, token: Token) -> Unexpected:
        """The unexpected with a token, at the parser's present state."""
        accepts = reading.accepts()
        return cls(reading, token, accepts, reading.where(accepts))

    @property
    def start(self) -> int:
        """Where the token begins."""
        return self.token.start_pos or 0

    @property
    def end(self) -> int:
        """Where the token ends."""
        return self.token.end_pos or 0

    @property
    def first_on_line(self) -> bool:
        """Whether a line ends between the last token and this one."""
        last = self.reading.last
        return last is None or "\n" in self.reading.text[self.reading.last_end : self.start]

    @property
    def is_surplus(self) -> bool:
        """Whether the token stands on one line with a statement that is complete."""
        last = self.reading.last
        behind_brace = last is not None and last.type == "LBRACE"
        return self.where is Where.BLOCK and not self.first_on_line and not behind_brace

    @property
    def breaks_off(self) -> bool:
        """Whether a statement or first line is incomplete, and the token begins something else."""
        if self.token.type == "$END":
            return True
        within = self.where in {Where.HEADER, Where.REWRITE, Where.TEST}
        return within and self.first_on_line and begins_statement(self.reading.text, self.start)

    @property
    def place(self) -> tuple[int, int]:
        """Where to point: at the token, or behind the last one if that should have gone on."""
        return (self.reading.last_end, self.reading.last_end) if self.breaks_off else (self.start, self.end)

    @property
    def has_letters(self) -> bool:
        """Whether the token is more than punctuation."""
        return any(map(str.isalnum, self.token))

    @property
    def takes_text(self) -> bool:
        """Whether a string would fit."""
        return "STRING" in self.accepts

    def follows(self, length: int = 1) -> str:
        """The text behind the token, without the space before it."""
        rest = self.reading.text[self.end : self.end + 200].lstrip(" \t")
        return rest[:length]

    def report(self, code: str, message: str, help: str | None = None, *notes: Note) -> None:
        """Say something about the token."""
        self.reading.report(code, message, (self.start, self.end), help, *notes)

    def report_unexpected(self, help: str | None = None, *, end: int | None = None) -> None:
        """Say what was expected, and what is there: the token, the text up to an end, or nothing more."""
        if self.breaks_off and self.token.type != "$END":
            place, what = self.place, "the end of the line"
        elif end is None:
            place, what = self.place, found(self.token)
        else:
            place, what = (self.start, end), shown(self.reading.text[self.start : end])
        self.reading.report("syntax-error", f"expected {self.expectation}, found {what}", place, help)

    @property
    def expectation(self) -> str:
        """What would fit, in words."""
        return expected(self.where, self.accepts, self.reading.begun())

    def replace(self, terminal: str) -> None:
        """Read the token as if it were another one."""
        self.reading.feed(Token.new_borrow_pos(terminal, str(self.token), self.token))

    def insert(self, *terminals: str) -> None:
        """Read on as if tokens that are missing stood before this one, which is then read again."""
        for terminal in terminals:
            self.reading.insert(terminal)
        self.reading.move_to(self.start)


CLAUSES = ("as", "method", "host", "header", "user-groups", "email")
_WORDS = ("target", "rewrite", "test", "jinja", "go", "unchanged", "error", *CLAUSES)
KEYWORDS = {word.upper().replace("-", "_"): word for word in _WORDS}  # by the grammar's names for them

_STRINGS = "(a string or a raw string between backticks)"
_VALUES = "(a name or a string)"

# What a name or string would be, by the last keyword before it.
_NOUNS = {
    "TARGET": f"the target's name {_VALUES}",
    "REWRITE": f"a source pattern {_STRINGS}",
    "TEST": f"a key {_STRINGS}",
    "JINJA": f"a template {_STRINGS}",
    "GO": f"a template {_STRINGS}",
    "AS": f"a user name {_VALUES}",
    "METHOD": f"a method {_VALUES}",
    "HOST": f"a host {_VALUES}",
    "HEADER": f"a header's name and value {_VALUES}",
    "USER_GROUPS": f"the names of groups {_VALUES}",
    "EMAIL": f"an e-mail address {_VALUES}",
}
_AFTER_ARROW = {
    Where.REWRITE: f"a template {_STRINGS}",
    Where.TEST: f"a key {_STRINGS}, `unchanged` or `error`",
}
_LONGEST = 40
_CONTROL_NAMES = {"\0": "null", "\x0b": "vertical tab", "\x0c": "form feed", "\r": "carriage return"}


def expected(where: Where, accepts: frozenset[str], begun: Sequence[Token]) -> str:
    """What would fit, as it stands behind "expected"."""
    match where:
        case Where.FILE:
            return "`target`"
        case Where.BLOCK:
            return "`rewrite`, `test` or `}`"
        case Where.HEADER if "LBRACE" in accepts:
            return "`{`"
        case Where.REWRITE if "ARROW" in accepts:
            return "`->`"
        case Where.TEST if "ARROW" in accepts:
            return "`->` or a clause"
    keyword = next(token.type for token in reversed(begun) if token.type in _NOUNS or token.type == "ARROW")
    return _AFTER_ARROW[where] if keyword == "ARROW" else _NOUNS[keyword]


def found(token: Token) -> str:
    """What stands there, as it stands behind "found"."""
    match token.type:
        case "$END":
            return "the end of the file"
        case "STRING":
            return "a string"
        case "RAW":
            return "a raw string"
    return shown(token)


def shown(text: str) -> str:
    """A piece of the file between backticks, or the name of the first invisible character in it."""
    for character in text:
        if not character.isprintable():
            return _named(character)
    return f"`{text[:_LONGEST]}…`" if len(text) > _LONGEST else f"`{text}`"


def _named(character: str) -> str:
    name = _CONTROL_NAMES.get(character, unicodedata.name(character, "control character"))
    return f"U+{ord(character):04X} ({name.lower()})"
