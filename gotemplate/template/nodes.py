"""The syntax tree of a Go template, and the parser of an action with Lark and the grammar `gotemplate.lark`.

Offsets are in code points. Inside an action they count from the start of the action's own text, so that equal actions
share one parsed tree; `Statement.base` is the offset of that text in the template.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedToken
from msgspec.structs import replace

from gotemplate.template import text as go_text
from gotemplate.template.errors import TemplateMistake


class ExpressionNode(msgspec.Struct, frozen=True):
    """A part of an action, with its place in the action's text."""

    start: int
    end: int


class Dot(ExpressionNode, frozen=True):
    """Dot, written `.`; its text is empty if fields are read from it, as in `.X`."""


class Constant(ExpressionNode, frozen=True):
    """A string, a bool, nil as None, or a number or character, whose type depends on where it is used."""

    value: bytes | bool | go_text.Number | None


class Variable(ExpressionNode, frozen=True):
    """A variable; `$` is one too."""

    name: str


class Identifier(ExpressionNode, frozen=True):
    """The name of a function."""

    name: str


class Chain(ExpressionNode, frozen=True):
    """Fields, keys or methods of an operand: `.X.Y`, `$x.Y`, `(…).Y`."""

    operand: Operand
    fields: tuple[str, ...]


class Pipeline(ExpressionNode, frozen=True):
    """Commands in a row, each with the result of the one before; `:=` sets `variables`, or `=` if `assigns`."""

    variables: tuple[str, ...]
    assigns: bool
    commands: tuple[Command, ...]


Operand: TypeAlias = Dot | Constant | Variable | Identifier | Chain | Pipeline
Command: TypeAlias = tuple[Operand, ...]  # an operand and its arguments


class ActionNode(ExpressionNode, frozen=True):
    """The content of one pair of delimiters; `keyword` is empty if the pipeline is printed."""

    keyword: str = ""
    pipeline: Pipeline | None = None
    name: bytes | None = None
    name_start: int = 0


class TextNode(msgspec.Struct, frozen=True):
    """Text that is written without changes."""

    value: bytes


class Statement(msgspec.Struct, frozen=True):
    """An action at its place; `base` is the offset of its text in the template."""

    base: int


class Output(Statement, frozen=True):
    """A pipeline whose value is printed, unless it declares a variable."""

    pipeline: Pipeline


class Branch(Statement, frozen=True):
    """An `if`, or a `with`, which also sets dot."""

    pipeline: Pipeline
    sets_dot: bool
    body: Body
    otherwise: Body


class Range(Statement, frozen=True):
    """A loop over a list, a map or a number."""

    pipeline: Pipeline
    body: Body
    otherwise: Body


class Call(Statement, frozen=True):
    """The invocation of a template by name; a `block` is an invocation too."""

    name: bytes
    pipeline: Pipeline | None
    start: int
    end: int


class Jump(Statement, frozen=True):
    """A `break` or a `continue`."""

    keyword: str


Node: TypeAlias = TextNode | Output | Branch | Range | Call | Jump
Body: TypeAlias = tuple[Node, ...]

_CONSTANTS = {"nil": None, "true": True, "false": False}
_CONTROL = ("block", "break", "continue", "define", "else", "end", "if", "range", "template", "with")
KEYWORDS = frozenset((*_CONTROL, *_CONSTANTS))


class _ToAction(Transformer[Token, ActionNode]):
    """A transformer with a method for each rule of the grammar; an invalid literal raises `TemplateMistake`."""

    def output(self, children: list[Pipeline]) -> ActionNode:
        (pipeline,) = children
        return ActionNode(pipeline.start, pipeline.end, pipeline=pipeline)

    def control(self, children: list[Any]) -> ActionNode:
        """Returns the action of a keyword, or of two after `else`, with the name and the pipeline that follow."""
        pipeline = children.pop() if isinstance(children[-1], Pipeline) else None
        start, (name_start, end) = _span(children[0])[0], _span(children[-1])
        name = _literal(children.pop()).value if children[-1].type == "STRING" else None
        assert not isinstance(name, bool | go_text.Number)
        keyword = " ".join(children[0].split())
        return ActionNode(start, pipeline.end if pipeline else end, keyword, pipeline, name, name_start)

    def pipeline(self, children: list[Any]) -> Pipeline:
        if not isinstance(children[0], Pipeline):
            children.insert(0, Pipeline(children[0][0].start, 0, (), False, ()))
        declaration: Pipeline = children[0]
        commands: list[Command] = children[1:]
        return replace(declaration, end=commands[-1][-1].end, commands=tuple(commands))

    def declaration(self, tokens: list[Token]) -> Pipeline:
        """Returns the variables before `:=` or `=` as a pipeline without commands."""
        names = tuple(_word(token) for token in tokens if token.type == "DECLARED")
        return Pipeline(*_span(tokens[0]), names, tokens[-1].startswith("="), ())

    def command(self, operands: list[Operand]) -> Command:
        return tuple(operands)

    def operand(self, children: list[Any]) -> Operand:
        """Returns a term with the fields that follow it without white space."""
        first, *fields = children
        start, end = _span(first)
        term: Operand
        if first.type == "OPEN":
            pipeline, closing, *fields = fields
            term = replace(pipeline, start=start, end=_span(closing)[1])
        elif first.type == "FIELD":
            term, fields = Dot(start, start), children
        else:
            term = _term(first)
        if not fields:
            return term
        end = _span(fields[-1])[1]
        if first.type == "DOT":
            advice = "write `" + "".join(map(_word, fields)) + "`"
            raise TemplateMistake("unexpected second dot", start, end, advice)
        if isinstance(term, Constant):
            raise TemplateMistake("a constant has no fields", start, end)
        return Chain(start, end, term, tuple(_word(field)[1:] for field in fields))


