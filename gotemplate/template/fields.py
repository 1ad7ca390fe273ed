"""Finds what a template reads of its data, and the fields and methods that it reads although the data lacks them.

Templates have no types, so this walks one with a sample of its data: a field of the sample has the type of the real
one, and a list of the sample has an element. What the sample cannot tell, such as the results of most functions, is
`UNKNOWN` and may have any field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import msgspec

from gotemplate.template import nodes
from gotemplate.template.calling import method_of, read
from gotemplate.template.errors import RenderBudget, RenderError, RenderLimits, TemplateMistake, help_for_unknown
from gotemplate.template.parser import ParsedTemplate
from gotemplate.template.text import Number
from gotemplate.template.values import INVALID, Map, Slice, Value, type_of, zero

ENDLESS = RenderLimits(steps=1 << 62)  # for a sample: reading it costs little, and a text may name many fields

# Functions that test whether there is a value without reading its members.
_QUESTIONS = frozenset(("all", "and", "any", "coalesce", "default", "empty", "eq", "ne", "not", "or", "ternary"))
_LOOKUPS = frozenset(("get", "index"))

UNKNOWN: Any = object()  # a value of a type that is not known before the template runs

_Sample = Value

SampleResults = Mapping[str, Callable[[Sequence[_Sample]], _Sample]]
"""The functions whose results have a known type: each returns a sample of the result for samples of the arguments."""


def element(value: Any) -> _Sample:
    """Returns an element of a sample's list or map."""
    if isinstance(value, Slice | Map):
        first = next(iter(value.values() if isinstance(value, Map) else value), zero(value.type.element))
        return UNKNOWN if first is None else first
    return UNKNOWN


def _indexed(arguments: Sequence[_Sample]) -> _Sample:
    value = arguments[0] if arguments else UNKNOWN
    for _ in arguments[1:]:
        value = element(value)
    return value


class FieldReading(msgspec.Struct, frozen=True):
    """Fields that a template reads from the outermost data, or a field and its constant key, as in `index .Groups "1"`.

    `start` and `end` are the place of the second name. `is_safe`: the optional field is there, or is only tested.
    """

    path: tuple[str | bytes | Number, ...]
    start: int
    end: int
    is_safe: bool


