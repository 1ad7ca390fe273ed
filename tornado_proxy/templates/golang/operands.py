"""The state of one rendering, and pipelines, commands and operands compiled to closures over it (exec.go)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TypeAlias

from tornado_proxy.templates.golang import nodes
from tornado_proxy.templates.golang.calling import (
    ANY,
    Function,
    Parameter,
    call_method,
    ideal,
    method_of,
    read,
    special,
)
from tornado_proxy.templates.golang.values import INVALID, ExecutionError, Value
from tornado_proxy.templates.template import LimitError, RenderBudget, RenderLimits, TemplateMistake

_MANY = 32  # with more variables than anyone writes, looking for one is work
_SHORT = 255  # what is no longer costs no more than the action that writes it


class Leaving(Enum):
    """How a body of a `range` was left before its end."""

    BREAK = "break"
    CONTINUE = "continue"


class Run:
    """One execution of a template and of those that it calls; `helpers` are those defined beside the outermost."""

    __slots__ = ("budget", "depth", "helpers", "names", "out", "size", "templates", "values")

    def __init__(self, templates: Mapping[bytes, Execute], budget: RenderBudget) -> None:
        self.templates = self.helpers = templates
        self.budget = budget
        self.depth = 0
        self.out: list[bytes] = []
        self.size = 0
        self.names: list[str] = []
        self.values: list[Value] = []

    def write(self, text: bytes) -> None:
        """Add to the output, which may not become longer than any other text."""
        size = len(text)
        self.size += size
        if size > _SHORT or self.size > self.budget.limits.text:
            self.budget.spend(size >> 4)
            self.budget.fit(self.size)
        self.out.append(text)

    def declare(self, name: str, value: Value) -> None:
        """Make a variable, which may hide one of the same name."""
        self.names.append(name)
        self.values.append(value)

    def assign(self, name: str, value: Value) -> None:
        """Set the variable of that name that was declared last."""
        self.values[self._index(name)] = value

    def lookup(self, name: str) -> Value:
        """The value of the variable of that name that was declared last."""
        return self.values[self._index(name)]

    def _index(self, name: str) -> int:
        if len(self.names) > _MANY:
            self.budget.spend(len(self.names) >> 4)
        for index in range(len(self.names) - 1, -1, -1):
            if self.names[index] == name:
                return index
        raise ExecutionError(f"the variable `{name}` is not set yet")

    def forget(self, mark: int) -> None:
        """Drops the variables beyond a count."""
        del self.names[mark:]
        del self.values[mark:]

    def invoke(self, body: Execute, dot: Value) -> None:
        """Run a template: it sees none of the caller's variables, and its own `$` is dot."""
        names, values = self.names, self.values
        self.depth += 1
        self.budget.nest(self.depth)
        self.names, self.values = ["$"], [dot]
        body(self, dot)
        self.names, self.values = names, values
        self.depth -= 1

    def capture(self, body: Execute, dot: Value) -> bytes:
        """What a template writes, as a value instead of output."""
        out, size = self.out, self.size
        self.out, self.size = [], 0
        self.invoke(body, dot)
        text = b"".join(self.out)
        self.out, self.size = out, size
        return text


Evaluate: TypeAlias = Callable[[Run, Value], Value]
"""A value closure: of the run and dot."""

Follow: TypeAlias = Callable[[Run, Value, Value], Value]
"""The closure of a command: of the run, dot, and what is piped to it, which the first one of a pipeline ignores."""

Execute: TypeAlias = Callable[[Run, Value], "Leaving | None"]
"""A body closure: writes to the run."""


# In place of a function that does not exist: its arguments are still looked at for mistakes.
_UNKNOWN = special(lambda _run, _dot, _arguments: INVALID, rest=ANY)
_LITERALS = (nodes.BoolLiteral, nodes.NilLiteral, nodes.NumberLiteral, nodes.StringLiteral)
_LONG = 255  # a text is accounted for from here on; the call itself was, with the body that it stands in


