"""Go templates of rules, whose own expressions are read as sources are: what Go accepts, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from tornado_proxy.rules.expressions.errors import PatternError
from tornado_proxy.rules.expressions.reader import read_expression
from tornado_proxy.templates.golang import GoTemplate, compile_template
from tornado_proxy.templates.golang.regex import Expression, Re2Expression, keeping


@keeping
def compile_regex(text: str, memory: int) -> Expression:
    """The expression of a text in Go's syntax; raises ValueError where Go refuses it."""
    try:
        expression = read_expression(text)
    except PatternError as error:
        raise ValueError(str(error)) from None
    names = tuple((name, number) for number, name in enumerate(expression.names, start=1) if name)
    return Re2Expression(expression.program, memory, names)


def compile_go_template(text: str, names: Mapping[str, int], group_count: int) -> GoTemplate:
    """The template of a text, for a source with these groups; raises `TemplateMistake`."""
    return compile_template(text, names, group_count, compile_regex)
