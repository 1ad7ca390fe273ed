"""One file being read: the parser's stacks, the lexer's place, the comments and what was said so far."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from lark import Lark, Token, Tree

from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.grammar import grammar_text
from tornado_proxy.lang.source import SourceFile

# What is no token of the language, cut so that one mistake is one token.
_MISTAKES = r"""
OPEN_STRING.-1 : /"[^\n]*/
OPEN_RAW.-1    : /`[^`]*/
QUOTED.-1      : /'[^'\n]*'|[“”„][^“”"\n]*[“”"]/
SEMICOLON.-1   : /;+/
INVISIBLE.-1   : /(?:[\x00-\x1f\x7f]|(?![ \t\n])\s)+/
BARE.-2        : /[^\s\x00-\x1f\x7f"`{}#;]+/
"""

# Their terminals are lexed everywhere: a keyword is then never cut off the front of a longer word, and every mistake
# is a token that does not fit.
_EVERYWHERE = (
    *("NAME", "STRING", "RAW", "ARROW", "LBRACE", "RBRACE"),
    *("OPEN_STRING", "OPEN_RAW", "QUOTED", "SEMICOLON", "INVISIBLE", "BARE"),
)

_comments: ContextVar[list[Token]] = ContextVar("_comments")


class _EverythingEverywhere:
    """Tells the contextual lexer which terminals to know in every context."""

    always_accept = _EVERYWHERE

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        return stream


def _keep_comment(token: Token) -> Token:
    _comments.get().append(token)
    return token


@functools.cache
def rules_parser() -> Lark:
    """The parser of rule files, built at the first use; it holds nothing of the files that it reads."""
    return Lark(
        grammar_text("rules.lark") + _MISTAKES,
        start="document",
        parser="lalr",
        lexer="contextual",
        postlex=_EverythingEverywhere(),
        lexer_callbacks={"COMMENT": _keep_comment},
        keep_all_tokens=True,
        maybe_placeholders=True,
    )


class Reading:
    """A file on its way through the parser."""

    def __init__(self, source: SourceFile, text: str) -> None:
        self.source = source
        self.text = text
        self.diagnostics: list[Diagnostic] = []
        self.comments: list[Token] = []
        self.last: Token | None = None
        _comments.set(self.comments)
        self._interactive = rules_parser().parse_interactive(text)
        self._state = self._interactive.parser_state

    def tokens(self) -> Iterator[Token]:
        """The tokens from the lexer's place on; what each is depends on what was fed before."""
        tokens: Iterator[Token] = self._interactive.lexer_thread.lex(self._state)  # type: ignore[no-untyped-call] # Lark's
        return tokens

    def feed(self, token: Token) -> None:
        """Shift a token; raises lark's UnexpectedToken if it does not fit."""
        self._state.feed_token(token)
        self.last = token

    def end(self) -> Tree[Any]:
        """The tree of the whole text; raises UnexpectedToken if something is missing."""
        tree: Tree[Any] = self._interactive.feed_eof(self.last)  # type: ignore[no-untyped-call] # Lark's
        return tree
