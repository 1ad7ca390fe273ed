"""Functions, methods and fields as templates use them: what parameters take, and what a name stands for (exec.go)."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tornado_proxy.templates.golang.actions import KEYWORDS
from tornado_proxy.templates.golang.nodes import BoolLiteral, Literal, NilLiteral, NumberLiteral, StringLiteral
from tornado_proxy.templates.golang.values import (
    ANY_MAP,
    INVALID,
    ExecutionError,
    Map,
    Nil,
    Struct,
    Value,
    is_string_map,
    type_name,
    type_of,
)
from tornado_proxy.templates.template import RenderBudget, TemplateMistake


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """What a parameter of one Go type takes; `name` is the type's.

    `convert` gives a value as the function gets it, `literal` a literal's value; both raise `ExecutionError`.
    """

    name: str
    convert: Callable[[Value], Value]
    literal: Callable[[Literal], Value]


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function of templates: its implementation, its parameters, and that of the arguments beyond them.

    Arguments are counted and converted before the implementation sees them, which raises `ExecutionError` where Go
    returns an error or panics. A `budgeted` one gets the `RenderBudget` before its arguments. A `special` one gets the
    run, dot, and closures of its arguments, which it evaluates as far as it needs them.
    """

    call: Callable[..., Value]
    parameters: tuple[Parameter, ...] = ()
    rest: Parameter | None = None
    budgeted: bool = False
    special: bool = False

    def accepts(self, count: int) -> bool:
        """Whether it can be called with this number of arguments."""
        return count >= len(self.parameters) if self.rest else count == len(self.parameters)

    def parameter(self, index: int) -> Parameter:
        """What takes the argument of that index."""
        if index < len(self.parameters):
            return self.parameters[index]
        assert self.rest is not None
        return self.rest


def function(call: Callable[..., Value], *parameters: Parameter, rest: Parameter | None = None) -> Function:
    """A function whose implementation needs its arguments only."""
    return Function(call, parameters, rest)


def reading(read: Callable[[Any], Value]) -> Function:
    """A method without arguments that reads the Python object behind its receiver."""
    return Function(lambda receiver: read(receiver.source))


def budgeted(call: Callable[..., Value], *parameters: Parameter, rest: Parameter | None = None) -> Function:
    """A function whose implementation accounts for the work it does."""
    return Function(call, parameters, rest, budgeted=True)


def special(call: Callable[..., Value], *parameters: Parameter, rest: Parameter | None = None) -> Function:
    """A function that decides itself which of its arguments are evaluated, or that needs the run."""
    return Function(call, parameters, rest, special=True)


def wrong_type(value: Value, expected: str) -> ExecutionError:
    """What is raised where a value cannot be what a parameter expects."""
    if value is INVALID:
        return ExecutionError(f"there is no value where a `{expected}` is expected")
    return ExecutionError(f"a `{expected}` is expected, not a `{type_name(value)}`")


def wrong_literal(literal: Literal, expected: str) -> ExecutionError:
    """What is raised where a literal cannot be what a parameter expects."""
    kinds = {BoolLiteral: "bool", NumberLiteral: "number", StringLiteral: "string", NilLiteral: "nil"}
    return ExecutionError(f"a `{expected}` is expected, not a {kinds[type(literal)]}")


def ideal(literal: Literal) -> Value:
    """The value of a literal where nothing asks for a type; nil has none there."""
    match literal:
        case StringLiteral() | BoolLiteral():
            return literal.value
        case NilLiteral():
            raise ExecutionError("`nil` cannot stand alone")
    number = literal.number
    if number.complex is not None:
        return number.complex
    if number.looks_floating:
        return number.floating
    if number.integer is None:
        raise ExecutionError(f"`{number.text}` overflows an int")
    return number.integer


def exactly(cls: type, name: str, literal: Callable[[Literal], Value | None]) -> Parameter:
    """A parameter that takes values of one Python type, and literals that a function finds a value of."""

    def convert(value: Value) -> Value:
        if type(value) is cls:
            return value
        raise wrong_type(value, name)

    return Parameter(name, convert, _literal_of(name, literal))


def _literal_of(name: str, read: Callable[[Literal], Value | None]) -> Callable[[Literal], Value]:
    def convert(literal: Literal) -> Value:
        value = read(literal)
        if value is None:
            raise wrong_literal(literal, name)
        return value

    return convert


def struct_of(name: str) -> Parameter:
    """A parameter that takes the structs of one type, which no literal is."""

    def convert(value: Value) -> Struct:
        if isinstance(value, Struct) and value.type.name == name:
            return value
        raise wrong_type(value, name)

    return Parameter(name, convert, _literal_of(name, lambda _literal: None))


