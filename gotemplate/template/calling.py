"""Functions, methods and fields of templates, and the conversion of arguments to parameters (exec.go)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from gotemplate.template import values as go
from gotemplate.template.errors import RenderBudget, TemplateMistake, help_for_unknown
from gotemplate.template.nodes import KEYWORDS, Constant
from gotemplate.template.text import Number

# Names that each reading of a field looks up are not qualified.
from gotemplate.template.values import INVALID, ExecutionError, Map, Nil, Struct, Value, type_of


class Parameter(msgspec.Struct, frozen=True, eq=False):
    """A parameter of a Go type: `convert` and `literal` convert values and literals, or raise `ExecutionError`."""

    name: str
    convert: Callable[[Value], Value]
    literal: Callable[[Constant], Value]


class Function(msgspec.Struct, frozen=True, eq=False):
    """A function of templates: its implementation, its parameters, and the parameter of any further arguments.

    The implementation receives the right number of arguments, already converted, and raises `ExecutionError` where Go
    returns an error or panics. If `budgeted` is set, it receives the `RenderBudget` before its arguments. If `special`
    is set, it receives the run, dot and a list of closures, and evaluates each argument by calling its closure.
    """

    call: Callable[..., Value]
    parameters: tuple[Parameter, ...] = ()
    rest: Parameter | None = None
    budgeted: bool = False
    special: bool = False

    def accepts(self, count: int) -> bool:
        """Whether the function can be called with this number of arguments."""
        return count >= len(self.parameters) if self.rest else count == len(self.parameters)

    def parameter(self, index: int) -> Parameter:
        """Returns the parameter of the argument at an index."""
        if index < len(self.parameters):
            return self.parameters[index]
        assert self.rest is not None
        return self.rest


def function(call: Callable[..., Value], *parameters: Parameter, rest: Parameter | None = None) -> Function:
    """Returns a function whose implementation needs only its arguments."""
    return Function(call, parameters, rest)


def reading(read: Callable[[Any], Value]) -> Function:
    """Returns a method without arguments that reads the Python object behind its receiver."""
    return Function(lambda receiver: read(receiver.source))


def budgeted(call: Callable[..., Value], *parameters: Parameter, rest: Parameter | None = None) -> Function:
    """Returns a function whose implementation charges its work to the budget."""
    return Function(call, parameters, rest, budgeted=True)


def special(call: Callable[..., Value], *parameters: Parameter, rest: Parameter | None = None) -> Function:
    """Returns a function that decides itself which of its arguments are evaluated, or that needs the run."""
    return Function(call, parameters, rest, special=True)


_LITERALS: Mapping[type, str] = {bool: "a bool", Number: "a number", bytes: "a string"}


def wrong_type(value: Value, expected: str) -> ExecutionError:
    """Returns the error for a value or a literal that a parameter does not accept."""
    if isinstance(value, Constant):
        kind = _LITERALS.get(type(value.value), "nil")
    else:
        kind = "no value" if value is INVALID else f"`{go.type_name(value)}`"
    return ExecutionError(f"expected `{expected}`, found {kind}")


def ideal(literal: Constant) -> Value:
    """Returns the value of a literal where no type is expected; raises `ExecutionError` for nil."""
    number = literal.value
    if number is None:
        raise ExecutionError("`nil` is not a command")
    if not isinstance(number, Number):
        return number
    if number.complex is not None:
        return number.complex
    if number.looks_floating:
        return number.floating
    if number.integer is None:
        raise ExecutionError(f"`{number.text}` overflows an int")
    return number.integer


def exactly(cls: type, name: str, form: str = "") -> Parameter:
    """Returns a parameter of a Python type; `form` is the attribute of `Number` that a numeric literal is read from."""

    def convert(value: Value) -> Value:
        if type(value) is cls:
            return value
        raise wrong_type(value, name)

    def convert_literal(literal: Constant) -> Value:
        value = getattr(literal.value, form, None) if form else literal.value
        if type(value) is cls:
            return value
        raise wrong_type(literal, name)

    return Parameter(name, convert, convert_literal)


def struct_of(name: str) -> Parameter:
    """Returns a parameter that accepts the structs of one type, and no literals."""

    def convert(value: Value) -> Struct:
        if isinstance(value, Struct) and value.type.name == name:
            return value
        raise wrong_type(value, name)

    return Parameter(name, convert, convert)


def _convert_any(value: Value) -> Value:
    # Go converts an interface with methods, even a nil one, to an interface{} without any; an absent user is kept.
    if type(value) is Struct and value.boxed:
        return Struct(value.type, value.source)
    return None if value is INVALID or (type(value) is Nil and value.type.kind == "interface") else value


def _convert_map(value: Value) -> Map:
    if go.is_string_map(value):
        return value  # type: ignore[no-any-return]
    if value is INVALID or (isinstance(value, Constant) and value.value is None):
        return Map((), nil=True)
    raise wrong_type(value, go.ANY_MAP.name)


STRING = exactly(bytes, "string")
BOOL = exactly(bool, "bool")
INT = exactly(int, "int", "integer")
FLOAT = exactly(float, "float64", "floating")
ANY = Parameter("interface {}", _convert_any, lambda literal: None if literal.value is None else ideal(literal))
REFLECTED = Parameter(
    "reflect.Value", lambda value: value, lambda literal: INVALID if literal.value is None else ideal(literal)
)
MAP = Parameter(go.ANY_MAP.name, _convert_map, _convert_map)


def read(receiver: Value, name: bytes, budget: RenderBudget) -> Value:
    """Returns a field, a key's value or a method's result by its name; of `INVALID`, `INVALID`."""
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
    if isinstance(receiver, Map):
        return receiver.lookup(name)
    raise ExecutionError(f"`{type_of(receiver).name}` has no field `{name.decode()}`")


def method_of(receiver: Value, name: bytes) -> Function | None:
    """Returns the method of that name, or None if the receiver's type does not have it."""
    if receiver is None or receiver is INVALID:
        return None
    method: Function | None = type_of(receiver).methods.get(name)
    return method