class Operands:
    """Compiles what stands inside the actions of one template; `certain` collects what is sure to fail."""

    def __init__(self, text: str, functions: Mapping[str, Function]) -> None:
        self._text = text
        self._functions = functions
        self.certain: list[TemplateMistake] = []

    def pipeline(self, pipeline: nodes.Pipeline, base: int) -> Evaluate:
        """The value of the last command, which variables may take; a nil interface is not a value from there on.

        A failure says which pipeline failed, the innermost that did.
        """
        first, *others = (self._command(each, base, piped=number > 0) for number, each in enumerate(pipeline.commands))
        names, assigns = pipeline.variables, pipeline.assigns
        context = self._text[base + pipeline.start : base + pipeline.end]

        def evaluate(run: Run, dot: Value) -> Value:
            try:
                value = first(run, dot, INVALID)
                for command in others:
                    value = command(run, dot, INVALID if value is None else value)
                value = INVALID if value is None else value
                for name in names:
                    if assigns:
                        run.assign(name, value)
                    else:
                        run.declare(name, value)
            except ExecutionError as error:
                if error.context is None:
                    error.context = context
                raise
            return value

        return evaluate

    def _command(self, command: nodes.CommandNode, base: int, *, piped: bool) -> Follow:
        operand = command.operands[0]
        match operand:
            case nodes.Identifier():
                return self._call(operand.name, command, base, piped=piped)
            case nodes.FieldChain() | nodes.Chain() | nodes.Variable(fields=(_, *_)):
                return self._chain(operand, command, base, piped=piped)
        if piped or len(command.operands) > 1:
            evaluate = self.failing("only a function takes arguments", command, base)
        elif isinstance(operand, _LITERALS):
            evaluate = self._constant(ideal, operand, base)
        else:
            evaluate = self._operand(operand, base)
        return lambda run, dot, _piped: evaluate(run, dot)

    def _operand(self, operand: nodes.Operand, base: int) -> Evaluate:
        """An operand by itself, literals excepted, whose value depends on what takes them."""
        match operand:
            case nodes.Dot():
                return lambda _run, dot: dot
            case nodes.Pipeline():
                return self.pipeline(operand, base)
            case nodes.Variable(name=name, fields=()):
                return lambda run, _dot: run.lookup(name)
        follow = self._command(nodes.CommandNode(operand.start, operand.end, (operand,)), base, piped=False)
        return lambda run, dot: follow(run, dot, INVALID)

    def _argument(self, operand: nodes.Operand, parameter: Parameter, base: int) -> Evaluate:
        """An operand as a parameter takes it."""
        if isinstance(operand, _LITERALS):
            return self._constant(parameter.literal, operand, base)
        evaluate, convert = self._operand(operand, base), parameter.convert
        return lambda run, dot: convert(evaluate(run, dot))

    def _constant(self, convert: Callable[[nodes.Literal], Value], literal: nodes.Literal, base: int) -> Evaluate:
        try:
            constant = convert(literal)
        except ExecutionError as error:
            return self.failing(error.message, literal, base)
        return lambda _run, _dot: constant

    def _call(self, name: str, command: nodes.CommandNode, base: int, *, piped: bool) -> Follow:
        """A function's result for the arguments, the piped value last."""
        function = self._functions.get(name, _UNKNOWN)
        operands = command.operands[1:]
        count = len(operands) + piped
        if not function.accepts(count):
            fail = self.failing(f"`{name}` does not take {count} arguments", command, base)
            return lambda run, dot, _piped: fail(run, dot)
        known = len(self.certain)
        arguments = [self._argument(each, function.parameter(index), base) for index, each in enumerate(operands)]
        if not piped and len(self.certain) == known and all(isinstance(each, _LITERALS) for each in operands):
            message = None if function.special or name == "fail" else _failure(function, operands)
            if message is not None:
                fail = self.failing(message, command, base)
                return lambda run, dot, _piped: fail(run, dot)
        convert = function.parameter(count - 1).convert if piped else None
        return (_special_call if function.special else _plain_call)(function, arguments, convert)

    def _chain(
        self,
        operand: nodes.FieldChain | nodes.Variable | nodes.Chain,
        command: nodes.CommandNode,
        base: int,
        *,
        piped: bool,
    ) -> Follow:
        """What fields, keys and methods lead to; arguments are for the last of them, which is a method then."""
        receiver: Evaluate | None
        match operand:
            case nodes.FieldChain():
                receiver, names = None, operand.names
            case nodes.Variable():
                variable = nodes.Variable(operand.start, operand.end, operand.name)
                receiver, names = self._operand(variable, base), operand.fields
            case _:
                receiver, names = self._operand(operand.operand, base), operand.fields
        encoded = [name.encode() for name in names]
        arguments = command.operands[1:]
        if not arguments and not piped:
            return _field_path(receiver, encoded)
        return self._method_path(receiver, encoded, arguments, base, piped=piped)

    def _method_path(
        self,
        receiver: Evaluate | None,
        names: list[bytes],
        arguments: Sequence[nodes.Operand],
        base: int,
        *,
        piped: bool,
    ) -> Follow:
        *path, last = names
        # What a literal means depends on the method, which depends on the receiver.
        compiled: dict[Function, list[Evaluate]] = {}

        def call(run: Run, dot: Value, value: Value) -> Value:
            target = dot if receiver is None else receiver(run, dot)
            for name in path:
                target = read(target, name, run.budget)
            if target is INVALID:
                return INVALID
            method = method_of(target, last)
            if method is None:
                read(target, last, run.budget)
                raise ExecutionError(f"`{last.decode()}` is not a method, but has arguments")
            count = len(arguments) + piped
            if not method.accepts(count):
                raise ExecutionError(f"the method `{last.decode()}` does not take {count} arguments")
            if method not in compiled:
                compiled[method] = [self._argument(each, method.parameter(i), base) for i, each in enumerate(arguments)]
            values = [evaluate(run, dot) for evaluate in compiled[method]]
            if piped:
                values.append(method.parameter(count - 1).convert(value))
            return call_method(method, target, last, values, run.budget)

        return call

    def failing(self, message: str, place: nodes.ExpressionNode, base: int) -> Evaluate:
        """What always fails; known before it runs, so that a load may refuse it."""
        start, end = base + place.start, base + place.end
        context = self._text[start:end]
        self.certain.append(TemplateMistake(message, start, end))

        def fail(_run: Run, _dot: Value) -> Value:
            error = ExecutionError(message)
            error.context = context
            raise error

        return fail


