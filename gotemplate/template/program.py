"""Compiles templates to closures and executes them (the walk functions of text/template's exec.go)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from gotemplate.template import nodes
from gotemplate.template.calling import Vocabulary
from gotemplate.template.errors import DEFAULT_LIMITS, LimitError, RenderBudget, RenderLimits, TemplateMistake
from gotemplate.template.formatting import printed
from gotemplate.template.operands import HIDDEN, UNSET, Execute, Operands, Run
from gotemplate.template.parser import OUTERMOST, ParsedStart, parse, parse_start
from gotemplate.template.text import go_string, runes
from gotemplate.template.values import INVALID, ExecutionError, Map, Slice, Value, from_python, is_true, type_name


class Statements:
    """Compiles the bodies of one template and of the templates that it defines."""

    def __init__(self, operands: Operands, templates: Mapping[bytes, nodes.Body]) -> None:
        self._operands = operands
        self._templates = templates

    def template(self, body: nodes.Body) -> Execute:
        """Compiles a template with its own variables, `$` being its dot; executing it is charged to the budget."""
        self._operands.begin()
        execute_body, cost = self._body(body)
        unset = [UNSET] * (self._operands.variables - 1)

        def execute(run: Run, dot: Value) -> None:
            run.budget.spend(cost)
            run.values = [dot, *unset]
            execute_body(run, dot)

        return execute

    def _body(self, body: nodes.Body) -> tuple[Execute, int]:
        """Compiles nodes, and returns their cost in steps: actions, operands, fields, also of branches not taken."""
        before = self._operands.weight
        made = [self._node(node) for node in body]
        cost = 1 + len(made) + self._operands.weight - before
        self._operands.weight += len(made)
        if len(made) == 1:
            return made[0], cost

        def execute(run: Run, dot: Value) -> str | None:
            for node in made:
                leaving = node(run, dot)
                if leaving is not None:
                    return leaving
            return None

        return execute, cost

    def _node(self, node: nodes.Node) -> Execute:
        if isinstance(node, nodes.TextNode):
            text = node.value
            return lambda run, _dot: run.write(text)
        self._operands.base = node.base
        match node:
            case nodes.Output():
                return self._output(node)
            case nodes.Branch():
                return self._branch(node)
            case nodes.Range():
                return self._range(node)
            case nodes.Call():
                return self._call(node)
            case _:
                keyword = node.keyword
                return lambda _run, _dot: keyword

    def _output(self, node: nodes.Output) -> Execute:
        evaluate, silent = self._operands.pipeline(node.pipeline), bool(node.pipeline.variables)

        def execute(run: Run, dot: Value) -> None:
            value = evaluate(run, dot)
            if silent:
                return
            text = value if type(value) is bytes else printed(value, run.budget)
            run.write(go_string(run.budget.inserted(runes(text))) if run.budget.marked else text)

        return execute

    def _bodies(self, node: nodes.Branch | nodes.Range, outer: int) -> tuple[Execute, int, Execute]:
        """Compiles a body and its `else`, and returns the cost of the body; then drops the variables beyond `outer`."""
        scope = self._operands.scope
        inner = len(scope)
        body, cost = self._body(node.body)
        # In the `else`, Go's parser still knows the variables of the body, but they hide no others there.
        scope[inner:] = [(name, HIDDEN) for name, _index in scope[inner:]]
        otherwise, _cost = self._body(node.otherwise)
        del scope[outer:]
        return body, cost, otherwise

    def _branch(self, node: nodes.Branch) -> Execute:
        outer = len(self._operands.scope)
        evaluate, sets_dot = self._operands.pipeline(node.pipeline), node.sets_dot
        body, _cost, otherwise = self._bodies(node, outer)

        def execute(run: Run, dot: Value) -> str | None:
            value = evaluate(run, dot)
            return body(run, value if sets_dot else dot) if is_true(value) else otherwise(run, dot)

        return execute

    def _range(self, node: nodes.Range) -> Execute:
        outer = len(self._operands.scope)
        evaluate = self._operands.pipeline(node.pipeline, most_variables=2)
        variables = [self._operands.index(name) for name in node.pipeline.variables]
        before = self._operands.variables
        body, cost, otherwise = self._bodies(node, outer)
        # A round forgets the variables of the round before; only these may not be set again before they are read.
        forgotten = [index for index in self._operands.conditional if index >= before]

        def execute(run: Run, dot: Value) -> str | None:
            ran = False
            for pair in iterated(evaluate(run, dot), len(variables), run.budget):
                ran = True
                run.budget.spend(cost)
                for index in forgotten:
                    run.values[index] = UNSET
                # One variable takes the element, two take index and element.
                for index, value in zip(variables, pair[-len(variables) :], strict=False):
                    run.values[index] = value
                if body(run, pair[1]) == "break":
                    break
            leaving = None if ran else otherwise(run, dot)
            # Go's `break` in an `else` ends this range, not the one around it.
            return None if leaving == "break" else leaving

        return execute

    def _call(self, node: nodes.Call) -> Execute:
        name, evaluate = node.name, node.pipeline and self._operands.pipeline(node.pipeline)
        if name not in self._templates:
            message = f"unknown template `{name.decode('utf-8', 'replace')}`"
            return self._operands.failing(message, node.start, node.end)

        def execute(run: Run, dot: Value) -> None:
            run.invoke(run.templates[name], evaluate(run, dot) if evaluate else INVALID)

        return execute


def iterated(value: Value, variables: int, budget: RenderBudget) -> Iterable[tuple[Value, Value]]:
    """Returns the pairs that a `range` over a value visits: index or key, and element."""
    if isinstance(value, Slice | Map):
        budget.items(len(value))
        return sorted(value.items()) if isinstance(value, Map) else enumerate(list(value))
    if isinstance(value, int) and not isinstance(value, bool):
        if variables > 1:
            raise ExecutionError("a `range` over a number takes one variable")
        of = type(value)
        return ((INVALID, of(number)) for number in range(value))
    if value is INVALID or value is None:
        return ()
    raise ExecutionError(f"a `range` cannot visit `{type_name(value)}`")


class Definitions:
    """The text before templates, parsed and compiled once for all of them; each may complete what is no template."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.text = text
        try:
            self.start = parse_start(text)
        except TemplateMistake:
            self.start = ParsedStart()
        operands = Operands(text, vocabulary)
        statements = Statements(operands, {**self.start.templates, OUTERMOST: ()})
        self.templates = {name: statements.template(body) for name, body in self.start.templates.items()}
        self.mistakes, self.certain_failures = operands.mistakes, operands.certain