def _span(token: Token) -> tuple[int, int]:
    """Returns where a token begins and ends, without the white space that belongs to it."""
    start = token.start_pos or 0
    return start, start + len(token.rstrip())


def _word(token: Token) -> str:
    """Returns the text of a token; raises `TemplateMistake` for a letter or digit that Go does not allow in a name."""
    for offset, char in enumerate(token.rstrip(), _span(token)[0]):
        if not char.isascii() and not go_text.is_letter(char) and not go_text.is_digit(char):
            raise TemplateMistake(f"`{char}` is not allowed in a name", offset, offset + 1)
    return token.rstrip()


def _term(token: Token) -> Dot | Variable | Identifier | Constant:
    match token.type:
        case "DOT":
            return Dot(*_span(token))
        case "VARIABLE":
            return Variable(*_span(token), _word(token))
        case "IDENTIFIER":
            return Identifier(*_span(token), _word(token))
    return _literal(token)


_READERS: dict[str, Callable[[str], bytes | bool | go_text.Number | None]] = {
    "CONSTANT": _CONSTANTS.__getitem__,
    "NUMBER": go_text.number,
    "CHARACTER": lambda text: go_text.Number(text, go_text.unquote_char(text), float(go_text.unquote_char(text))),
    "STRING": go_text.unquote,
}


def _literal(token: Token) -> Constant:
    start, end = _span(token)
    try:
        return Constant(start, end, _READERS[token.type](str(token)))
    except go_text.QuotingError as error:
        at = start + error.offset
        advice = "backticks enclose a string without escapes" if token.startswith('"') else None
        raise TemplateMistake(str(error), at, at + 2, advice) from None
    except go_text.NumberError as error:
        raise TemplateMistake(str(error), start, end) from None


@cache
def action_parser() -> Lark:
    """Returns the parser of an action's text, which makes nodes instead of Lark's trees."""
    text = Path(__file__).with_name("gotemplate.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", maybe_placeholders=False, transformer=_ToAction())


_WORD = re.compile(r"(?:[.$]?\w+|[.$])(?P<next>[^\s\w])")
_HEADER = re.compile(r"\.Request\.Header\.(?P<name>[\w-]+)")

_HELP = {
    **dict.fromkeys("+-*/", "arithmetic is done by functions: `add 1 2`"),
    **dict.fromkeys("!<>", "values are compared by functions: `eq .A .B`"),
    "=": "values are compared by functions: `eq .A .B`; white space stands before an assignment's `=`",
    "&": "conditions are joined by functions: `and .A .B`",
    "?": "a choice is an `if`, or `ternary`",
    "[": 'elements are read by a function: `index .List 0`, `index .Map "key"`',
    "(": "arguments follow their function after white space, without parentheses: `print 1 2`",
    ",": "arguments are parted by white space",
    "{": "an action cannot contain another action",
}


def parse_action(text: str, start: int) -> ActionNode:
    """Parses an action's text, which begins at an offset of the template; raises `TemplateMistake`."""
    try:
        return _parse(text)
    except TemplateMistake as mistake:
        end = None if mistake.end is None else mistake.end + start
        raise TemplateMistake(str(mistake), mistake.offset + start, end, mistake.help) from None


@lru_cache(maxsize=4096)
def _parse(text: str) -> ActionNode:
    # A set of rules repeats its actions, above all `{{ .Key }}`, so each is parsed only once.
    try:
        return action_parser().parse(text)  # type: ignore[return-value]
    except UnexpectedToken as error:
        mistake = _unexpected_token(text, error)
    except UnexpectedCharacters as error:
        mistake = _unexpected_character(text, error.pos_in_stream)  # type: ignore[arg-type]  # an int in fact
    raise mistake


def _unexpected_token(text: str, error: UnexpectedToken) -> TemplateMistake:
    if not text.strip():
        return TemplateMistake("the action is empty", 0, len(text), "a comment is written `{{/* … */}}`")
    if error.token.type == "$END":
        end = text.rstrip()
        return TemplateMistake("the action ends where a value is expected", len(end) - 1, len(end))
    start = error.token.start_pos or 0
    token = str(error.token).strip() or "white space"
    advice = f'write `index .Groups "{token[1:]}"`' if text[:start].endswith(".Groups") else _HELP.get(token)
    return TemplateMistake(f"`{token}` is not allowed here", start, start + len(token), advice)


def _unexpected_character(text: str, position: int) -> TemplateMistake:
    word = _WORD.match(text, position)
    at = position if word is None else word.start("next")
    char = text[at]
    if word is None:
        return TemplateMistake(f"`{char}` is not allowed here", at, at + 1, _HELP.get(char))
    header = next((match for match in _HEADER.finditer(text) if match.start() < at < match.end()), None)
    advice = f'write `.Request.Header.Get "{header["name"]}"`' if header else _HELP.get(char)
    return TemplateMistake(f"`{char}` cannot follow `{text[position:at]}` without white space", at, at + 1, advice)
