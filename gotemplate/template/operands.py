"""The state of one rendering, and the compilation of pipelines, commands and operands to closures (exec.go)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from gotemplate.limits import LONG_TEXT
from gotemplate.template import calling, nodes
from gotemplate.template.calling import Function, read
from gotemplate.template.errors import RenderBudget, TemplateMistake
from gotemplate.template.values import INVALID, ExecutionError, Value


class Run:
    """One execution of a template and of the templates that it calls.

    `helpers` are the templates that are defined beside the outermost one. `values` are the variables of the template
    that is being executed; the first is `$`.
    """

    def __init__(self, templates: Mapping[bytes, Execute], budget: RenderBudget) -> None:
        self.templates = self.helpers = templates
        self.budget = budget
        self.depth = 0
        self.out: list[bytes] = []
        self.size = 0
        self.values: list[Value] = []

    def write(self, text: bytes) -> None:
        """Adds to the output, which is limited like any other text."""
        size = len(text)
        self.size += size
        if size > LONG_TEXT or self.size > self.budget.limits.text:
            self.budget.spend(size >> 4)
            self.budget.check_size(self.size)
        self.out.append(text)

    def invoke(self, template: Execute, dot: Value) -> None:
        """Runs a template, which creates its own variables."""
        values = self.values
        self.depth += 1
        self.budget.nest(self.depth)
        template(self, dot)
        self.values = values
        self.depth -= 1

    def capture(self, template: Execute, dot: Value) -> bytes:
        """Runs a template and returns its output instead of writing it."""
        out, size, marked = self.out, self.size, self.budget.marked
        self.out, self.size, self.budget.marked = [], 0, False
        self.invoke(template, dot)
        text = b"".join(self.out)
        self.out, self.size, self.budget.marked = out, size, marked
        return text


Evaluate: TypeAlias = Callable[..., Value]
"""A closure that returns a value.

