"""Sync points: where a statement seems to begin, since line ends mean nothing to the grammar."""

from __future__ import annotations

import functools
import re

from tornado_proxy.lang.diagnostic import did_you_mean

STATEMENT_WORDS = ("rewrite", "test", "target")

_CONTINUATIONS = {
    *("as", "method", "host", "header", "user-groups", "email"),
    *("jinja", "go", "unchanged", "error"),
}

# A line that begins with a statement's word or a closing brace; with another word or a string, and then an arrow.
_LINE = re.compile(
    r"""^[ \t]*
    (?: (?P<sure> \} | (?:rewrite|test|target)(?![\w.-]) )
      | (?P<word> [A-Za-z_][\w-]* ) [ \t]+ (?: [A-Za-z_][\w.-]* [ \t]+ )? ["'`/^{] (?P<rest> [^\n]* )
      | ["`/^] [^\n]* ->
    )""",
    re.MULTILINE | re.VERBOSE,
)

# The rest of a line: strings and comments are passed whole, braces are counted.
_PIECE = re.compile(
    r"""
      "(?:\\.|[^"\\\n])*" | `[^`\n]*` | \#[^\n]*
    | (?P<statement> \b(?:rewrite|test)[ \t]+(?:[A-Za-z_][\w.-]*[ \t]+)?["`] | \btarget[ \t]+\S+[ \t]*\{ )
    | (?P<open> \{ ) | (?P<close> \} ) | (?P<end> \n )
    | [^"`\#{}\nrt]+ | .
    """,
    re.VERBOSE,
)


def begins_statement(text: str, offset: int) -> bool:
    """Whether the line that begins, but for space, at an offset looks like a statement or a closing brace."""
    found = _LINE.match(text, text.rfind("\n", 0, offset) + 1)
    return found is not None and _is_statement(found)


def next_statement(text: str, offset: int) -> int:
    """The offset from which reading may go on: in the rest of the line, or else a line below; at last the end."""
    depth = 0
    for piece in _PIECE.finditer(text, offset):
        match piece.lastgroup:
            case "statement":
                return piece.start()
            case "open":
                depth += 1
            case "close" if depth == 0:
                return piece.start()
            case "close":
                depth -= 1
            case "end":
                return next_statement_line(text, piece.end())
    return len(text)


def next_statement_line(text: str, offset: int, end: int | None = None) -> int:
    """The offset of the next line that looks like a statement or a closing brace; the end if there is none."""
    last = len(text) if end is None else end
    for found in _LINE.finditer(text, offset, last):
        if _is_statement(found):
            return found.end() - len(found.group().lstrip(" \t"))
    return last


def _is_statement(found: re.Match[str]) -> bool:
    word = found["word"]
    return word is None or (word not in _CONTINUATIONS and (_resembles_statement(word) or "->" in found["rest"]))


@functools.lru_cache(maxsize=256)
def _resembles_statement(word: str) -> bool:
    return did_you_mean(word, STATEMENT_WORDS) is not None
