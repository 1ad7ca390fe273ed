"""A template ready to run: parsed and compiled once, executed over any data, any number of times, in any thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tornado_proxy.templating.errors import LimitError, TemplateMistake
from tornado_proxy.templating.golang.failures import ExecutionError
from tornado_proxy.templating.golang.limits import Budget, Limits
from tornado_proxy.templating.golang.operands import CertainFailure, Operands, Special
from tornado_proxy.templating.golang.parser import Parsed, parse
from tornado_proxy.templating.golang.running import Evaluate, Execute, Run
from tornado_proxy.templating.golang.statements import Statements
from tornado_proxy.templating.golang.text import runes
from tornado_proxy.templating.golang.values import INVALID, Value, is_true
from tornado_proxy.templating.golang.vocabulary import Vocabulary


class Program:
    """A compiled template; raises `TemplateMistake` when made of a text that is none."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.text = text
        self.parsed: Parsed = parse(text, vocabulary)
        operands = Operands(text, vocabulary.functions, _specials(vocabulary))
        statements = Statements(operands, self.parsed.templates)
        self._templates: Mapping[bytes, Execute] = {
            name: statements.template(body) for name, body in self.parsed.templates.items()
        }
        self._body = statements.template(self.parsed.body)
        self.certain_failures: Sequence[CertainFailure] = tuple(operands.certain)

    def execute(self, data: Value, limits: Limits | None = None) -> bytes:
        """What the template writes for the data; raises `RenderError`."""
        run = Run(self._templates, Budget(limits or Limits()), self._templates)
        try:
            return self._run(run, data)
        except RecursionError:
            raise LimitError("the template nests too deep") from None

    def execute_within(self, run: Run, data: Value) -> bytes:
        """The same as a part of another run, whose budget and helper templates it shares."""
        within = Run(self._templates, run.budget, run.helpers)
        within.depth = run.depth
        return self._run(within, data)

    def _run(self, run: Run, data: Value) -> bytes:
        run.invoke(self._body, INVALID if data is None else data)
        return b"".join(run.out)


def _and(run: Run, dot: Value, arguments: Sequence[Evaluate]) -> Value:
    """The first argument that is not true, or the last; what follows is not evaluated."""
    value: Value = INVALID
    for evaluate in arguments:
        value = evaluate(run, dot)
        if not is_true(value):
            break
    return value


def _or(run: Run, dot: Value, arguments: Sequence[Evaluate]) -> Value:
    """The first argument that is true, or the last; what follows is not evaluated."""
    value: Value = INVALID
    for evaluate in arguments:
        value = evaluate(run, dot)
        if is_true(value):
            break
    return value


def _include(run: Run, dot: Value, arguments: Sequence[Evaluate]) -> Value:
    """What a template defined beside the outermost one writes, as a value."""
    name, data = [evaluate(run, dot) for evaluate in arguments]
    body = run.helpers.get(name)
    if body is None:
        raise ExecutionError(f"there is no template `{runes(name)}`")
    templates = run.templates
    run.templates = run.helpers
    text = run.capture(body, INVALID if data is None else data)
    run.templates = templates
    return text


def _template_of_text(vocabulary: Vocabulary) -> Special:
    """The function `tpl`: what a text writes when it is taken for a template."""

    def tpl(run: Run, dot: Value, arguments: Sequence[Evaluate]) -> Value:
        text, data = [evaluate(run, dot) for evaluate in arguments]
        run.budget.spend(len(text))
        try:
            program = Program(runes(text), vocabulary)
        except TemplateMistake as mistake:
            raise ExecutionError(str(mistake)) from mistake
        return program.execute_within(run, data)

    return tpl


def _specials(vocabulary: Vocabulary) -> dict[str, Special]:
    return {"and": _and, "or": _or, "include": _include, "tpl": _template_of_text(vocabulary)}
