"""A template's text cut into plain text and actions, and actions parsed by the grammar `gotemplate.lark` into nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TypeAlias

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from tornado_proxy.templates.golang import nodes
from tornado_proxy.templates.golang.numbers import NumberError, character, number
from tornado_proxy.templates.golang.text import QuotingError, is_digit, is_letter, unquote, unquote_char
from tornado_proxy.templates.template import TemplateMistake

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
    """Where the text goes on after a comment; None if the action is not a comment."""
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


KEYWORDS = frozenset(
    (
        *("block", "break", "continue", "define", "else", "end", "if", "range", "template", "with"),
        *("false", "nil", "true"),
    )
)
_Declaration: TypeAlias = tuple[tuple[str, ...], bool, int]


class ToAction(Transformer[Token, nodes.ActionNode]):
    """Has a method for each rule of the grammar; an invalid literal raises `TemplateMistake`."""

    def output(self, children: list[nodes.Pipeline]) -> nodes.ActionNode:
        """A pipeline to be printed."""
        (pipeline,) = children
        return nodes.ActionNode(pipeline.start, pipeline.end, pipeline=pipeline)

    def control(self, children: list[Token | nodes.Pipeline]) -> nodes.ActionNode:
        """A keyword, or two after `else`, with the name and the pipeline that follow."""
        pipeline = children[-1] if isinstance(children[-1], nodes.Pipeline) else None
        tokens = [child for child in children if isinstance(child, Token)]
        words = [str(token) for token in tokens if token.type not in ("STRING", "RAW")]
        start, name = _span(tokens[0])[0], tokens[-1]
        end = pipeline.end if pipeline else _span(name)[1]
        if len(words) == len(tokens):
            return nodes.ActionNode(start, end, " ".join(words), pipeline)
        return nodes.ActionNode(start, end, " ".join(words), pipeline, _string(name).value, _span(name)[0])

    def pipeline(self, children: list[_Declaration | nodes.CommandNode]) -> nodes.Pipeline:
        """Commands, after the variables that take their result."""
        commands = tuple(child for child in children if isinstance(child, nodes.CommandNode))
        start, end = commands[0].start, commands[-1].end
        first = children[0]
        if isinstance(first, nodes.CommandNode):
            return nodes.Pipeline(start, end, (), False, commands)
        variables, assigns, start = first
        return nodes.Pipeline(start, end, variables, assigns, commands)

    def declaration(self, tokens: list[Token]) -> _Declaration:
        """The variables before `:=` or `=`."""
        names = tuple(_word(token) for token in tokens if token.type == "DECLARED")
        return names, tokens[-1] == "=", _span(tokens[0])[0]

    def command(self, operands: list[nodes.Operand]) -> nodes.CommandNode:
        """An operand and its arguments."""
        return nodes.CommandNode(operands[0].start, operands[-1].end, tuple(operands))

    def operand(self, children: list[Token | nodes.Pipeline]) -> nodes.Operand:
        """A term, and the fields that follow it without white space."""
        tokens = [child for child in children if isinstance(child, Token)]
        pipeline = next((child for child in children if isinstance(child, nodes.Pipeline)), None)
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


def _parenthesised(opening: Token, pipeline: nodes.Pipeline, closing: Token) -> nodes.Operand:
    start, end = _span(opening)[0], _span(closing)[1]
    return nodes.Pipeline(start, end, pipeline.variables, pipeline.assigns, pipeline.commands)


def _with_fields(term: nodes.Operand, names: tuple[str, ...], end: int) -> nodes.Operand:
    match term:
        case nodes.FieldChain():
            return nodes.FieldChain(term.start, end, term.names + names)
        case nodes.Variable():
            return nodes.Variable(term.start, end, term.name, names)
        case nodes.Pipeline() | nodes.Identifier():
            return nodes.Chain(term.start, end, term, names)
    raise TemplateMistake("a constant, or the cursor, has no fields", term.start, end)


def _string(token: Token) -> nodes.StringLiteral:
    start, end = _span(token)
    try:
        return nodes.StringLiteral(start, end, unquote(str(token)))
    except QuotingError as error:
        at = start + error.offset
        raise TemplateMistake(str(error), at, at + 2, "backticks enclose a string that knows no escapes") from None


def _character(token: Token) -> nodes.NumberLiteral:
    start, end = _span(token)
    try:
        return nodes.NumberLiteral(start, end, character(str(token), unquote_char(str(token))))
    except QuotingError as error:
        raise TemplateMistake(str(error), start, end) from None


def _number(token: Token) -> nodes.NumberLiteral:
    start, end = _span(token)
    try:
        return nodes.NumberLiteral(start, end, number(str(token)))
    except NumberError as error:
        raise TemplateMistake(str(error), start, end) from None


def _identifier(token: Token) -> nodes.Identifier:
    return nodes.Identifier(*_span(token), _word(token))


_TERMS: dict[str, Callable[[Token], nodes.Operand]] = {
    "DOT": lambda token: nodes.Dot(*_span(token)),
    "NIL": lambda token: nodes.NilLiteral(*_span(token)),
    "TRUE": lambda token: nodes.BoolLiteral(*_span(token), True),
    "FALSE": lambda token: nodes.BoolLiteral(*_span(token), False),
    "NUMBER": _number,
    "CHARACTER": _character,
    "STRING": _string,
    "RAW": _string,
    "FIELD": lambda token: nodes.FieldChain(*_span(token), (_word(token)[1:],)),
    "VARIABLE": lambda token: nodes.Variable(*_span(token), _word(token)),
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


def parse_action(inside: Inside) -> nodes.ActionNode:
    """The action's node, with offsets in its own text; raises `TemplateMistake` with offsets in the template."""
    try:
        return _parse(inside.text)
    except TemplateMistake as mistake:
        end = None if mistake.end is None else mistake.end + inside.start
        raise TemplateMistake(str(mistake), mistake.offset + inside.start, end, mistake.help) from None


@lru_cache(maxsize=4096)
def _parse(text: str) -> nodes.ActionNode:
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
    advice = f'write `index .Groups "{found[1:]}"`' if text[:start].endswith(".Groups") else _HELP.get(found)
    return TemplateMistake(f"`{found}` cannot stand here", start, start + len(found), advice)


def _unexpected_character(text: str, position: int) -> TemplateMistake:
    word = _WORD.match(text, position)
    at = position if word is None else word.start("next")
    char = text[at]
    if word is None:
        return TemplateMistake(f"`{char}` cannot stand here", at, at + 1, _HELP.get(char))
    header = next((found for found in _HEADER.finditer(text) if found.start() < at < found.end()), None)
    advice = f'write `.Request.Header.Get "{header["name"]}"`' if header else _HELP.get(char)
    return TemplateMistake(f"`{char}` cannot follow `{text[position:at]}` without white space", at, at + 1, advice)
