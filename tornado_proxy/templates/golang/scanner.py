"""A template's text cut into plain text and actions: delimiters, trim markers and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tornado_proxy.templates.errors import TemplateMistake

DEEPEST = 100
"""How deep parentheses and control actions may nest; Go allows more of the former than any one writes."""

_LEFT = re.compile(r"\{\{(?:-(?=[ \t\r\n]))?")
_COMMENT_END = re.compile(r"(?:[ \t\r\n]-)?\}\}")

# What matters for finding an action's end; every other character is passed over one by one.
_PIECE = re.compile(
    r"""(?P<close>(?P<trim>[ \t\r\n]-)?\}\})
      |"(?:\\[^\n]|[^"\\\n])*" |'(?:\\[^\n]|[^'\\\n])*' |`[^`]*`
      |(?P<unclosed>["'`])
      |(?P<parenthesis>[()])
      |.""",
    re.VERBOSE | re.DOTALL,
)
_UNCLOSED = {'"': "a quoted string", "'": "a character constant", "`": "a raw string"}
_SPACE = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Plain:
    """Text to be written as it stands; `start` is its offset in the template."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Inside:
    """The text of one action, without delimiters and trim markers; `start` is its offset, `opening` that of `{{`."""

    text: str
    start: int
    opening: int


def scan(text: str) -> Iterator[Plain | Inside]:
    """The pieces of a template in order; raises `TemplateMistake` for what is not closed."""
    position = 0
    while (left := _LEFT.search(text, position)) is not None:
        plain = text[position : left.start()]
        if left[0].endswith("-"):
            plain = plain.rstrip(_SPACE)
        if plain:
            yield Plain(plain, position)
        comment = _comment_end(text, left)
        if comment is not None:
            position = comment
            continue
        start = left.end()
        end, close, trims = _action_end(text, start)
        yield Inside(text[start:end], start, left.start())
        position = _after(text, close) if trims else close
    if position < len(text):
        yield Plain(text[position:], position)


def _comment_end(text: str, left: re.Match[str]) -> int | None:
    """Where the text goes on after a comment; None where the action is none."""
    trimmed = left[0].endswith("-")
    start = left.end() + trimmed
    if not text.startswith("/*", start):
        return None
    closing = text.find("*/", start + 2)
    if closing < 0:
        raise TemplateMistake("a comment is not closed", left.start(), left.end(), "close it with `*/}}`")
    end = _COMMENT_END.match(text, closing + 2)
    if end is None:
        raise TemplateMistake("a comment does not end its action", closing, closing + 2, "write `*/}}` or `*/ -}}`")
    return _after(text, end.end()) if "-" in end[0] else end.end()


def _action_end(text: str, start: int) -> tuple[int, int, bool]:
    """Where an action's text ends, where its delimiter ends, and whether that trims what follows."""
    depth, position = 0, start
    while (piece := _PIECE.match(text, position)) is not None:
        if piece["close"]:
            return piece.start(), piece.end(), bool(piece["trim"])
        if quote := piece["unclosed"]:
            raise TemplateMistake(f"{_UNCLOSED[quote]} is not closed", position, position + 1)
        if parenthesis := piece["parenthesis"]:
            depth += 1 if parenthesis == "(" else -1
            if depth > DEEPEST:
                raise TemplateMistake(f"parentheses nest deeper than {DEEPEST} levels", position, position + 1)
        position = piece.end()
    raise TemplateMistake("an action is not closed", start - 2, start, "close it with `}}`")


def _after(text: str, position: int) -> int:
    """The offset of the first character from a position on that is not white space."""
    while position < len(text) and text[position] in _SPACE:
        position += 1
    return position