@lru_cache(maxsize=8)
def definitions(texts: tuple[str, ...], vocabulary: Vocabulary) -> Definitions:
    """Returns the texts of helpers as the lines before a template: one set of rules or pages has the same ones."""
    return Definitions("".join(f"{each}\n" for each in texts), vocabulary)


class Program:
    """A compiled template; Go refuses its `mistakes`, its `certain_failures` fail always. Raises `TemplateMistake`."""

    def __init__(self, text: str, vocabulary: Vocabulary, before: Definitions | None = None) -> None:
        before = before or Definitions("", vocabulary)
        whole = before.text + text
        self.parsed = parse(whole, before.start)
        operands = Operands(whole, vocabulary)
        statements = Statements(operands, self.parsed.callable)
        made = before if before.start.templates == self.parsed.templates else Definitions("", vocabulary)
        others = {name: body for name, body in self.parsed.callable.items() if name not in made.templates}
        self.templates = made.templates | {name: statements.template(body) for name, body in others.items()}
        self.mistakes = [*made.mistakes, *operands.mistakes]
        self.certain_failures = [*made.certain_failures, *operands.certain]

    def render(self, data: Any = None, limits: RenderLimits = DEFAULT_LIMITS) -> str:
        """Returns the output for Python data that `from_python` converts; raises `RenderError`."""
        budget = RenderBudget(limits)
        return runes(self.execute(from_python(data, budget), budget))

    def execute(self, data: Value, budget: RenderBudget) -> bytes:
        """Returns the output of the template for the data; raises `RenderError`."""
        run = Run(self.templates, budget)
        try:
            run.invoke(self.templates[OUTERMOST], INVALID if data is None else data)
        except RecursionError:
            raise LimitError("the template nests too deep") from None
        return b"".join(run.out)
