"""The state of one rendering, and the functions that need it: `and`, `or`, `include`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TypeAlias

from tornado_proxy.templates.errors import LimitError
from tornado_proxy.templates.golang.calling import ANY, REFLECTED, STRING, special
from tornado_proxy.templates.golang.limits import ExecutionError, RenderBudget
from tornado_proxy.templates.golang.text import runes
from tornado_proxy.templates.golang.values import INVALID, Value, is_true

_MANY = 32  # with more variables than anyone writes, looking for one is work
_SHORT = 255  # what is no longer costs no more than the action that writes it


MOST_FRAMES = 600
"""How deep Python's calls may go in one rendering; it allows a thousand, and the server uses some."""


class Leaving(Enum):
    """How a body of a `range` was left before its end."""

    BREAK = "break"
    CONTINUE = "continue"


class Run:
    """One execution of a template and of those that it calls; `helpers` are those defined beside the outermost."""

    __slots__ = ("budget", "depth", "frames", "helpers", "names", "out", "size", "templates", "values")

    def __init__(self, templates: Mapping[bytes, Execute], budget: RenderBudget) -> None:
        self.templates = self.helpers = templates
        self.budget = budget
        self.depth = 0
        self.frames = 0
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

    def enter(self, frames: int) -> None:
        """Account for the frames of Python that a template takes, which end a process's recursion otherwise."""
        self.frames += frames
        if self.frames > MOST_FRAMES:
            raise LimitError("the template nests too deep")

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
        raise ExecutionError(f"unknown template `{runes(name)}`")
    templates = run.templates
    run.templates = run.helpers
    text = run.capture(body, INVALID if data is None else data)
    run.templates = templates
    return text


AND = special(_and, REFLECTED, rest=REFLECTED)
OR = special(_or, REFLECTED, rest=REFLECTED)

INCLUDE = special(_include, STRING, ANY)
"""What Helm adds to sprig: a template's text as a value."""
