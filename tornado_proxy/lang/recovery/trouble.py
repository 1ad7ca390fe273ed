"""A token that does not fit, with all that a cure needs to know about it."""

from __future__ import annotations

from dataclasses import dataclass

from lark import Token

from tornado_proxy.lang.diagnostic import Note
from tornado_proxy.lang.reading import Reading, Where
from tornado_proxy.lang.recovery.expectation import expected, found, shown
from tornado_proxy.lang.recovery.landmarks import begins_statement


@dataclass(frozen=True, slots=True)
class Trouble:
    """A token that does not fit: what would have fitted, and in the middle of what."""

    reading: Reading
    token: Token
    accepts: frozenset[str]
    where: Where

    @classmethod
    def at(cls, reading: Reading, token: Token) -> Trouble:
        """The trouble with a token, at the parser's present state."""
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
