"""The syntax tree of a Go template: what stands inside actions, and what actions and text make together.

Offsets are code points. Inside an action they count from the action's own text, so that equal actions share one
parsed tree; `Statement.base` says where that text begins in the template.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tornado_proxy.templates.golang.numbers import Number


@dataclass(frozen=True, slots=True)
class ExpressionNode:
    """Something inside an action, with its place in the action's text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Dot(ExpressionNode):
    """The cursor, spelled `.`."""


@dataclass(frozen=True, slots=True)
class NilLiteral(ExpressionNode):
    """The untyped nil."""


@dataclass(frozen=True, slots=True)
class BoolLiteral(ExpressionNode):
    """True or false."""

    value: bool


@dataclass(frozen=True, slots=True)
class NumberLiteral(ExpressionNode):
    """A number or a character, whose type depends on where it stands."""

    number: Number


@dataclass(frozen=True, slots=True)
class StringLiteral(ExpressionNode):
    """A string, interpreted or raw."""

    value: bytes


@dataclass(frozen=True, slots=True)
class FieldChain(ExpressionNode):
    """Fields, keys or methods of dot: `.X.Y`."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variable(ExpressionNode):
    """A variable, `$` among them, and what is read from it: `$x.Y`."""

    name: str
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Identifier(ExpressionNode):
    """The name of a function."""

    name: str


@dataclass(frozen=True, slots=True)
class Chain(ExpressionNode):
    """Fields of what an operand gives: `(…).X`, `f.X`."""

    operand: Operand
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommandNode(ExpressionNode):
    """An operand and its arguments."""

    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pipeline(ExpressionNode):
    """Commands, each given the result of the one before; `variables` take the last result."""

    variables: tuple[str, ...]
    assigns: bool
    commands: tuple[CommandNode, ...]


Literal: TypeAlias = BoolLiteral | NumberLiteral | StringLiteral | NilLiteral
Operand: TypeAlias = Dot | Literal | FieldChain | Variable | Identifier | Chain | Pipeline


@dataclass(frozen=True, slots=True)
class ActionNode(ExpressionNode):
    """What one pair of delimiters holds: a keyword and what follows it; no keyword where the pipeline is printed."""

    keyword: str = ""
    pipeline: Pipeline | None = None
    name: bytes | None = None
    name_start: int = 0


@dataclass(frozen=True, slots=True)
class TextNode:
    """Text that is written as it stands."""

    value: bytes


@dataclass(frozen=True, slots=True)
class Statement:
    """An action in its place; `base` is the offset of its text in the template."""

    base: int


@dataclass(frozen=True, slots=True)
class Output(Statement):
    """A pipeline whose value is printed, unless it declares a variable."""

    pipeline: Pipeline


@dataclass(frozen=True, slots=True)
class Branch(Statement):
    """An `if`, or a `with`, which sets dot as well."""

    pipeline: Pipeline
    sets_dot: bool
    body: Body
    otherwise: Body


@dataclass(frozen=True, slots=True)
class Range(Statement):
    """A loop over a list, a map or a number."""

    pipeline: Pipeline
    body: Body
    otherwise: Body


@dataclass(frozen=True, slots=True)
class Call(Statement):
    """The invocation of a template by name; a `block` is one as well."""

    name: bytes
    pipeline: Pipeline | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Jump(Statement):
    """A `break` or a `continue`."""

    leaves: bool


Node: TypeAlias = TextNode | Output | Branch | Range | Call | Jump
Body: TypeAlias = tuple[Node, ...]
