"""Finds the fields and methods that a template reads although its data does not have them.

Templates have no types, so this walks one with a sample of its data: a field of the sample has the type of the real
one, and a list of the sample has an element. What the sample cannot tell, such as the results of most functions, is
`UNKNOWN` and may have any field.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tornado_proxy.golang.template import nodes
from tornado_proxy.golang.template.budget import RenderBudget, RenderLimits
from tornado_proxy.golang.template.calling import SampleResults, method_of, read
from tornado_proxy.golang.template.errors import RenderError, TemplateMistake, help_for_unknown
from tornado_proxy.golang.template.parser import ParsedTemplate
from tornado_proxy.golang.template.values import INVALID, Map, Slice, Value, type_of, zero

ENDLESS = RenderLimits(steps=1 << 62)
"""Limits for a sample: reading it costs little, and a text may name any number of fields."""

UNKNOWN: Any = object()
"""A value of a type that is not known before the template runs."""

_Sample = Value


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


class FieldCheck:
    """A check of all parts of a template that may run, with a sample of its data; `mistakes` are what it found.

    `doubts` are mistakes below a condition: a rendering that does not reach them is right. `results` are the results of
    functions, as a `Vocabulary` has them.
    """

    def __init__(self, parsed: ParsedTemplate, sample: _Sample, name: str, results: SampleResults) -> None:
        self._results: SampleResults = {"index": _indexed, **results}
        self._templates = parsed.callable
        self._names = {id(type_of(sample)): name}  # of the data, for messages
        self._root = sample
        self._assigned: set[str] = set()  # variables that `=` sets: a loop may run with the values of its last round
        self._walk(parsed.body, sample)
        if self._assigned:
            self._walk(parsed.body, sample)

    def _walk(self, body: nodes.Body, sample: _Sample) -> None:
        self.mistakes: list[TemplateMistake] = []
        self.doubts: list[TemplateMistake] = []
        self._visited: set[tuple[bytes, str, bool]] = set()
        self._called: list[tuple[nodes.Body, _Sample, bool]] = [(body, sample, False)]
        while self._called:
            body, dot, self._is_below_condition = self._called.pop()
            self._scope: dict[str, list[_Sample]] = {"$": [dot]}
            self._declared: list[str] = []
            self._body(body, dot)

    def _body(self, body: nodes.Body, dot: _Sample) -> None:
        outer = len(self._declared)
        for node in body:
            match node:
                case nodes.Output():
                    self._base = node.base
                    self._pipeline(node.pipeline, dot)
                case nodes.Branch():
                    self._base = node.base
                    inner = len(self._declared)
                    value = self._pipeline(node.pipeline, dot)
                    outside = self._is_below_condition
                    self._is_below_condition = outside or not node.sets_dot  # `with` is for what is usually there
                    self._body(node.body, value if node.sets_dot else dot)
                    self._is_below_condition = True
                    self._body(node.otherwise, dot)
                    self._is_below_condition = outside
                    self._forget(inner)
                case nodes.Range():
                    self._base = node.base
                    inner = len(self._declared)
                    item = element(self._pipeline(node.pipeline, dot))
                    for name in node.pipeline.variables:
                        self._scope[name][-1] = UNKNOWN
                    if node.pipeline.variables:
                        self._set(node.pipeline.variables[-1], item)
                    self._body(node.body, item)
                    self._body(node.otherwise, dot)
                    self._forget(inner)
                case nodes.Call():
                    self._base = node.base
                    self._call(node.name, self._pipeline(node.pipeline, dot) if node.pipeline else UNKNOWN)
        self._forget(outer)

    def _forget(self, count: int) -> None:
        """Drops the variables beyond the first ones."""
        while len(self._declared) > count:
            self._scope[self._declared.pop()].pop()

    def _set(self, name: str, value: _Sample) -> None:
        self._scope[name][-1] = UNKNOWN if name in self._assigned else value

    def _call(self, name: bytes, dot: _Sample) -> None:
        """Schedules the check of a called template, whose dot and `$` are its argument."""
        key = name, _shape(dot), self._is_below_condition
        if key not in self._visited and name in self._templates:
            self._visited.add(key)
            self._called.append((self._templates[name], dot, self._is_below_condition))

    def _pipeline(self, pipeline: nodes.Pipeline, dot: _Sample) -> _Sample:
        value: _Sample = INVALID
        for command in pipeline.commands:
            value = self._command(command, dot, () if value is INVALID else (value,))
        for name in pipeline.variables:
            if pipeline.assigns:
                self._assigned.add(name)
            else:
                self._scope.setdefault(name, []).append(UNKNOWN)
                self._declared.append(name)
                self._set(name, value)
        return value

    def _command(self, command: nodes.Command, dot: _Sample, piped: Sequence[_Sample]) -> _Sample:
        first, *operands = command
        count = len(operands) + len(piped)
        if isinstance(first, nodes.Chain):
            value = self._chain(first, dot, count)
            for each in operands:
                self._operand(each, dot)
            return value if count == 0 else UNKNOWN
        if not isinstance(first, nodes.Identifier):
            return self._operand(first, dot)
        arguments = [*(self._operand(each, dot) for each in operands), *piped]
        if first.name == "include" and len(operands) > 1:
            template = operands[0]
            if isinstance(template, nodes.Constant) and isinstance(template.value, bytes):
                self._call(template.value, arguments[1])
        result = self._results.get(first.name)
        return result(arguments) if result else UNKNOWN

    def _operand(self, operand: nodes.Operand, dot: _Sample) -> _Sample:
        match operand:
            case nodes.Dot():
                return dot
            case nodes.Variable():
                return next(reversed(self._scope.get(operand.name, ())), UNKNOWN)
            case nodes.Chain():
                return self._chain(operand, dot, 0)
            case nodes.Pipeline():
                return self._pipeline(operand, dot)
            case nodes.Identifier():
                return self._command((operand,), dot, ())
        return UNKNOWN

    def _chain(self, chain: nodes.Chain, dot: _Sample, count: int) -> _Sample:
        """Returns a sample of what a chain of names reads; a method at its end gets `count` arguments."""
        value = self._operand(chain.operand, dot)
        parent = "" if value is UNKNOWN else self._names.get(id(type_of(value)), "")
        start = self._base + chain.operand.end + 1
        for number, name in enumerate(chain.fields, start=1):
            if value is UNKNOWN:
                return UNKNOWN
            mistake = _mistake(value, name, parent or f"`{type_of(value).name}`", count * (number == len(chain.fields)))
            if mistake is not None:
                found = self.doubts if self._is_below_condition else self.mistakes
                found.append(TemplateMistake(mistake[0], start, start + len(name), mistake[1]))
                return UNKNOWN
            value = _read(value, name)
            parent, start = f"`{name}`", start + len(name) + 1
        return value


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
    known = sorted(member.decode() for member in {*of.methods, *of.getters})
    if not known:
        return f"{parent} has no fields", None
    return f"{parent} has no field `{name}`", help_for_unknown(name, known) or f"there are {', '.join(known)}"


def _read(value: _Sample, name: str) -> _Sample:
    if isinstance(value, Map) and name.encode() not in value and method_of(value, name.encode()) is None:
        return element(value) if type(value) is Map else UNKNOWN  # others decide themselves what they have
    try:
        found = read(value, name.encode(), RenderBudget(ENDLESS))
    except RenderError:
        return UNKNOWN  # a method with arguments, or a field of nil
    return UNKNOWN if found is None or found is INVALID else found
