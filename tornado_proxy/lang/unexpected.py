"""A token that does not fit, what would fit instead, and where the next statement begins."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from lark import Token

from tornado_proxy.lang.reading import INNER_WORDS, KEYWORDS, STATEMENT_WORDS, Reading, Where

STRINGS = frozenset({"STRING", "RAW"})
IN_STATEMENT = frozenset({Where.REWRITE, Where.TEST})

# A line that begins with a keyword or a closing brace, or that has an arrow and does not continue a statement.
_LINE = re.compile(
    rf"""^[ \t]*+(?P<at>\}} | (?:{"|".join(STATEMENT_WORDS)})(?![\w.-])
    | (?!(?:{"|".join(INNER_WORDS)})\b)[\w"'`/^][^\n]*->)""",
    re.MULTILINE | re.VERBOSE,
)
_IN_LINE = re.compile(r'[^\n#{}]*?(?P<at>\b(?:rewrite|test)[ \t]+(?:[\w.-]+[ \t]+)?["`]|\btarget[ \t]+\S+[ \t]*\{|\})')


def next_statement(text: str, offset: int) -> int:
    """The offset where reading can go on: a statement or brace in the rest of the line or below, or else the end."""
    found = _IN_LINE.match(text, offset) or _LINE.search(text, offset)
    return found.start("at") if found else len(text)


_TEXT = "(a string or a raw string between backticks)"
_VALUE = "(a name or a string)"

# What a name or string would be, by the last keyword before it; behind that of a clause, its value.
_NOUNS = {
    "TARGET": f"the target's name {_VALUE}",
    "REWRITE": f"a source pattern {_TEXT}",
    "TEST": f"a key {_TEXT}",
    "JINJA": f"a template {_TEXT}",
    "GO": f"a template {_TEXT}",
}
_AFTER_ARROW = {Where.REWRITE: f"a template {_TEXT}", Where.TEST: f"a key {_TEXT}, `unchanged` or `error`"}
_FOUND = {"$END": "the end of the file", "STRING": "a string", "RAW": "a raw string"}
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class Unexpected:
    """A token that does not fit, with the terminals that would, and what the parser is in the middle of."""

    reading: Reading
    token: Token
    accepts: frozenset[str]
    where: Where
    start: int
    end: int

    @classmethod
    def at(cls, reading: Reading, token: Token) -> Unexpected:
        """Describes a token by the present state of the parser."""
        accepts = reading.accepts()
        return cls(reading, token, accepts, reading.where(accepts), token.start_pos or 0, token.end_pos or 0)

    @property
    def is_text(self) -> bool:
        """Whether the token is text without quotes, more than punctuation."""
        return self.token.type == "BARE" and any(map(str.isalnum, self.token))

    @property
    def first_on_line(self) -> bool:
        """Whether the token before this one stands on another line."""
        return self.reading.last is None or "\n" in self.reading.text[self.reading.last_end : self.start]

    @property
    def is_surplus(self) -> bool:
        """Whether the token stands on one line with a statement that is complete."""
        last = self.reading.last
        return self.where is Where.BLOCK and not self.first_on_line and last is not None and last.type != "LBRACE"

    @property
    def breaks_off(self) -> bool:
        """Whether a statement or first line is incomplete, and the token begins something else."""
        if self.token.type == "$END":
            return True
        if self.where in {Where.FILE, Where.BLOCK} or not self.first_on_line:
            return False
        return _LINE.match(self.reading.text, line_start(self.reading.text, self.start)) is not None

    def follows(self, length: int = 1) -> str:
        """The text behind the token, without the space before it."""
        return self.reading.text[self.end : self.end + 200].lstrip(" \t")[:length]

    def report(self, help: str | None = None, *, end: int | None = None) -> None:
        """Reports what was expected, and what is there: the token, or the text from it to an offset."""
        place = (self.start, end or self.end)
        what = _FOUND.get(self.token.type) or shown(self.reading.text[slice(*place)])
        if self.breaks_off:
            place = (self.reading.last_end, self.reading.last_end)
            what = what if self.token.type == "$END" else "the end of the line"
        self.reading.report("syntax-error", f"expected {self._expected()}, found {what}", place, help)

    def replace(self, terminal: str) -> None:
        """Reads the token as if it were another one."""
        self.reading.feed(Token.new_borrow_pos(terminal, str(self.token), self.token))

    def insert(self, *terminals: str) -> None:
        """Reads on as if tokens that are missing stood before this one, which is then read again."""
        for terminal in terminals:
            self.reading.insert(terminal)
        self.reading.move_to(self.start)

    def pass_over(self, end: int) -> None:
        """Goes on at an offset; braces that are passed over need not close."""
        passed = self.reading.text[self.start : end]
        self.reading.owed_braces += max(0, passed.count("{") - passed.count("}"))
        self.reading.move_to(end)

    def _expected(self) -> str:
        if "ARROW" in self.accepts:
            return "`->`" if self.where is Where.REWRITE else "`->` or a clause"
        if "LBRACE" in self.accepts:
            return "`{`"
        if self.where is Where.FILE:
            return "`target`"
        if self.where is Where.BLOCK:
            return "`rewrite`, `test` or `}`"
        keyword = next(token for token in reversed(self.reading.begun()) if token.type in {*KEYWORDS, "ARROW"})
        if keyword.type == "ARROW":
            return _AFTER_ARROW[self.where]
        return _NOUNS.get(keyword.type) or f"a value of `{keyword}` {_VALUE}"


def shown(text: str) -> str:
    """A piece of the file between backticks, or the name of the first invisible character in it."""
    for character in text:
        if not character.isprintable():
            return f"U+{ord(character):04X} ({unicodedata.name(character, 'control character').lower()})"
    return f"`{text[:_LONGEST]}…`" if len(text) > _LONGEST else f"`{text}`"


def line_start(text: str, offset: int) -> int:
    """The offset where the line of an offset begins."""
    return text.rfind("\n", 0, offset) + 1


def line_end(text: str, offset: int) -> int:
    """The offset of the LF that ends the line of an offset, or of the end."""
    end = text.find("\n", offset)
    return len(text) if end < 0 else end
