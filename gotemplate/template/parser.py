"""Parses templates: splits them into text and actions, and nests these by keywords (package text/template/parse)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from gotemplate.limits import DEEPEST_TEMPLATE, MOST_TEMPLATES
from gotemplate.template import nodes
from gotemplate.template.errors import TemplateMistake
from gotemplate.template.nodes import parse_action
from gotemplate.template.text import go_string, trim_space

OUTERMOST = b"template-string-loaded"  # as in s3-proxy; a template that defines it has no text of its own
_CLOSERS = ("end", "else", "else if", "else with")

_LEFT = re.compile(r"\{\{(?:-(?=[ \t\r\n]))?")
_CLOSE = re.compile(r"\}\}|[ \t\r\n]-\}\}[ \t\r\n]*")  # with a hyphen, it trims the text after it

# The pieces that matter for finding an action's end; other characters are skipped one by one.
_PIECE = re.compile(
    rf"""(?P<close>{_CLOSE.pattern})
      |"(?:\\[^\n]|[^"\\\n])*" |'(?:\\[^\n]|[^'\\\n])*' |`[^`]*`
      |(?P<unclosed>["'`])
      |(?P<parenthesis>[()])
      |.""",
    re.VERBOSE | re.DOTALL,
)
_UNCLOSED = {'"': "a quoted string", "'": "a character constant", "`": "a raw string"}
_SPACE = " \t\r\n"


class TemplatePiece(msgspec.Struct, frozen=True):
    """Plain text, or an action's text, with its offset."""

    text: str
    start: int
    is_action: bool = False


def scan(text: str, position: int = 0) -> Iterator[TemplatePiece]:
    """Yields the pieces of a template in order, from an offset on; raises `TemplateMistake` for one without an end."""
    while (left := _LEFT.search(text, position)) is not None:
        plain = text[position : left.start()]
        if left[0].endswith("-"):
            plain = plain.rstrip(_SPACE)
        if plain:
            yield TemplatePiece(plain, position)
        comment = _comment_end(text, left)
        if comment is not None:
            position = comment
            continue
        start = left.end()
        close = _action_close(text, start)
        yield TemplatePiece(text[start : close.start()], start, is_action=True)
        position = close.end()
    if position < len(text):
        yield TemplatePiece(text[position:], position)


def _comment_end(text: str, left: re.Match[str]) -> int | None:
    """Returns the offset after a comment; None if the action is not a comment."""
    trimmed = left[0].endswith("-")
    start = left.end() + trimmed
    if not text.startswith("/*", start):
        return None
    closing = text.find("*/", start + 2)
    if closing < 0:
        raise TemplateMistake("a comment is not closed", left.start(), left.end(), "close it with `*/}}`")
    close = _CLOSE.match(text, closing + 2)
    if close is None:
        raise TemplateMistake("a comment does not end its action", closing, closing + 2, "write `*/}}` or `*/ -}}`")
    return close.end()


def _action_close(text: str, start: int) -> re.Match[str]:
    depth, position = 0, start
    while (piece := _PIECE.match(text, position)) is not None:
        if piece["close"]:
            return piece
        if quote := piece["unclosed"]:
            raise TemplateMistake(f"{_UNCLOSED[quote]} is not closed", position, position + 1)
        if parenthesis := piece["parenthesis"]:
            depth += 1 if parenthesis == "(" else -1
            if depth > DEEPEST_TEMPLATE:
                raise TemplateMistake(f"parentheses nest deeper than {DEEPEST_TEMPLATE} levels", position, position + 1)
        position = piece.end()
    raise TemplateMistake("an action is not closed", start - 2, start, "close it with `}}`")


class ParsedTemplate(msgspec.Struct, frozen=True):
    """A template's own body, and the bodies of the templates that it defines."""

    body: nodes.Body
    templates: Mapping[bytes, nodes.Body]

    @property
    def callable(self) -> Mapping[bytes, nodes.Body]:
        """The bodies of all templates that can be called by name, including the outermost."""
        return {**self.templates, OUTERMOST: self.body}


class ParsedStart(msgspec.Struct, frozen=True):
    """What stands at the start of a template, up to the delimiter at `end`, which may trim the text after it."""

    body: nodes.Body = ()
    templates: Mapping[bytes, nodes.Body] = {}
    root_definition: tuple[int, int] = (0, 0)
    end: int = 0


def parse_start(text: str) -> ParsedStart:
    """Parses a text up to its last action, for all templates that begin with it; raises `TemplateMistake`."""
    pieces = list(scan(text))
    while pieces and not pieces[-1].is_action:
        pieces.pop()
    parser = _TemplateParser(iter(pieces))
    body = parser.top()
    last = pieces[-1] if pieces else TemplatePiece("", 0)
    return ParsedStart(body, parser.templates, parser.root_definition, last.start + len(last.text))


def parse(text: str, start: ParsedStart = ParsedStart()) -> ParsedTemplate:
    """Returns the tree of a template, whose `start` is parsed already; raises `TemplateMistake`."""
    close = _CLOSE.match(text, start.end) if start.end else None
    parser = _TemplateParser(scan(text, close.end() if close else 0))
    parser.templates, parser.root_definition = dict(start.templates), start.root_definition
    body = start.body + parser.top()
    defined = parser.templates.pop(OUTERMOST, ())
    if _is_empty(defined):
        return ParsedTemplate(body, parser.templates)
    if not _is_empty(body):
        message = f"the template `{OUTERMOST.decode()}` is defined twice: the text around its definition is one"
        raise TemplateMistake(message, *parser.root_definition)
    return ParsedTemplate(defined, parser.templates)


class _ReadAction(msgspec.Struct, frozen=True):
    """An action, and the offset of its text in the template."""

    action: nodes.ActionNode
    base: int

    def mistake(self, message: str, help: str | None = None, start: int | None = None) -> TemplateMistake:
        """Returns a mistake in the action, from an offset of its text on."""
        start = self.action.start if start is None else start
        return TemplateMistake(message, self.base + start, self.base + self.action.end, help)

    @property
    def pipeline(self) -> nodes.Pipeline:
        """The pipeline that the keyword of the action requires."""
        assert self.action.pipeline is not None
        return self.action.pipeline


class _TemplateParser:
    """Builds the tree from the pieces of a template; each method consumes the pieces of its part."""

    def __init__(self, pieces: Iterator[TemplatePiece]) -> None:
        self._pieces = pieces
        self._depth = 0
        self._ranges = 0
        self.templates: dict[bytes, nodes.Body] = {}
        self.root_definition = 0, 0

    def top(self) -> nodes.Body:
        """Parses the whole template; templates may be defined only at this level."""
        body, closer = self._pieces_up_to_closer(outermost=True)
        if closer is not None:
            raise closer.mistake(f"there is nothing to `{closer.action.keyword}`")
        return body

    def _pieces_up_to_closer(self, *, outermost: bool = False) -> tuple[nodes.Body, _ReadAction | None]:
        made: list[nodes.Node] = []
        for piece in self._pieces:
            if not piece.is_action:
                made.append(nodes.TextNode(go_string(piece.text)))
                continue
            statement = _ReadAction(parse_action(piece.text, piece.start), piece.start)
            if statement.action.keyword in _CLOSERS:
                return tuple(made), statement
            if statement.action.keyword == "define" and outermost:
                self._definition(statement)
            else:
                made.append(self._node(statement))
        return tuple(made), None

    def _body(self, opening: _ReadAction) -> tuple[nodes.Body, _ReadAction]:
        """Parses the nodes up to an `end` or an `else`, and returns them with that closing action."""
        self._nest(opening)
        body, closer = self._pieces_up_to_closer()
        self._depth -= 1
        if closer is None:
            raise opening.mistake(f"the `{opening.action.keyword}` is not closed", "close it with `{{end}}`")
        return body, closer

    def _nest(self, opening: _ReadAction) -> None:
        """Counts one more level; an `else if` adds one too, because its tree is an `if` in an `else`."""
        self._depth += 1
        if self._depth > DEEPEST_TEMPLATE:
            raise opening.mistake(f"actions nest deeper than {DEEPEST_TEMPLATE} levels")

    def _definition(self, opening: _ReadAction) -> None:
        """Adds a template by its name; of two with the same name one must be empty, and the other is used."""
        ranges, self._ranges = self._ranges, 0
        body, closer = self._body(opening)
        self._ranges = ranges
        _must_end(closer, opening)
        name, start = opening.action.name or b"", opening.action.name_start
        if name == OUTERMOST:
            self.root_definition = opening.base + start, opening.base + opening.action.end
        if _is_empty(self.templates.get(name, ())):
            self.templates[name] = body
            if len(self.templates) > MOST_TEMPLATES:
                raise opening.mistake(f"more than {MOST_TEMPLATES} templates are defined")
        elif not _is_empty(body):
            raise opening.mistake(f"the template `{name.decode()}` is defined twice", start=start)

    def _node(self, statement: _ReadAction) -> nodes.Node:
        keyword = statement.action.keyword
        match keyword:
            case "":
                return nodes.Output(statement.base, statement.pipeline)
            case "if" | "with":
                return self._branch(statement, keyword)
            case "range":
                self._ranges += 1
                body, closer = self._body(statement)
                self._ranges -= 1
                return nodes.Range(statement.base, statement.pipeline, body, self._otherwise(statement, closer))
            case "break" | "continue":
                if not self._ranges:
                    raise statement.mistake(f"there is no `range` to {keyword}")
                return nodes.Jump(statement.base, keyword)
            case "define":
                raise statement.mistake("a template is defined at the outermost level only")
        if keyword == "block":
            self._definition(statement)
        action = statement.action
        return nodes.Call(statement.base, action.name or b"", action.pipeline, action.start, action.end)

    def _branch(self, statement: _ReadAction, keyword: str) -> nodes.Branch:
        body, closer = self._body(statement)
        if closer.action.keyword == f"else {keyword}":
            self._nest(closer)
            otherwise: nodes.Body = (self._branch(closer, keyword),)
            self._depth -= 1
        else:
            otherwise = self._otherwise(statement, closer)
        return nodes.Branch(statement.base, statement.pipeline, keyword == "with", body, otherwise)

    def _otherwise(self, opening: _ReadAction, closer: _ReadAction) -> nodes.Body:
        body: nodes.Body = ()
        if closer.action.keyword == "else":
            body, closer = self._body(opening)
        _must_end(closer, opening)
        return body


def _must_end(closer: _ReadAction, opening: _ReadAction) -> None:
    if closer.action.keyword != "end":
        message = f"`{closer.action.keyword}` does not belong to `{opening.action.keyword}`"
        raise closer.mistake(message, "close it with `{{end}}` first")


def _is_empty(body: nodes.Body) -> bool:
    return all(isinstance(node, nodes.TextNode) and not trim_space(node.value) for node in body)
