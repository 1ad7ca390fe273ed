"""What Lark finds in an action, made into nodes while it parses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from lark import Token, Transformer

from tornado_proxy.templates.errors import TemplateMistake
from tornado_proxy.templates.golang.constants import NumberError, character, number
from tornado_proxy.templates.golang.nodes import (
    Action,
    BoolLiteral,
    Chain,
    Command,
    Dot,
    FieldChain,
    Identifier,
    NilLiteral,
    NumberLiteral,
    Operand,
    Pipeline,
    StringLiteral,
    Variable,
)
from tornado_proxy.templates.golang.quoting import QuotingError, unquote, unquote_char
from tornado_proxy.templates.golang.text import is_digit, is_letter

KEYWORDS = frozenset(
    (
        *("block", "break", "continue", "define", "else", "end", "if", "range", "template", "with"),
        *("false", "nil", "true"),
    )
)
_Declaration: TypeAlias = tuple[tuple[str, ...], bool, int]


class ToAction(Transformer[Token, Action]):
    """One method a rule of the grammar; what has the form of a literal but is none raises `TemplateMistake`."""

    def output(self, children: list[Pipeline]) -> Action:
        """A pipeline to be printed."""
        (pipeline,) = children
        return Action(pipeline.start, pipeline.end, pipeline=pipeline)

    def control(self, children: list[Token | Pipeline]) -> Action:
        """A keyword, or two after `else`, with the name and the pipeline that follow."""
        pipeline = children[-1] if isinstance(children[-1], Pipeline) else None
        tokens = [child for child in children if isinstance(child, Token)]
        words = [str(token) for token in tokens if token.type not in ("STRING", "RAW")]
        start, name = _span(tokens[0])[0], tokens[-1]
        end = pipeline.end if pipeline else _span(name)[1]
        if len(words) == len(tokens):
            return Action(start, end, " ".join(words), pipeline)
        return Action(start, end, " ".join(words), pipeline, _string(name).value, _span(name)[0])

    def pipeline(self, children: list[_Declaration | Command]) -> Pipeline:
        """Commands, after the variables that take their result."""
        commands = tuple(child for child in children if isinstance(child, Command))
        start, end = commands[0].start, commands[-1].end
        first = children[0]
        if isinstance(first, Command):
            return Pipeline(start, end, (), False, commands)
        variables, assigns, start = first
        return Pipeline(start, end, variables, assigns, commands)

    def declaration(self, tokens: list[Token]) -> _Declaration:
        """The variables before `:=` or `=`."""
        names = tuple(_word(token) for token in tokens if token.type == "DECLARED")
        return names, tokens[-1] == "=", _span(tokens[0])[0]

    def command(self, operands: list[Operand]) -> Command:
        """An operand and its arguments."""
        return Command(operands[0].start, operands[-1].end, tuple(operands))

    def operand(self, children: list[Token | Pipeline]) -> Operand:
        """A term, and the fields that follow it without white space."""
        tokens = [child for child in children if isinstance(child, Token)]
        pipeline = next((child for child in children if isinstance(child, Pipeline)), None)
        if pipeline is None:
            term, fields = _TERMS[tokens[0].type](tokens[0]), tokens[1:]
        else:
            term, fields = _parenthesised(tokens[0], pipeline, tokens[1]), tokens[2:]
        if not fields:
            return term
        return _with_fields(term, tuple(_word(field)[1:] for field in fields), _span(fields[-1])[1])


def _span(token: Token) -> tuple[int, int]:
    start = token.start_pos or 0
    return start, start + len(token)


def _word(token: Token) -> str:
    """The token's text; of what Python takes for a letter or a digit, Go's names may not hold all."""
    text = str(token)
    for offset, char in enumerate(text):
        if not char.isascii() and not is_letter(char) and not is_digit(char):
            start = _span(token)[0] + offset
            raise TemplateMistake(f"`{char}` cannot stand in a name", start, start + 1)
    return text


def _parenthesised(opening: Token, pipeline: Pipeline, closing: Token) -> Operand:
    start, end = _span(opening)[0], _span(closing)[1]
    return Pipeline(start, end, pipeline.variables, pipeline.assigns, pipeline.commands)


def _with_fields(term: Operand, names: tuple[str, ...], end: int) -> Operand:
    match term:
        case FieldChain():
            return FieldChain(term.start, end, term.names + names)
        case Variable():
            return Variable(term.start, end, term.name, names)
        case Pipeline() | Identifier():
            return Chain(term.start, end, term, names)
    raise TemplateMistake("a constant, or the cursor, has no fields", term.start, end)


def _string(token: Token) -> StringLiteral:
    start, end = _span(token)
    try:
        return StringLiteral(start, end, unquote(str(token)))
    except QuotingError as error:
        at = start + error.offset
        raise TemplateMistake(str(error), at, at + 2, "backticks enclose a string that knows no escapes") from None


def _character(token: Token) -> NumberLiteral:
    start, end = _span(token)
    try:
        return NumberLiteral(start, end, character(str(token), unquote_char(str(token))))
    except QuotingError as error:
        raise TemplateMistake(str(error), start, end) from None


def _number(token: Token) -> NumberLiteral:
    start, end = _span(token)
    try:
        return NumberLiteral(start, end, number(str(token)))
    except NumberError as error:
        raise TemplateMistake(str(error), start, end) from None


def _identifier(token: Token) -> Identifier:
    return Identifier(*_span(token), _word(token))


_TERMS: dict[str, Callable[[Token], Operand]] = {
    "DOT": lambda token: Dot(*_span(token)),
    "NIL": lambda token: NilLiteral(*_span(token)),
    "TRUE": lambda token: BoolLiteral(*_span(token), True),
    "FALSE": lambda token: BoolLiteral(*_span(token), False),
    "NUMBER": _number,
    "CHARACTER": _character,
    "STRING": _string,
    "RAW": _string,
    "FIELD": lambda token: FieldChain(*_span(token), (_word(token)[1:],)),
    "VARIABLE": lambda token: Variable(*_span(token), _word(token)),
    "IDENTIFIER": _identifier,
}
