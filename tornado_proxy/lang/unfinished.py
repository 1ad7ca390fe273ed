"""What a text leaves open where it breaks off: what is being written there, and what would fit next."""

from __future__ import annotations

from dataclasses import dataclass

from lark import Token
from lark.exceptions import UnexpectedToken

from tornado_proxy.lang.reading import Reading, Where
from tornado_proxy.lang.recovery.cures import recover
from tornado_proxy.lang.source import SourceFile

_OPEN = frozenset({"OPEN_STRING", "OPEN_RAW"})


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The state of the parser at the end of a text.

    `open` is the string or comment that the text breaks off in; `begun` are the tokens of the statement or first line
    before it, without those of finished clauses; `accepts` names the terminals that would fit.
    """

    where: Where
    accepts: frozenset[str]
    begun: tuple[Token, ...] = ()
    open: Token | None = None


def unfinished(source: SourceFile, end: int) -> Unfinished:
    """What a file leaves open at an offset, as if it ended there; mistakes before it are passed over."""
    text = source.text[:end].encode(errors="replace").decode()
    reading = Reading(source, text)
    opened = _read(reading)
    accepts = reading.accepts()
    return Unfinished(reading.where(accepts), accepts, tuple(reading.begun()), opened)


def _read(reading: Reading) -> Token | None:
    """Read to the end; the result is what it breaks off in."""
    while True:
        try:
            reading.feed_all()
            break
        except UnexpectedToken as error:
            token = error.token
            if token.type in _OPEN and token.end_pos == len(reading.text):
                return Token.new_borrow_pos(token.type, token, token)
            recover(reading, token)
    last = reading.comments[-1] if reading.comments else None
    return last if last is not None and last.end_pos == len(reading.text) else None
