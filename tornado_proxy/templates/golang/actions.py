"""The text of one action parsed by the grammar `gotemplate.lark` into nodes, with messages for what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import TypeAlias

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from tornado_proxy.templates.errors import TemplateMistake
from tornado_proxy.templates.golang.literals import NumberError, QuotingError, character, number, unquote, unquote_char
from tornado_proxy.templates.golang.nodes import (
    ActionNode,
    BoolLiteral,
    Chain,
    CommandNode,
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
from tornado_proxy.templates.golang.scanner import Inside
from tornado_proxy.templates.golang.text import is_digit, is_letter

KEYWORDS = frozenset(
    (
        *("block", "break", "continue", "define", "else", "end", "if", "range", "template", "with"),
        *("false", "nil", "true"),
    )
)
_Declaration: TypeAlias = tuple[tuple[str, ...], bool, int]


class ToAction(Transformer[Token, ActionNode]):
    """One method a rule of the grammar; what has the form of a literal but is none raises `TemplateMistake`."""

    def output(self, children: list[Pipeline]) -> ActionNode:
        """A pipeline to be printed."""
        (pipeline,) = children
        return ActionNode(pipeline.start, pipeline.end, pipeline=pipeline)

    def control(self, children: list[Token | Pipeline]) -> ActionNode:
        """A keyword, or two after `else`, with the name and the pipeline that follow."""
        pipeline = children[-1] if isinstance(children[-1], Pipeline) else None
        tokens = [child for child in children if isinstance(child, Token)]
        words = [str(token) for token in tokens if token.type not in ("STRING", "RAW")]
        start, name = _span(tokens[0])[0], tokens[-1]
        end = pipeline.end if pipeline else _span(name)[1]
        if len(words) == len(tokens):
            return ActionNode(start, end, " ".join(words), pipeline)
        return ActionNode(start, end, " ".join(words), pipeline, _string(name).value, _span(name)[0])

    def pipeline(self, children: list[_Declaration | CommandNode]) -> Pipeline:
        """Commands, after the variables that take their result."""
        commands = tuple(child for child in children if isinstance(child, CommandNode))
        start, end = commands[0].start, commands[-1].end
        first = children[0]
        if isinstance(first, CommandNode):
            return Pipeline(start, end, (), False, commands)
        variables, assigns, start = first
        return Pipeline(start, end, variables, assigns, commands)

    def declaration(self, tokens: list[Token]) -> _Declaration:
        """The variables before `:=` or `=`."""
        names = tuple(_word(token) for token in tokens if token.type == "DECLARED")
        return names, tokens[-1] == "=", _span(tokens[0])[0]

    def command(self, operands: list[Operand]) -> CommandNode:
        """An operand and its arguments."""
        return CommandNode(operands[0].start, operands[-1].end, tuple(operands))

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


_PACKAGE = Path(__file__).parents[2]
FOLDERS = (_PACKAGE / "grammar", _PACKAGE.parent / "grammar")
"""Where the grammar is: in the package when it was installed from a wheel, beside it in a checkout."""


def grammar_text(folders: Iterable[Path] = FOLDERS) -> str:
    """The grammar as written, from the first folder that has it; raises FileNotFoundError where none has."""
    for folder in folders:
        path = folder / "gotemplate.lark"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise FileNotFoundError("the grammar `gotemplate.lark` is not part of this installation")


@cache
def action_parser() -> Lark:
    """The parser of an action's text; it makes nodes, not Lark's trees."""
    return Lark(grammar_text(), parser="lalr", maybe_placeholders=False, transformer=ToAction())


_WORD = re.compile(r"(?:[.$]?\w+|[.$])(?P<next>[^\s\w])")
_HEADER = re.compile(r"\.Request\.Header\.(?P<name>[\w-]+)")

_HELP = {
    "+": "arithmetic is done by functions: `add 1 2`",
    "-": "arithmetic is done by functions: `sub 2 1`",
    "*": "arithmetic is done by functions: `mul 2 3`",
    "/": "arithmetic is done by functions: `div 6 3`",
    "=": "values are compared by functions: `eq .A .B`; white space stands before an assignment's `=`",
    "!": "values are compared by functions: `ne .A .B`, and negated by `not`",
    "<": "values are compared by functions: `lt .A .B`",
    ">": "values are compared by functions: `gt .A .B`",
    "&": "conditions are joined by functions: `and .A .B`",
    "?": "a choice is an `if`, or `ternary`",
    "[": 'elements are read by a function: `index .List 0`, `index .Map "key"`',
    "(": "arguments follow their function after white space, without parentheses: `print 1 2`",
    ",": "arguments are parted by white space",
    "{": "an action cannot stand in an action",
}


def parse_action(inside: Inside) -> ActionNode:
    """The action's node, with offsets in its own text; raises `TemplateMistake` with offsets in the template."""
    try:
        return _parse(inside.text)
    except TemplateMistake as mistake:
        end = None if mistake.end is None else mistake.end + inside.start
        raise TemplateMistake(str(mistake), mistake.offset + inside.start, end, mistake.help) from None


@lru_cache(maxsize=4096)
def _parse(text: str) -> ActionNode:
    # A set of rules repeats its actions, `{{ .Key }}` before all: each is parsed once.
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
    found = str(error.token).strip() or "white space"
    cure = f'write `index .Groups "{found[1:]}"`' if text[:start].endswith(".Groups") else _HELP.get(found)
    return TemplateMistake(f"`{found}` cannot stand here", start, start + len(found), cure)


def _unexpected_character(text: str, position: int) -> TemplateMistake:
    word = _WORD.match(text, position)
    at = position if word is None else word.start("next")
    char = text[at]
    if word is None:
        return TemplateMistake(f"`{char}` cannot stand here", at, at + 1, _HELP.get(char))
    header = next((found for found in _HEADER.finditer(text) if found.start() < at < found.end()), None)
    cure = f'write `.Request.Header.Get "{header["name"]}"`' if header else _HELP.get(char)
    return TemplateMistake(f"`{char}` cannot follow `{text[position:at]}` without white space", at, at + 1, cure)
