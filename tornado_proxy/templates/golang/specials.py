"""Functions that need not evaluate all their arguments, or that run a template: `and`, `or`, `include`."""

from __future__ import annotations

from collections.abc import Sequence

from tornado_proxy.templates.golang.calling import ANY, REFLECTED, STRING, special
from tornado_proxy.templates.golang.failures import ExecutionError
from tornado_proxy.templates.golang.running import Evaluate, Run
from tornado_proxy.templates.golang.text import runes
from tornado_proxy.templates.golang.values import INVALID, Value, is_true


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


AND = special(_and, REFLECTED, rest=REFLECTED)
OR = special(_or, REFLECTED, rest=REFLECTED)

INCLUDE = special(_include, STRING, ANY)
"""What Helm adds to sprig: a template's text as a value."""
