"""A template ready to run: parsed and compiled once, executed over any data, any number of times, in any thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tornado_proxy.templates.golang.limits import Budget
from tornado_proxy.templates.golang.operands import CertainFailure, Operands
from tornado_proxy.templates.golang.parser import ROOT, Parsed, parse
from tornado_proxy.templates.golang.running import Execute, Run
from tornado_proxy.templates.golang.statements import Statements
from tornado_proxy.templates.golang.values import INVALID, Value
from tornado_proxy.templates.golang.vocabulary import Vocabulary


class Program:
    """A compiled template; raises `TemplateMistake` when made of a text that is none."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.text = text
        self.parsed: Parsed = parse(text, vocabulary)
        operands = Operands(text, vocabulary.functions)
        statements = Statements(operands, self.parsed.callable)
        self.templates: Mapping[bytes, Execute] = {
            name: statements.template(body) for name, body in self.parsed.callable.items()
        }
        self.certain_failures: Sequence[CertainFailure] = tuple(operands.certain)

    def execute(self, data: Value, budget: Budget) -> bytes:
        """What the template writes for the data; raises `RenderError`."""
        run = Run(self.templates, budget)
        run.invoke(self.templates[ROOT], INVALID if data is None else data)
        return b"".join(run.out)
