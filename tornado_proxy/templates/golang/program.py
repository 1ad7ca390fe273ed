"""Templates compiled to closures (the walk functions of text/template's exec.go), and executed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from tornado_proxy.templates.golang import nodes
from tornado_proxy.templates.golang.calling import Vocabulary
from tornado_proxy.templates.golang.formatting import printed
from tornado_proxy.templates.golang.operands import Evaluate, Execute, Leaving, Operands, Run
from tornado_proxy.templates.golang.parser import ROOT, ParsedTemplate, parse
from tornado_proxy.templates.golang.values import INVALID, ExecutionError, Map, Slice, Value, is_true, type_name
from tornado_proxy.templates.template import LimitError, RenderBudget, TemplateMistake


class Statements:
    """Compiles the bodies of one template and of those defined in it."""

    def __init__(self, operands: Operands, templates: Mapping[bytes, nodes.Body]) -> None:
        self._operands = operands
        self._templates = templates

    def template(self, body: nodes.Body) -> Execute:
        """What runs the body of a template, and accounts for that."""
        execute_body, cost = self.body(body), 1 + weight(body)

        def execute(run: Run, dot: Value) -> None:
            run.budget.spend(cost)
            execute_body(run, dot)

        return execute

    def body(self, body: nodes.Body) -> Execute:
        """What runs each node in order, until one leaves a `range`."""
        made = [self._node(node) for node in body]
        if len(made) == 1:
            return made[0]

        def execute(run: Run, dot: Value) -> Leaving | None:
            for node in made:
                leaving = node(run, dot)
                if leaving is not None:
                    return leaving
            return None

        return execute

    def _node(self, node: nodes.Node) -> Execute:
        match node:
            case nodes.TextNode():
                return _text(node.value)
            case nodes.Output():
                return self._output(node)
            case nodes.Branch():
                return self._branch(node)
            case nodes.Range():
                return self._range(node)
            case nodes.Call():
                return self._call(node)
            case _:
                leaving = Leaving.BREAK if node.leaves else Leaving.CONTINUE
                return lambda _run, _dot: leaving

    def _pipeline(self, node: nodes.Output | nodes.Branch | nodes.Range) -> Evaluate:
        return self._operands.pipeline(node.pipeline, node.base)

    def _output(self, node: nodes.Output) -> Execute:
        evaluate, silent = self._pipeline(node), bool(node.pipeline.variables)

        def execute(run: Run, dot: Value) -> None:
            value = evaluate(run, dot)
            if not silent:
                run.write(value if type(value) is bytes else printed(value, run.budget))

        return execute

    def _branch(self, node: nodes.Branch) -> Execute:
        evaluate, sets_dot = self._pipeline(node), node.sets_dot
        body, otherwise = self.body(node.body), self.body(node.otherwise)

        def execute(run: Run, dot: Value) -> Leaving | None:
            mark = len(run.names)
            value = evaluate(run, dot)
            leaving = body(run, value if sets_dot else dot) if is_true(value) else otherwise(run, dot)
            run.forget(mark)
            return leaving

        return execute

    def _range(self, node: nodes.Range) -> Execute:
        evaluate = self._pipeline(node)
        body, otherwise = self.body(node.body), self.body(node.otherwise)
        names, assigns = node.pipeline.variables, node.pipeline.assigns
        cost = 1 + weight(node.body)

        def set_variables(run: Run, index: Value, element: Value) -> None:
            # One variable takes the element, two take index and element.
            pair = (index, element)[-len(names) :] if names else ()
            if assigns:
                for name, value in zip(names, pair, strict=True):
                    run.assign(name, value)
            elif names:
                run.values[-len(names) :] = pair

        def loop(run: Run, items: Iterable[tuple[Value, Value]]) -> bool:
            """Whether there was an iteration."""
            mark = len(run.names)
            ran = False
            for index, element in items:
                ran = True
                run.budget.spend(cost)
                set_variables(run, index, element)
                leaving = body(run, element)
                run.forget(mark)
                if leaving is Leaving.BREAK:
                    break
            return ran

        def execute(run: Run, dot: Value) -> Leaving | None:
            mark = len(run.names)
            ran = loop(run, iterated(evaluate(run, dot), len(names), run.budget))
            leaving = None if ran else otherwise(run, dot)
            run.forget(mark)
            # Go's `break` in an `else` ends this range, not the one around it.
            return None if leaving is Leaving.BREAK else leaving

        return execute

    def _call(self, node: nodes.Call) -> Execute:
        pipeline = node.pipeline
        evaluate = _no_value if pipeline is None else self._operands.pipeline(pipeline, node.base)
        name = node.name
        if name not in self._templates:
            place = nodes.ExpressionNode(node.start, node.end)
            message = f"unknown template `{name.decode('utf-8', 'replace')}`"
            return _always(self._operands.failing(message, place, node.base))

        def execute(run: Run, dot: Value) -> None:
            run.invoke(run.templates[name], evaluate(run, dot))

        return execute


def weight(body: nodes.Body) -> int:
    """How many steps it takes to run a body once, loops and calls in it counted as none: they count themselves."""
    return sum(map(_node_weight, body))


def _node_weight(node: nodes.Node) -> int:
    match node:
        case nodes.Branch() | nodes.Range():
            return 1 + _operand_weight(node.pipeline) + weight(node.body) + weight(node.otherwise)
        case nodes.Output() | nodes.Call(pipeline=nodes.Pipeline()):
            return 1 + _operand_weight(node.pipeline)
    return 1


def _operand_weight(operand: nodes.Operand | None) -> int:
    match operand:
        case nodes.Pipeline():
            return sum(_operand_weight(each) for command in operand.commands for each in command.operands)
        case nodes.Chain():
            return len(operand.fields) + _operand_weight(operand.operand)
        case nodes.FieldChain():
            return len(operand.names)
        case nodes.Variable():
            return 1 + len(operand.fields)
    return 1


def _text(text: bytes) -> Execute:
    def execute(run: Run, _dot: Value) -> None:
        run.write(text)

    return execute


def _no_value(_run: Run, _dot: Value) -> Value:
    return INVALID


def _always(fail: Evaluate) -> Execute:
    def execute(run: Run, dot: Value) -> None:
        fail(run, dot)

    return execute


def iterated(value: Value, variables: int, budget: RenderBudget) -> Iterable[tuple[Value, Value]]:
    """What a `range` over a value visits: index or key, and element."""
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
    raise ExecutionError(f"a `range` cannot visit a `{type_name(value)}`")


class Program:
    """A compiled template; raises `TemplateMistake` for a text that is not one.

    `mistakes` are names that Go refuses when it parses, `certain_failures` what fails wherever it runs.
    """

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.text = text
        self.parsed: ParsedTemplate = parse(text, vocabulary)
        operands = Operands(text, vocabulary.functions)
        statements = Statements(operands, self.parsed.callable)
        self.templates: Mapping[bytes, Execute] = {
            name: statements.template(body) for name, body in self.parsed.callable.items()
        }
        self.mistakes = self.parsed.mistakes
        self.certain_failures: Sequence[TemplateMistake] = tuple(operands.certain)

    def execute(self, data: Value, budget: RenderBudget) -> bytes:
        """What the template writes for the data; raises `RenderError`."""
        run = Run(self.templates, budget)
        try:
            run.invoke(self.templates[ROOT], INVALID if data is None else data)
        except RecursionError:
            raise LimitError("the template nests too deep") from None
        return b"".join(run.out)


BUILT_IN: Mapping[str, str] = MappingProxyType(
    {
        "main.userIdentifier": "{{ if .User }}{{ .User.GetIdentifier }}{{ end }}",
        "main.headers.contentType": (
            '{{ if contains "application/json" (.Request.Header.Get "Accept") }}application/json{{ else }}text/html'
            "{{ end }}; charset=utf-8"
        ),
        "main.body.errorJsonBody": '{"error": {{ toJson .Error.Error }}}',
    }
)
"""The bodies of the helpers that s3-proxy's own file of helpers defines, by their names."""

_CALLS = re.compile(r"\{\{.*(?:template|include|block)\b", re.DOTALL)
_DEFINES = re.compile(r'\{\{-?\s*(?:define|block)\s+["`]([^"`]*)["`]')


def calls_helpers(text: str) -> bool:
    """Whether a template may call others by name; most do not, and are compiled without any."""
    return _CALLS.search(text) is not None


def built_in(texts: Sequence[str]) -> str:
    """The definitions of the built-in helpers, except those that a text defines itself: Go allows one of a name."""
    own = {name for text in texts for name in _DEFINES.findall(text)}
    lines = (f'{{{{- define "{name}" }}}}{body}{{{{ end -}}}}' for name, body in BUILT_IN.items() if name not in own)
    return "".join(lines)


def leading(helpers: Sequence[str], text: str) -> str:
    """The definitions of all helpers as they stand before a template's own text."""
    return "".join(f"{each}\n" for each in (built_in([*helpers, text]), *helpers))
