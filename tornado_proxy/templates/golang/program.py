"""A template ready to run: parsed and compiled once, executed over any data, any number of times, in any thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tornado_proxy.templates.errors import TemplateMistake
from tornado_proxy.templates.golang.calling import ANY, STRING, special
from tornado_proxy.templates.golang.failures import ExecutionError
from tornado_proxy.templates.golang.limits import Budget
from tornado_proxy.templates.golang.operands import CertainFailure, Operands
from tornado_proxy.templates.golang.parser import ROOT, Parsed, parse
from tornado_proxy.templates.golang.running import Evaluate, Execute, Run
from tornado_proxy.templates.golang.statements import Statements
from tornado_proxy.templates.golang.text import runes
from tornado_proxy.templates.golang.values import INVALID, Value
from tornado_proxy.templates.golang.vocabulary import Vocabulary


class Program:
    """A compiled template; raises `TemplateMistake` when made of a text that is none."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.text = text
        self.parsed: Parsed = parse(text, vocabulary)
        self._vocabulary = vocabulary
        operands = Operands(text, vocabulary.functions)
        statements = Statements(operands, self.parsed.callable)
        self._templates: Mapping[bytes, Execute] = {
            name: statements.template(body) for name, body in self.parsed.callable.items()
        }
        self._body = self._templates[ROOT]
        self.certain_failures: Sequence[CertainFailure] = tuple(operands.certain)

    def execute(self, data: Value, budget: Budget) -> bytes:
        """What the template writes for the data; raises `RenderError`."""
        run = Run(self._templates, budget, self._vocabulary)
        return self._run(run, data)

    def execute_within(self, run: Run, data: Value) -> bytes:
        """The same as a part of another run, whose budget and helper templates it shares."""
        within = Run(self._templates, run.budget, run.vocabulary)
        within.helpers, within.depth, within.frames = run.helpers, run.depth, run.frames
        return self._run(within, data)

    def _run(self, run: Run, data: Value) -> bytes:
        run.invoke(self._body, INVALID if data is None else data)
        return b"".join(run.out)


def _template_of_text(run: Run, dot: Value, arguments: Sequence[Evaluate]) -> Value:
    """What a text writes when it is taken for a template."""
    text, data = [evaluate(run, dot) for evaluate in arguments]
    run.budget.spend(len(text))
    try:
        program = Program(runes(text), run.vocabulary)
    except TemplateMistake as mistake:
        raise ExecutionError(str(mistake)) from mistake
    return program.execute_within(run, data)


TEMPLATE_OF_TEXT = special(_template_of_text, STRING, ANY)
"""What Helm adds to sprig as `tpl`; it parses while it runs, which no rule may."""