def call_method(
    method: Function,
    receiver: Value,
    name: bytes,
    arguments: Sequence[Callable[[Parameter], Value]],
    budget: RenderBudget,
) -> Value:
    """Calls a method with arguments that are evaluated for its parameters."""
    if not method.accepts(len(arguments)):
        raise ExecutionError(f"wrong number of arguments for the method `{name.decode()}`: {len(arguments)}")
    values = [argument(method.parameter(index)) for index, argument in enumerate(arguments)]
    budget.spend(1 + (sum(len(each) for each in values if type(each) is bytes) >> 4))
    result = method.call(budget, receiver, *values) if method.budgeted else method.call(receiver, *values)
    if type(result) is bytes:
        budget.spend(len(result) >> 4)
    return result


class Vocabulary(msgspec.Struct, frozen=True, eq=False):
    """The functions by name, the names of known but refused functions with the reasons, and the names of the data."""

    functions: Mapping[str, Function]
    refused: Mapping[str, str] = {}
    data: Collection[str] = ()

    def unknown(self, name: str, start: int) -> TemplateMistake:
        """Returns the mistake for a name that is not the name of a function."""
        end = start + len(name)
        if name in self.refused:
            return TemplateMistake(f"the function `{name}` is refused: {self.refused[name]}", start, end)
        if name in KEYWORDS:
            return TemplateMistake(f"the keyword `{name}` is not allowed here", start, end)
        message = f"unknown function `{name}`"
        if name.capitalize() in self.data:
            advice = f"did you mean `.{name.capitalize()}`? data is read with a dot before its name"
            return TemplateMistake(message, start, end, advice)
        return TemplateMistake(message, start, end, help_for_unknown(name, self.functions))


UNKNOWN = special(lambda _run, _dot, _arguments: INVALID, rest=ANY)
"""Replaces a function that does not exist, so that its arguments are still checked for mistakes."""