def _convert_any(value: Value) -> Value:
    # An interface with methods loses them here, a nil one too; an absent user stays what it is.
    if type(value) is Struct and value.boxed:
        return Struct(value.type, value.source)
    return None if value is INVALID or (type(value) is Nil and value.type.kind == "interface") else value


def _any_literal(literal: Literal) -> Value:
    return None if isinstance(literal, NilLiteral) else ideal(literal)


def _reflected_literal(literal: Literal) -> Value:
    return INVALID if isinstance(literal, NilLiteral) else ideal(literal)


def _convert_map(value: Value) -> Map:
    if value is INVALID:
        return Map((), nil=True)
    if is_string_map(value):
        return value  # type: ignore[no-any-return]
    raise wrong_type(value, ANY_MAP.name)


STRING = exactly(bytes, "string", lambda literal: literal.value if isinstance(literal, StringLiteral) else None)
BOOL = exactly(bool, "bool", lambda literal: literal.value if isinstance(literal, BoolLiteral) else None)
INT = exactly(int, "int", lambda literal: literal.number.integer if isinstance(literal, NumberLiteral) else None)
FLOAT = exactly(
    float, "float64", lambda literal: literal.number.floating if isinstance(literal, NumberLiteral) else None
)
ANY = Parameter("interface {}", _convert_any, _any_literal)
REFLECTED = Parameter("reflect.Value", lambda value: value, _reflected_literal)
MAP = Parameter(
    ANY_MAP.name,
    _convert_map,
    _literal_of(ANY_MAP.name, lambda literal: Map((), nil=True) if isinstance(literal, NilLiteral) else None),
)


def read(receiver: Value, name: bytes, budget: RenderBudget) -> Value:
    """The field, the key, or the result of the method of that name; what is read from no value is not a value."""
    if type(receiver) is Struct:
        getter = receiver.type.getters.get(name)
        if getter is not None:
            return getter(receiver.source)
    elif receiver is INVALID:
        return INVALID
    method = method_of(receiver, name)
    if method is not None:
        return call_method(method, receiver, name, (), budget)
    if receiver is None or isinstance(receiver, Nil):
        raise ExecutionError(f"`{name.decode()}` is read from nil")
    reason = type_of(receiver).refused.get(name)
    if reason is not None:
        raise ExecutionError(f"the member `{name.decode()}` is refused: {reason}")
    if isinstance(receiver, Map):
        return receiver.lookup(name)
    raise ExecutionError(f"a `{type_of(receiver).name}` has no field `{name.decode()}`")


def method_of(receiver: Value, name: bytes) -> Function | None:
    """The method of that name; None where the receiver's type has none."""
    if receiver is None or receiver is INVALID:
        return None
    method: Function | None = type_of(receiver).methods.get(name)
    return method


def call_method(
    method: Function, receiver: Value, name: bytes, arguments: Sequence[Value], budget: RenderBudget
) -> Value:
    """The method's result for arguments that are converted already; their number is checked here."""
    if not method.accepts(len(arguments)):
        raise ExecutionError(f"the method `{name.decode()}` does not take {len(arguments)} arguments")
    budget.spend(1 + (sum(len(each) for each in arguments if type(each) is bytes) >> 4))
    result = method.call(budget, receiver, *arguments) if method.budgeted else method.call(receiver, *arguments)
    if type(result) is bytes:
        budget.spend(len(result) >> 4)
    return result


# What a rule's template reads, by the names that it has in other dialects.
_DATA: Mapping[str, str] = {
    "user": ".User.Username",
    "username": ".User.Username",
    "email": ".User.GetEmail",
    "request": ".Request",
    "target": ".Target",
    "key": ".Key",
    "groups": ".Groups",
}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The functions by name, and the names that are known and refused, each with the reason."""

    functions: Mapping[str, Function]
    refused: Mapping[str, str] = field(default_factory=dict)

    def mistakes(self, name: str, start: int) -> Iterator[TemplateMistake]:
        """What is wrong with a name, unless a function has it."""
        if name in self.functions:
            return
        end = start + len(name)
        if name in self.refused:
            yield TemplateMistake(f"the function `{name}` is refused: {self.refused[name]}", start, end)
        elif name in KEYWORDS:
            yield TemplateMistake(f"the keyword `{name}` cannot stand here", start, end)
        else:
            yield TemplateMistake(f"unknown function `{name}`", start, end, self._advice(name))

    def _advice(self, name: str) -> str | None:
        if name.casefold() in _DATA:
            return f"did you mean `{_DATA[name.casefold()]}`? data is read with a dot before its name"
        meant = difflib.get_close_matches(name, self.functions, n=1)
        return f"did you mean `{meant[0]}`?" if meant else None
