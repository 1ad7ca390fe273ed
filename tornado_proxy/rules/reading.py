"""The state of reading a file: the parser, its stacks, the lexer's place, comments and diagnostics."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextvars import ContextVar
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lark import Lark, Token, Tree
from lark.parsers.lalr_interactive_parser import InteractiveParser

from tornado_proxy.rules.diagnostic import Diagnostic, Note, SourceFile, Span

# An installation has the grammars in the package, a checkout beside it.
_PACKAGE = Path(__file__).parent.parent
_GRAMMARS = (_PACKAGE / "grammar/rules.lark", _PACKAGE.parent / "grammar/rules.lark")

STATEMENT_WORDS = ("rewrite", "redirect", "gone", "redirects", "rewrites", "test", "target")
CLAUSES = ("as", "method", "host", "header", "user-groups", "email")
_OF_REDIRECTS = ("if", "missing", "ignoring", "case", "without", "query")
INNER_WORDS = ("jinja", "go", "unchanged", "error", *CLAUSES, *_OF_REDIRECTS)
KEYWORDS = {word.upper().replace("-", "_"): word for word in (*STATEMENT_WORDS, *INNER_WORDS)}
"""The keywords by the names of their terminals in the grammar."""

# Text that is not a token of the language, cut so that one mistake is one token.
_MISTAKES = r"""
OPEN_STRING.-1 : /"[^\n]*+/
OPEN_RAW.-1    : /`[^`]*+/
QUOTED.-1      : /'[^'\n]*'|[“”„][^“”"\n]*[“”"]/
SEMICOLON.-1   : /;++/
INVISIBLE.-1   : /(?:[\x00-\x1f\x7f\xad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]++|(?![ \t\n])\s)+/
BARE.-2        : /[^\s\x00-\x1f\x7f"`{}#;]++/
"""

# The lexer knows these in every context, so that it never splits a keyword from a longer word, and every mistake is
# a token that does not fit.
_EVERYWHERE = (
    *("NAME", "STRING", "RAW", "ARROW", "LBRACE", "RBRACE"),
    *("OPEN_STRING", "OPEN_RAW", "QUOTED", "SEMICOLON", "INVISIBLE", "BARE"),
)

_comments: ContextVar[list[Token]] = ContextVar("_comments")


def _keep_comment(token: Token) -> Token:
    _comments.get().append(token)
    return token


@functools.cache
def rules_parser() -> Lark:
    """Returns the parser of rule files, made at its first use; it keeps nothing of the files that it reads."""
    grammar = next(path for path in _GRAMMARS if path.is_file())
    return Lark(
        grammar.read_text(encoding="utf-8") + _MISTAKES,
        start="document",
        parser="lalr",
        lexer="contextual",
        keep_all_tokens=True,
        maybe_placeholders=True,
        # Lark's contextual lexer asks its post-lexer which terminals to know in every context.
        postlex=SimpleNamespace(always_accept=_EVERYWHERE, process=lambda tokens: tokens),
        lexer_callbacks={"COMMENT": _keep_comment},
    )


class Where(Enum):
    """The part of a file that the parser is within."""

    FILE = "between blocks"
    HEADER = "a block's first line"
    BLOCK = "between statements"
    REWRITE = "a rewrite"
    LIST = "a list"
    TEST = "a test"


STATEMENTS = frozenset({Where.REWRITE, Where.LIST, Where.TEST})

_OPENERS = {
    "RBRACE": Where.FILE,
    "TARGET": Where.HEADER,
    "LBRACE": Where.BLOCK,
    **dict.fromkeys(("REWRITE", "REDIRECT", "GONE"), Where.REWRITE),
    **dict.fromkeys(("REWRITES", "REDIRECTS"), Where.LIST),
    "TEST": Where.TEST,
}


class Reading:
    """A file that is being parsed: tokens are fed one by one, and recovery may change the state between two of them."""

    def __init__(self, source: SourceFile, text: str) -> None:
        self.source = source
        self.text = text
        self.diagnostics: list[Diagnostic] = []
        self.comments: list[Token] = []
        self.last: Token | None = None  # the last token that was fed
        self.owed_braces = 0  # closing braces whose blocks recovery has closed or never opened
        self._accepted: dict[tuple[Any, ...], frozenset[str]] = {}  # by states: Lark tries each terminal
        self._parser: InteractiveParser = rules_parser().parse_interactive(text)

    def tokens(self) -> Iterator[Token]:
        """Yields the tokens from the lexer's place on; the terminal of a word depends on the tokens before it."""
        tokens: Iterator[Token] = self._parser.lexer_thread.lex(self._parser.parser_state)  # type: ignore[no-untyped-call] # Lark has no annotations
        while True:
            # Another file may have been read since the last token, and the parser is shared.
            _comments.set(self.comments)
            if (token := next(tokens, None)) is None:
                return
            yield token

    def feed_all(self) -> None:
        """Shifts all tokens from the lexer's place on; raises Lark's UnexpectedToken at one that does not fit."""
        feed = self._parser.parser_state.feed_token
        for token in self.tokens():
            feed(token)
            self.last = token

    def feed(self, token: Token) -> None:
        """Shifts a token; raises Lark's UnexpectedToken if it does not fit."""
        self._parser.parser_state.feed_token(token)
        self.last = token

    def end(self) -> Tree[Any]:
        """Returns the tree of the whole text; raises UnexpectedToken if something is missing."""
        end = Token("$END", "", start_pos=len(self.text), end_pos=len(self.text))
        tree: Tree[Any] = self._parser.parser_state.feed_token(end, is_end=True)
        return tree

    @property
    def last_end(self) -> int:
        """The offset at which the last token that was fed ends."""
        return 0 if self.last is None else self.last.end_pos or 0

    def accepts(self) -> frozenset[str]:
        """Returns the terminals that would fit now."""
        stack = tuple(self._parser.parser_state.state_stack)
        if (known := self._accepted.get(stack)) is None:
            known = frozenset(self._parser.accepts())  # type: ignore[no-untyped-call] # Lark has no annotations
            self._accepted[stack] = known
        return known

    def where(self, accepts: frozenset[str]) -> Where:
        """Returns the part of a file that the parser is within; a statement that may end here is complete."""
        opener = self._opener()
        where = Where.FILE if opener is None else _OPENERS[self._values[opener].type]
        return Where.BLOCK if where in STATEMENTS and "RBRACE" in accepts else where

    def begun(self) -> list[Token]:
        """Returns the tokens of the statement or first line that is being read, without complete clauses."""
        opener = self._opener()
        return [] if opener is None else [value for value in self._values[opener:] if isinstance(value, Token)]

    def opening_brace(self) -> Token | None:
        """Returns the brace that opened the block being read, unless recovery inserted it."""
        braces = [value for value in self._values if isinstance(value, Token) and value.type == "LBRACE"]
        return braces[-1] if braces and braces[-1] else None

    def cut_back(self) -> None:
        """Forgets the statement that is being read."""
        opener = self._opener()
        if opener is not None:
            del self._values[opener:]
            del self._parser.parser_state.state_stack[opener + 1 :]

    def move_to(self, offset: int) -> None:
        """Moves the lexer to an offset, and forgets the comments that it will read again."""
        state = self._parser.lexer_thread.state
        assert state is not None
        state.line_ctr.char_pos = offset
        while self.comments and (self.comments[-1].start_pos or 0) >= offset:
            self.comments.pop()

    def insert(self, terminal: str, offset: int | None = None) -> None:
        """Feeds a token that is missing, at an offset or right after the last one; its statement is left out."""
        start = self.last_end if offset is None else offset
        self.feed(Token(terminal, "", start_pos=start, end_pos=start))

    def give_back(self) -> None:
        """Forgets the name that was fed last, so that it can be fed as another token."""
        self._values.pop()
        self._parser.parser_state.state_stack.pop()
        self.last = next((value for value in reversed(self._values) if isinstance(value, Token)), None)

    def report(self, code: str, message: str, place: tuple[int, int], help: str | None = None, *notes: Note) -> None:
        """Adds a diagnostic about a stretch of the text."""
        self.diagnostics.append(Diagnostic(code, message, self.span(*place), help, notes))

    def span(self, start: int, end: int) -> Span:
        """A span of the file being read."""
        return Span(self.source, start, end)

    @property
    def _values(self) -> list[Any]:
        return self._parser.parser_state.value_stack

    def _opener(self) -> int | None:
        """The index of the token that began what is being read."""
        for index in range(len(self._values) - 1, -1, -1):
            value, before = self._values[index], self._values[index - 1] if index else None
            # Behind the arrow of a test, `redirect` and `gone` are what it expects.
            if isinstance(value, Token) and value.type in _OPENERS and getattr(before, "type", None) != "ARROW":
                return index
        return None