class FieldCheck:
    """A check of all parts of a template that may run, with a sample of its data; `mistakes` are what it found.

    `doubts` are mistakes below a condition: a rendering that does not reach them is right. `readings` are what the
    template reads from the data, of which the field `optional` may be absent.
    """

    def __init__(
        self, parsed: ParsedTemplate, sample: _Sample, name: str, results: SampleResults, optional: str = ""
    ) -> None:
        self._templates = parsed.callable
        self._results: SampleResults = {"index": _indexed, **results}
        self._names = {id(type_of(sample)): name}  # of the data, for messages
        self._root = sample
        self._optional = (optional,)
        self._assigned: set[str] = set()  # variables that `=` sets: a loop may run with the values of its last round
        self._walk(parsed.body)
        if self._assigned:
            self._walk(parsed.body)

    def _walk(self, body: nodes.Body) -> None:
        self.mistakes: list[TemplateMistake] = []
        self.doubts: list[TemplateMistake] = []
        self.readings: list[FieldReading] = []
        self._visited: set[tuple[bytes, str, bool, bool]] = set()
        self._called: list[tuple[nodes.Body, _Sample, bool, bool]] = [(body, self._root, False, False)]
        while self._called:
            body, dot, self._is_below_condition, self._is_ensured = self._called.pop()
            self._scope: dict[str, list[_Sample]] = {"$": [dot]}
            self._declared: list[str] = []
            self._body(body, dot)

    def _body(self, body: nodes.Body, dot: _Sample) -> None:
        outer = len(self._declared)
        for node in body:
            if isinstance(node, nodes.TextNode):
                continue
            self._base = node.base
            inner = len(self._declared)
            match node:
                case nodes.Output():
                    self._pipeline(node.pipeline, dot)
                case nodes.Branch():
                    self._branch(node, dot)
                    self._forget(inner)
                case nodes.Range():
                    item = element(self._pipeline(node.pipeline, dot))
                    for name in node.pipeline.variables:
                        self._scope[name][-1] = UNKNOWN
                    if node.pipeline.variables:
                        self._set(node.pipeline.variables[-1], item)
                    self._body(node.body, item)
                    self._body(node.otherwise, dot)
                    self._forget(inner)
                case nodes.Call():
                    self._call(node.name, self._pipeline(node.pipeline, dot) if node.pipeline else UNKNOWN)
        self._forget(outer)

    def _branch(self, node: nodes.Branch, dot: _Sample) -> None:
        value = self._pipeline(node.pipeline, dot, tests=True)
        below, ensured = self._is_below_condition, self._is_ensured
        # Whether the condition ensures the optional field where it is true, and where it is false.
        first, *arguments = node.pipeline.commands[0]
        in_body, otherwise, is_one = False, False, len(node.pipeline.commands) == 1
        if is_one and self._path(first, dot) == self._optional:
            in_body = True
        elif is_one and isinstance(first, nodes.Identifier):
            is_asked = any(self._path(argument, dot) == self._optional for argument in arguments)
            in_body, otherwise = is_asked and first.name == "and", is_asked and first.name == "not"
        self._is_below_condition = below or not node.sets_dot  # `with` is for what is usually there
        self._is_ensured = ensured or in_body
        self._body(node.body, value if node.sets_dot else dot)
        self._is_below_condition, self._is_ensured = True, ensured or otherwise
        self._body(node.otherwise, dot)
        self._is_below_condition, self._is_ensured = below, ensured

    def _path(self, operand: nodes.Operand, dot: _Sample) -> tuple[str, ...]:
        """Returns the fields of the outermost data that an operand names; empty for any other operand."""
        if isinstance(operand, nodes.Chain) and isinstance(operand.operand, nodes.Dot | nodes.Variable):
            return operand.fields if self._operand(operand.operand, dot) is self._root else ()
        return ()

    def _forget(self, count: int) -> None:
        """Drops the variables beyond the first ones."""
        while len(self._declared) > count:
            self._scope[self._declared.pop()].pop()

    def _set(self, name: str, value: _Sample) -> None:
        self._scope[name][-1] = UNKNOWN if name in self._assigned else value

    def _call(self, name: bytes, dot: _Sample) -> None:
        """Schedules the check of a called template, whose dot and `$` are its argument."""
        key = name, _shape(dot), self._is_below_condition, self._is_ensured
        if key not in self._visited and name in self._templates:
            self._visited.add(key)
            self._called.append((self._templates[name], dot, self._is_below_condition, self._is_ensured))

    def _pipeline(self, pipeline: nodes.Pipeline, dot: _Sample, *, tests: bool = False) -> _Sample:
        """Returns a sample of what a pipeline results in; `tests` says that only its truth counts."""
        value: _Sample = INVALID
        followers = [command[0] for command in pipeline.commands[1:]]
        for command, follower in zip_longest(pipeline.commands, followers):
            tested = _asks(follower) if follower else tests and not pipeline.variables
            value = self._command(command, dot, () if value is INVALID else (value,), tests=tested)
        for name in pipeline.variables:
            if pipeline.assigns:
                self._assigned.add(name)
            else:
                self._scope.setdefault(name, []).append(UNKNOWN)
                self._declared.append(name)
                self._set(name, value)
        return value

    def _command(
        self, command: nodes.Command, dot: _Sample, piped: Sequence[_Sample], *, tests: bool = False
    ) -> _Sample:
        first, *operands = command
        if not isinstance(first, nodes.Identifier):
            count = len(operands) + len(piped)
            value = self._operand(first, dot, count, tests=tests)
            for each in operands:
                self._operand(each, dot)
            return value if count == 0 or not isinstance(first, nodes.Chain) else UNKNOWN
        arguments = [*self._arguments(first, operands, dot), *piped]
        key = operands[1] if len(operands) > 1 else None
        if first.name in _LOOKUPS and isinstance(key, nodes.Constant) and isinstance(key.value, bytes | Number):
            fields = self._path(operands[0], dot)
            if len(fields) == 1:
                place = self._base + key.start, self._base + key.end
                self.readings.append(FieldReading((*fields, key.value), *place, is_safe=True))
        if first.name == "include" and len(operands) > 1:
            template = operands[0]
            if isinstance(template, nodes.Constant) and isinstance(template.value, bytes):
                self._call(template.value, arguments[1])
        result = self._results.get(first.name)
        return result(arguments) if result else UNKNOWN

    def _arguments(
        self, function: nodes.Identifier, operands: Sequence[nodes.Operand], dot: _Sample
    ) -> Iterator[_Sample]:
        outside = self._is_ensured
        for each in operands:
            yield self._operand(each, dot, tests=_asks(function))
            # An `and` evaluates the operands after the optional field only if it is there.
            if function.name == "and" and self._path(each, dot) == self._optional:
                self._is_ensured = True
        self._is_ensured = outside

    def _operand(self, operand: nodes.Operand, dot: _Sample, count: int = 0, *, tests: bool = False) -> _Sample:
        """Returns a sample of an operand; a method at its end gets `count` arguments."""
        match operand:
            case nodes.Dot():
                return dot
            case nodes.Variable():
                return next(reversed(self._scope.get(operand.name, ())), UNKNOWN)
            case nodes.Chain():
                return self._chain(operand, dot, count, tests=tests)
            case nodes.Pipeline():
                return self._pipeline(operand, dot, tests=tests)
            case nodes.Identifier():
                return self._command((operand,), dot, ())
        return UNKNOWN

    def _chain(self, chain: nodes.Chain, dot: _Sample, count: int, *, tests: bool) -> _Sample:
        value = self._operand(chain.operand, dot)
        parent = "" if value is UNKNOWN else self._names.get(id(type_of(value)), "")
        start = self._base + chain.operand.end + 1
        if value is self._root:
            first, *rest = chain.fields
            second = start + len(first) + 1
            is_safe = self._is_ensured or (tests and not rest)
            self.readings.append(FieldReading(chain.fields, second, second + len("".join(rest[:1])), is_safe))
        for number, name in enumerate(chain.fields, start=1):
            if value is UNKNOWN:
                return UNKNOWN
            mistake = _mistake(value, name, parent or f"`{type_of(value).name}`", count * (number == len(chain.fields)))
            if mistake is not None:
                mistakes = self.doubts if self._is_below_condition else self.mistakes
                mistakes.append(TemplateMistake(mistake[0], start, start + len(name), mistake[1]))
                return UNKNOWN
            value = _read(value, name)
            parent, start = f"`{name}`", start + len(name) + 1
        return value


