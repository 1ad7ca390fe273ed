"""Text becomes a document and diagnostics; no text makes it raise."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lark import Token, Tree
from lark.exceptions import UnexpectedToken

from tornado_proxy.lang.building import Builder, Comments
from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.reading import Reading, Where
from tornado_proxy.lang.source import SourceFile
from tornado_proxy.lang.tree import Document

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Parsed:
    """The document of what could be read, and a diagnostic for each syntax error, in the order of the text."""

    document: Document
    diagnostics: tuple[Diagnostic, ...] = ()


def parse(source: SourceFile) -> Parsed:
    """Parses a rule file. A statement whose mistake leaves its meaning open is left out of the document."""
    reading = Reading(source, _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", source.text))
    tree = _tree(reading)
    builder = Builder(source, Comments(source, reading.comments))
    document = builder.document(tree)
    found = (*reading.diagnostics, *builder.diagnostics, *_unfit_characters(reading))
    return Parsed(document, tuple(sorted(found, key=_offset)))


def _tree(reading: Reading) -> Tree[Any]:
    while True:
        try:
            reading.feed_all()
            return reading.end()
        except UnexpectedToken as error:
            _recover(reading, error.token)


def _recover(reading: Reading, token: Token) -> None:
    from tornado_proxy.lang.recovery import recover  # noqa: PLC0415 - 10 ms that no good file needs

    recover(reading, token)


def _unfit_characters(reading: Reading) -> Iterator[Diagnostic]:
    """Characters that the grammar passes over: invisible ones in comments, and halves of surrogate pairs."""
    for comment in reading.comments:
        invisible = _CONTROL.search(comment.rstrip())
        if invisible:
            start = (comment.start_pos or 0) + invisible.start()
            message = f"invisible character U+{ord(invisible.group()):04X} in a comment"
            yield Diagnostic("control-character", message, reading.span(start, start + 1))
    for found in _SURROGATE.finditer(reading.source.text):
        message = f"U+{ord(found.group()):04X} is half of a surrogate pair"
        yield Diagnostic("not-utf-8", message, reading.span(*found.span()))


def _offset(diagnostic: Diagnostic) -> int:
    return diagnostic.span.start if diagnostic.span else 0


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
            _recover(reading, token)
    last = reading.comments[-1] if reading.comments else None
    return last if last is not None and last.end_pos == len(reading.text) else None