Its arguments are the run and dot; the closure of a command with a piped value receives that value too.
"""

Execute: TypeAlias = Callable[[Run, Value], "str | None"]
"""A closure of a body, which writes to the run; it returns the `break` or `continue` that ended the body early."""

UNSET = object()  # the value of a variable before its declaration is evaluated
HIDDEN = -1  # the index of a variable that Go's parser knows at this place, although nothing can have set it
_UNDECLARED = -2


class Operands:
    """A compiler of the actions of one template and of the templates defined in it, one after the other.

    `mistakes` collects what Go refuses when it parses, `certain` what is sure to fail when it is evaluated. `base` is
    the offset of the action that is being compiled, `scope` the variables known there with their indexes, `variables`
    their number in the whole template, `conditional` the variables in arguments of special functions, which may not be
    evaluated. `weight` is the number of operands and fields so far.
    """

    def __init__(self, text: str, vocabulary: calling.Vocabulary) -> None:
        self._text = text
        self._vocabulary = vocabulary
        self.mistakes: list[TemplateMistake] = []
        self.certain: list[TemplateMistake] = []
        self.base = self.weight = 0
        self.begin()

    def begin(self) -> None:
        """Begins a template, whose only variable is `$`."""
        self.scope = [("$", 0)]
        self.variables = 1
        self.conditional: set[int] = set()

    def pipeline(self, pipeline: nodes.Pipeline, most_variables: int = 1) -> Evaluate:
        """Compiles a pipeline to the value of its last command, `INVALID` for nil; errors name the innermost one."""
        names = pipeline.variables
        if len(names) > most_variables:
            self._mistake("two variables are declared by a `range` only", pipeline)
        # Go's parser knows the variables from here on, although they are set at the end.
        self.scope += [(name, HIDDEN) for name in names]
        first, *others = (self._command(each, piped=number > 0) for number, each in enumerate(pipeline.commands))
        if not pipeline.assigns:
            self.scope += [(name, self.variables + number) for number, name in enumerate(names)]
            self.variables += len(names)
        indexes = [self.index(name) for name in names]
        if HIDDEN in indexes:
            return self.failing(f"the variable `{names[0]}` is not set yet", pipeline.start, pipeline.end)
        context = self._text[self.base + pipeline.start : self.base + pipeline.end]

        def evaluate(run: Run, dot: Value) -> Value:
            try:
                value = first(run, dot)
                for command in others:
                    value = command(run, dot, INVALID if value is None else value)
            except ExecutionError as error:
                if error.context is None:
                    error.context = context
                raise
            value = INVALID if value is None else value
            for index in indexes:
                run.values[index] = value
            return value

        return evaluate

    def index(self, name: str) -> int:
        """Returns the index of the variable declared last by that name; negative if it is unknown or not set here."""
        for declared, index in reversed(self.scope):
            if declared == name and index >= 0:
                return index
        return HIDDEN if (name, HIDDEN) in self.scope else _UNDECLARED

    def _command(self, command: nodes.Command, *, piped: bool) -> Evaluate:
        first, *arguments = command
        if isinstance(first, nodes.Identifier):
            return self._call(first, arguments, command, piped=piped)
        if not piped and not arguments:
            return self._operand(first)
        if isinstance(first, nodes.Chain):
            return self._method(first, arguments, piped=piped)
        if piped and isinstance(first, nodes.Dot | nodes.Constant):
            self._mistake("a constant takes no piped value", first)
        for operand in command:
            self._operand(operand)
        return self.failing("only a function takes arguments", first.start, command[-1].end)

    def _operand(self, operand: nodes.Operand, literal: Callable[[nodes.Constant], Value] = calling.ideal) -> Evaluate:
        """Compiles an operand without arguments; `literal` converts a constant to a value."""
        match operand:
            case nodes.Pipeline():
                return self.pipeline(operand)
            case nodes.Chain():
                return self._fields(operand)
            case nodes.Identifier():
                return self._call(operand, [], (operand,), piped=False)
        self.weight += 1
        match operand:
            case nodes.Variable():
                return self._variable(operand)
            case nodes.Constant():
                return self._constant(operand, literal)
        return lambda _run, dot: dot

    def _variable(self, variable: nodes.Variable) -> Evaluate:
        index, name = self.index(variable.name), variable.name
        # Where an argument that declares the variable is not evaluated, Go finds an outer one of that name.
        outer = [each for declared, each in self.scope if declared == name and 0 <= each < index]
        outer = outer[::-1] if index in self.conditional else []
        if index == _UNDECLARED:
            self._mistake(f"unknown variable `{name}`", variable)
        if index < 0:
            return self.failing(f"the variable `{name}` is not set yet", variable.start, variable.end)

        def evaluate(run: Run, _dot: Value) -> Value:
            value = run.values[index]
            if value is UNSET:
                value = next((run.values[each] for each in outer if run.values[each] is not UNSET), UNSET)
            if value is UNSET:
                raise ExecutionError(f"the variable `{name}` is not set yet")
            return value

        return evaluate

    def _constant(self, literal: nodes.Constant, convert: Callable[[nodes.Constant], Value]) -> Evaluate:
        try:
            constant = convert(literal)
        except ExecutionError as error:
            return self.failing(error.message, literal.start, literal.end)
        return lambda _run, _dot: constant

    def _call(
        self, identifier: nodes.Identifier, operands: list[nodes.Operand], command: nodes.Command, *, piped: bool
    ) -> Evaluate:
        """Compiles the call of a function; the piped value is its last argument."""
        self.weight += 1
        name, count = identifier.name, len(operands) + piped
        function, fail = self._vocabulary.functions.get(name), None
        if function is None:
            self.mistakes.append(self._vocabulary.unknown(name, self.base + identifier.start))
        elif not function.accepts(count):
            fail = self.failing(f"wrong number of arguments for `{name}`: {count}", identifier.start, command[-1].end)
        if function is None or fail is not None:
            function = calling.UNKNOWN
        declared = self.variables
        arguments = [self._argument(each, function.parameter(index)) for index, each in enumerate(operands)]
        if function.special:
            self.conditional.update(range(declared, self.variables))
        if fail is not None:
            return fail
        convert = function.parameter(count - 1).convert if piped else None
        return _called(function, arguments, convert)

    def _argument(self, operand: nodes.Operand, parameter: calling.Parameter) -> Evaluate:
        evaluate, convert = self._operand(operand, parameter.literal), parameter.convert
        return evaluate if isinstance(operand, nodes.Constant) else lambda run, dot: convert(evaluate(run, dot))

    def _fields(self, chain: nodes.Chain) -> Evaluate:
        """Compiles the reading of fields, keys and methods without arguments."""
        names = [name.encode() for name in chain.fields]
        self.weight += len(names)
        if not isinstance(chain.operand, nodes.Dot):
            return _path(self._operand(chain.operand), names)
        if len(names) > 1:
            return _path(None, names)
        (name,) = names
        return lambda run, dot: read(dot, name, run.budget)

    def _method(self, chain: nodes.Chain, operands: list[nodes.Operand], *, piped: bool) -> Evaluate:
        """Compiles the call of a method on what the names before it lead to; the piped value is its last argument."""
        *path, last = (name.encode() for name in chain.fields)
        self.weight += len(chain.fields)
        receiver = _path(self._operand(chain.operand), path)
        arguments = [self._method_argument(each) for each in operands]

        def call(run: Run, dot: Value, value: Value = INVALID) -> Value:
            target = receiver(run, dot)
            if target is INVALID:
                return INVALID
            method = calling.method_of(target, last)
            if method is None:
                read(target, last, run.budget)
                raise ExecutionError(f"`{last.decode()}` is not a method, but has arguments")
            evaluations: list[Evaluate] = [partial(argument, run, dot) for argument in arguments]
            if piped:
                evaluations.append(lambda parameter: parameter.convert(value))
            return calling.call_method(method, target, last, evaluations, run.budget)

        return call

    def _method_argument(self, operand: nodes.Operand) -> Evaluate:
        """Compiles an argument to a closure of run, dot and the parameter, which is known once the receiver is."""
        evaluate = self._operand(operand, lambda literal: literal)
        if isinstance(operand, nodes.Constant):
            return lambda _run, _dot, parameter: parameter.literal(operand)
        return lambda run, dot, parameter: parameter.convert(evaluate(run, dot))

    def _mistake(self, message: str, place: nodes.ExpressionNode) -> None:
        self.mistakes.append(TemplateMistake(message, self.base + place.start, self.base + place.end))

    def failing(self, message: str, start: int, end: int) -> Evaluate:
        """Compiles what always fails; `certain` gets the error, so that the template can be refused at load."""
        start, end = self.base + start, self.base + end
        context = self._text[start:end]
        self.certain.append(TemplateMistake(message, start, end))

        def fail(_run: Run, _dot: Value, _piped: Value = INVALID) -> Value:
            raise ExecutionError(message, context)

        return fail


def _path(receiver: Evaluate | None, names: list[bytes]) -> Evaluate:
    """Returns a closure that reads names, one after the other, from a receiver or from dot."""

    def evaluate(run: Run, dot: Value) -> Value:
        value = dot if receiver is None else receiver(run, dot)
        for name in names:
            value = read(value, name, run.budget)
        return value

    return evaluate


def _called(function: Function, arguments: list[Evaluate], convert: Callable[[Value], Value] | None) -> Evaluate:
    """Returns a closure that calls a function; a piped value is converted to its last argument."""
    implementation, budgeted = function.call, function.budgeted

    def call_special(run: Run, dot: Value, piped: Value = INVALID) -> Value:
        if convert is None:
            return implementation(run, dot, arguments)
        return implementation(run, dot, [*arguments, lambda _run, _dot: convert(piped)])

    def call(run: Run, dot: Value, piped: Value = INVALID) -> Value:
        values = [evaluate(run, dot) for evaluate in arguments]
        if convert is not None:
            values.append(convert(piped))
        for value in values:
            if type(value) is bytes and len(value) > LONG_TEXT:
                run.budget.text(len(value))
        result = implementation(run.budget, *values) if budgeted else implementation(*values)
        if type(result) is bytes and len(result) > LONG_TEXT:
            run.budget.text(len(result))
        return result

    return call_special if function.special else call