def _asks(operand: nodes.Operand) -> bool:
    return isinstance(operand, nodes.Identifier) and operand.name in _QUESTIONS


def _shape(value: _Sample) -> str:
    """Returns a name for all values whose fields have the same types."""
    if value is UNKNOWN:
        return ""
    return f"{type_of(value).name} {id(type_of(value))} {_shape(element(value))}"


def _mistake(value: _Sample, name: str, parent: str, count: int) -> tuple[str, str | None] | None:
    """Returns message and help if a value has no such field, or a method that takes no such number of arguments."""
    method = method_of(value, name.encode())
    if method is not None and not method.accepts(count):
        return f"wrong number of arguments for the method `{name}`: {count}", None
    of = type_of(value)
    if method is not None or isinstance(value, Map) or name.encode() in of.getters:
        return None
    names = sorted(member.decode() for member in {*of.methods, *of.getters})
    if not names:
        return f"{parent} has no fields", None
    return f"{parent} has no field `{name}`", help_for_unknown(name, names) or f"there are {', '.join(names)}"


def _read(value: _Sample, name: str) -> _Sample:
    if isinstance(value, Map) and name.encode() not in value and method_of(value, name.encode()) is None:
        return UNKNOWN if value.is_closed else element(value)
    try:
        field = read(value, name.encode(), RenderBudget(ENDLESS))
    except RenderError:
        return UNKNOWN  # a method with arguments, or a field of nil
    return UNKNOWN if field is None or field is INVALID else field
