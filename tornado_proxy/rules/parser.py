"""The parser: converts any text to a document with its comments, and diagnostics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import msgspec
from lark import Token, Tree
from lark.exceptions import UnexpectedToken

from tornado_proxy.rules import tree as nodes
from tornado_proxy.rules.diagnostic import Diagnostic, Note, SourceFile, Span
from tornado_proxy.rules.limits import MOST_MISTAKES
from tornado_proxy.rules.reading import Reading, Where
from tornado_proxy.rules.recovery import recover

_DIALECTS = {"JINJA": nodes.Dialect.JINJA, "GO": nodes.Dialect.GO}
_VERDICTS = {each.name: each for each in nodes.Verdict}
_SINGLE_CLAUSES = {"AS": "user", "METHOD": "method", "HOST": "host", "USER_GROUPS": "user_groups", "EMAIL": "email"}
_CONTENT = {"NAME", "STRING", "RAW"}


class Builder(msgspec.Struct):
    """Builds the nodes of a file in the order of its text; the children of a tree are all symbols of its rule."""

    source: SourceFile
    comments: Comments
    diagnostics: list[Diagnostic] = []

    def document(self, tree: Tree[Any]) -> nodes.Document:
        """Returns the document of a file, without what recovery had to insert."""
        trees: list[Any] = tree.children
        blocks: list[nodes.TargetBlock] = []
        for each in trees:
            block = self._block(each.children)
            if _is_whole(each.children):
                blocks.append(block)
        return nodes.Document(self.source, tuple(blocks), self.comments.before(len(self.source.text) + 1))

    def _block(self, symbols: list[Any]) -> nodes.TargetBlock:
        (keyword, name, brace), inside, end_brace = symbols[:3], symbols[3:-1], symbols[-1]
        del symbols[3:-1]  # the tokens of a statement go when it is built: those of all take as much as the nodes
        start = _start(keyword)
        above = self.comments.before(start)
        blank = self.comments.blank_above(start)
        above += self.comments.before(_start(brace))
        opening = self.comments.behind(_end(brace))
        statements = tuple(self._statements(inside))
        closing = self.comments.before(_start(end_brace))
        trailing = self.comments.behind(_end(end_brace))
        span = Span(self.source, start, _end(end_brace))
        return nodes.TargetBlock(self._literal(name), statements, span, above, opening, closing, trailing, blank)

    def _statements(self, trees: list[Tree[Any]]) -> Iterator[nodes.Statement]:
        trees.reverse()
        while trees:
            tree = trees.pop()
            symbols: list[Any] = tree.children
            *_, last = tree.scan_values(lambda each: isinstance(each, Token))
            start, end = _start(symbols[0]), _end(last)
            above = self.comments.before(start)
            blank = self.comments.blank_above(start)
            above += self.comments.before(end)  # comments between its tokens have no better place
            trailing = self.comments.behind(end)
            setting = Span(self.source, start, end), above, trailing, blank  # which every statement has
            if not _is_whole(tree.scan_values(lambda _: True)):
                continue
            match tree.data:
                case "test":
                    _, key, *clauses, _, expected = symbols
                    path, request = self._literal(key), self._clauses(clauses)
                    yield nodes.TestStatement(path, request, self._expected(expected), *setting)
                case "rewrite":
                    _, *rule = symbols
                    yield self._rewrite(*rule)(*setting)
                case "redirect":
                    _, missing, status, *rule, no_query = symbols
                    words = self._redirecting(status, missing, no_query)
                    yield self._rewrite(*rule)(*setting, kind=nodes.RuleKind.REDIRECT, redirecting=words)
                case "gone":
                    _, name, source = symbols
                    nothing = Token("STRING", '""', start_pos=end, end_pos=end)
                    yield self._rewrite(name, source, None, None, nothing)(*setting, kind=nodes.RuleKind.GONE)
                case "redirects":
                    _, missing, status, file, any_case, no_query = symbols
                    words = self._redirecting(status, missing, no_query)
                    listed = nodes.RuleKind.REDIRECT, self._literal(file), bool(any_case), words
                    yield nodes.ListStatement(*listed, *setting)
                case _:
                    _, file, any_case = symbols
                    listed = nodes.RuleKind.REWRITE, self._literal(file), bool(any_case), nodes.NO_WORDS
                    yield nodes.ListStatement(*listed, *setting)

    def _rewrite(
        self, name: Token | None, source: Token, _arrow: Token | None, dialect: Token | None, template: Token
    ) -> partial[nodes.RewriteStatement]:
        written_in = _DIALECTS[dialect.type] if dialect else nodes.Dialect.PLAIN
        named = self._literal(name) if name else None
        return partial(nodes.RewriteStatement, named, self._literal(source), written_in, self._literal(template))

    def _redirecting(self, status: Token | None, missing: Any, no_query: Any) -> nodes.Redirecting:
        return nodes.Redirecting(self._status(status), missing is not None, no_query is None)

    def _status(self, token: Token | None) -> int | None:
        """Returns the status of a redirect; reports one that is none."""
        if token is None or int(token[:4]) in nodes.REDIRECTS:
            return int(token) if token else None
        place, listed = Span(self.source, _start(token), _end(token)), ", ".join(map(str, sorted(nodes.REDIRECTS)))
        advice = f"write one of {listed}; 301 and 308 are for good, the others for a while"
        self.diagnostics.append(Diagnostic("bad-status", f"`{token}` is not the status of a redirect", place, advice))
        return None

    def _expected(self, symbol: Any) -> nodes.Literal | nodes.Verdict | nodes.RedirectTo:
        if isinstance(symbol, Tree):
            status: Token | None
            location: Token
            _, status, location = symbol.children  # type: ignore[assignment] # tokens, by the grammar
            return nodes.RedirectTo(self._literal(location), self._status(status))
        return _VERDICTS.get(symbol.type) or self._literal(symbol)

    def _clauses(self, clauses: Iterable[Any]) -> nodes.RequestClauses:
        singles: dict[str, nodes.Literal] = {}
        headers: list[tuple[nodes.Literal, nodes.Literal]] = []
        for clause in clauses:
            keyword, *values = clause.children
            literals = [self._literal(value) for value in values]
            if keyword.type == "HEADER":
                headers.append((literals[0], literals[1]))
                continue
            name = _SINGLE_CLAUSES[keyword.type]
            if name in singles:
                place = Span(self.source, _start(keyword), _end(keyword))
                note = Note("first given here", singles[name].span)
                message = f"`{keyword}` is given twice"
                self.diagnostics.append(Diagnostic("repeated-clause", message, place, "keep one of them", (note,)))
            singles[name] = literals[0]
        return nodes.RequestClauses(headers=tuple(headers), **singles)

    def _literal(self, token: Token) -> nodes.Literal:
        string, mistake = nodes.literal(self.source, token)
        if mistake:
            self.diagnostics.append(mistake)
        return string


def _is_whole(symbols: Iterable[Any]) -> bool:
    """Returns whether recovery has inserted no name or string among some symbols."""
    return not any(isinstance(each, Token) and each.type in _CONTENT and each == "" for each in symbols)


def _start(token: Token) -> int:
    return token.start_pos or 0


def _end(token: Token) -> int:
    return token.end_pos or 0


class Comments(msgspec.Struct):
    """The comments of a file that have no place yet, while its nodes are built from first to last."""

    source: SourceFile
    tokens: list[Token]
    _next: int = 0  # the first comment that has found no place yet
    _end: int = 0  # where the last comment or node ended

    def before(self, offset: int) -> tuple[nodes.Comment, ...]:
        """Takes the comments that begin before an offset and have no place yet."""
        return tuple(self._until(offset))

    def behind(self, end: int) -> nodes.Comment | None:
        """Takes the comment at the end of the line on which a node ends, if nothing else is between them."""
        self._end = end
        if self._next == len(self.tokens):
            return None
        start = self.tokens[self._next].start_pos or 0
        gap = self.source.text[end:start]
        return None if gap.strip(" \t") else next(self._until(start + 1))

    def blank_above(self, start: int) -> bool:
        """Returns whether a blank line separates an offset from the comment or node that ended last."""
        gap = self.source.text[self._end : start]
        return gap.isspace() and gap.count("\n") > 1

    def _until(self, offset: int) -> Iterator[nodes.Comment]:
        while self._next < len(self.tokens):
            token = self.tokens[self._next]
            start = token.start_pos or 0
            if start >= offset:
                return
            text = token.rstrip()
            span = Span(self.source, start, start + len(text))
            comment = nodes.Comment(text, span, self.blank_above(start))
            self._next, self._end = self._next + 1, span.end
            yield comment


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")  # no file has one; the text of an editor may


class Parsed(msgspec.Struct, frozen=True):
    """The document of what could be read, and a diagnostic for each syntax error, in the order of the text."""

    document: nodes.Document
    diagnostics: tuple[Diagnostic, ...] = ()


def parse(source: SourceFile) -> Parsed:
    """Parses a rule file. A statement whose mistake leaves its meaning open is left out of the document."""
    reading = Reading(source, _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", source.text))
    builder = Builder(source, Comments(source, reading.comments))
    document = nodes.Document(source)
    while len(reading.diagnostics) < MOST_MISTAKES:
        try:
            reading.feed_all()
            document = builder.document(reading.end())
            break
        except UnexpectedToken as error:
            recover(reading, error.token)
    else:
        message = f"more than {MOST_MISTAKES} mistakes: the rest of the file is not read"
        last = max(map(_offset, reading.diagnostics))
        reading.report("too-many-mistakes", message, (last, last))
    for comment in reading.comments:  # the grammar ignores what is in them
        if invisible := _CONTROL.search(comment.rstrip()):
            start = (comment.start_pos or 0) + invisible.start()
            message = f"invisible character U+{ord(invisible.group()):04X} in a comment"
            reading.report("control-character", message, (start, start + 1))
    return Parsed(document, tuple(sorted((*reading.diagnostics, *builder.diagnostics), key=_offset)))


def _offset(diagnostic: Diagnostic) -> int:
    return diagnostic.span.start if diagnostic.span else 0


_OPEN = frozenset({"OPEN_STRING", "OPEN_RAW"})


class Unfinished(msgspec.Struct, frozen=True):
    """The state of the parser at the end of a text.

    `open` is the string or comment in which the text ends; `begun` are the tokens of the statement or first line before
    it, without finished clauses; `accepts` names the terminals that would fit.
    """

    where: Where
    accepts: frozenset[str]
    begun: tuple[Token, ...] = ()
    open: Token | None = None


def unfinished(source: SourceFile, end: int) -> Unfinished:
    """Returns the state of the parser at an offset, as if the file ended there; mistakes before it are ignored."""
    text = source.text[:end].encode(errors="replace").decode()
    reading = Reading(source, text)
    opened: Token | None = None
    while opened is None and len(reading.diagnostics) < MOST_MISTAKES:
        try:
            reading.feed_all()
            break
        except UnexpectedToken as error:
            token = error.token
            if token.type in _OPEN and token.end_pos == len(text):
                opened = Token.new_borrow_pos(token.type, token, token)
            else:
                recover(reading, token)
    if opened is None and reading.comments and reading.comments[-1].end_pos == len(text):
        opened = reading.comments[-1]
    accepts = reading.accepts()
    return Unfinished(reading.where(accepts), accepts, tuple(reading.begun()), opened)