def _failure(function: Function, literals: Sequence[nodes.Operand]) -> str | None:
    """What a call of constants fails with; its result depends on nothing else, so that it always fails."""
    values = [function.parameter(index).literal(literal) for index, literal in enumerate(literals)]  # type: ignore[arg-type]
    try:
        function.call(RenderBudget(RenderLimits()), *values) if function.budgeted else function.call(*values)
    except ExecutionError as error:
        return error.message
    except LimitError:
        return None
    return None


def _field_path(receiver: Evaluate | None, names: list[bytes]) -> Follow:
    if receiver is None and len(names) == 1:
        (name,) = names
        return lambda run, dot, _piped: read(dot, name, run.budget)

    def follow(run: Run, dot: Value, _piped: Value) -> Value:
        value = dot if receiver is None else receiver(run, dot)
        for name in names:
            value = read(value, name, run.budget)
        return value

    return follow


def _plain_call(function: Function, arguments: list[Evaluate], convert: Callable[[Value], Value] | None) -> Follow:
    implementation, budgeted = function.call, function.budgeted

    def call(run: Run, dot: Value, piped: Value) -> Value:
        values = [evaluate(run, dot) for evaluate in arguments]
        if convert is not None:
            values.append(convert(piped))
        for value in values:
            if type(value) is bytes and len(value) > _LONG:
                run.budget.text(len(value))
        result = implementation(run.budget, *values) if budgeted else implementation(*values)
        if type(result) is bytes and len(result) > _LONG:
            run.budget.text(len(result))
        return result

    return call


def _special_call(function: Function, arguments: list[Evaluate], convert: Callable[[Value], Value] | None) -> Follow:
    implementation = function.call

    def call(run: Run, dot: Value, piped: Value) -> Value:
        if convert is None:
            return implementation(run, dot, arguments)
        return implementation(run, dot, [*arguments, lambda _run, _dot: convert(piped)])

    return call
