"""The go dialect of rules: templates that are compiled at load, and rendered for each key that a source matched.

The groups and fields that a template names, and whether it needs a user, are checked at load. A *place* describes dot
and `$` at a point of a template: whether they are the outermost data, and whether a condition around it ensures that
there is a user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from tornado_proxy.golang.regexp.matching import Captures
from tornado_proxy.golang.sprig import REFUSED, RESULTS, functions
from tornado_proxy.golang.template import nodes
from tornado_proxy.golang.template.budget import RenderBudget, RenderLimits
from tornado_proxy.golang.template.calling import Vocabulary
from tornado_proxy.golang.template.errors import RenderError, TemplateMistake, help_for_unknown, refuse
from tornado_proxy.golang.template.fields import ENDLESS, FieldCheck
from tornado_proxy.golang.template.numbers import Number
from tornado_proxy.golang.template.parser import ParsedTemplate
from tornado_proxy.golang.template.program import Program, definitions
from tornado_proxy.golang.template.standard import STANDARD
from tornado_proxy.golang.template.text import runes
from tornado_proxy.templates.data import TargetKeyRewriteData
from tornado_proxy.templates.go.built_in import callable_from
from tornado_proxy.templates.go.view import DATA, root, sample
from tornado_proxy.templates.template import trimmed

# Functions that test whether there is a user without reading its members.
_QUESTIONS = frozenset(("all", "and", "any", "coalesce", "default", "empty", "eq", "ne", "not", "or", "ternary"))
_LOOKUPS = frozenset(("get", "index"))


@dataclass(frozen=True, slots=True)
class _CheckPlace:
    dot: bool
    dollar: bool
    user: bool
    base: int = 0


class TemplateCheck:
    """A check of all parts of a template that may run: the groups and fields that it names, and its need of a user.

    The text of the template begins at `start`, after the texts of its helpers.
    """

    def __init__(self, parsed: ParsedTemplate, groups: Iterable[str], start: int = 0) -> None:
        self._templates = parsed.callable
        self._groups = frozenset(groups)
        self._start = start
        self._references: set[tuple[int, int, str]] = set()
        self._visited: set[tuple[bytes, bool, bool]] = set()
        self._called = [(parsed.body, _CheckPlace(dot=True, dollar=True, user=False))]
        self.reads_user = False
        self.mistakes: list[TemplateMistake] = []
        while self._called:
            self._body(*self._called.pop(0))
        fields = FieldCheck(parsed, sample(self._groups, RenderBudget(ENDLESS)), "the data of a request", RESULTS)
        self.mistakes += (*fields.mistakes, *fields.doubts)
        self.group_references = tuple((name, first, last) for first, last, name in sorted(self._references))

    def _body(self, body: nodes.Body, place: _CheckPlace) -> None:
        for node in body:
            here = place if isinstance(node, nodes.TextNode) else replace(place, base=node.base)
            match node:
                case nodes.Output():
                    place = self._pipeline(node.pipeline, here)
                case nodes.Branch():
                    self._branch(node, here)
                case nodes.Range():
                    inner = self._pipeline(node.pipeline, here)
                    self._body(node.body, replace(inner, dot=False))
                    self._body(node.otherwise, inner)
                case nodes.Call():
                    self._call(node, here)

    def _branch(self, node: nodes.Branch, place: _CheckPlace) -> None:
        inner = self._pipeline(node.pipeline, place, asked=True)
        sure, sure_otherwise = self._guards(node.pipeline, place)
        body = replace(inner, user=inner.user or sure, dot=inner.dot and not node.sets_dot)
        self._body(node.body, body)
        self._body(node.otherwise, replace(inner, user=inner.user or sure_otherwise))

    def _guards(self, pipeline: nodes.Pipeline, place: _CheckPlace) -> tuple[bool, bool]:
        """Returns whether a condition ensures a user where it is true, and where it is false."""
        if len(pipeline.commands) > 1:
            return False, False
        first, *arguments = pipeline.commands[0]
        if _is_user(first, place):
            return True, False
        if isinstance(first, nodes.Identifier) and any(_is_user(argument, place) for argument in arguments):
            return first.name == "and", first.name == "not"
        return False, False

    def _call(self, node: nodes.Call, place: _CheckPlace) -> None:
        if node.pipeline is None:
            self._template(node.name, replace(place, dot=False))
            return
        inner = self._pipeline(node.pipeline, place)
        commands = node.pipeline.commands
        handed = commands[0][0] if len(commands) == 1 else node.pipeline
        self._template(node.name, replace(inner, dot=_is_root(handed, place)))

    def _template(self, name: bytes, place: _CheckPlace) -> None:
        """Schedules the check of a called template, whose dot and `$` are its argument."""
        if (name, place.dot, place.user) not in self._visited and name in self._templates:
            self._visited.add((name, place.dot, place.user))
            self._called.append((self._templates[name], _CheckPlace(dot=place.dot, dollar=place.dot, user=place.user)))

    def _pipeline(self, pipeline: nodes.Pipeline, place: _CheckPlace, *, asked: bool = False) -> _CheckPlace:
        """Checks a pipeline; returns the place after it, where `$` may be another variable."""
        for number, command in enumerate(pipeline.commands):
            piped = number + 1 < len(pipeline.commands)
            follower = pipeline.commands[number + 1][0] if piped else None
            legal = asked and not piped and not pipeline.variables
            if isinstance(follower, nodes.Identifier):
                legal = follower.name in _QUESTIONS
            self._command(command, place, asked=legal)
        return replace(place, dollar=False) if "$" in pipeline.variables else place

    def _command(self, command: nodes.Command, place: _CheckPlace, *, asked: bool) -> None:
        first, *arguments = command
        name = first.name if isinstance(first, nodes.Identifier) else ""
        if name in _LOOKUPS and len(arguments) > 1 and _path_of(arguments[0], place) == ("Groups",):
            self._lookup(arguments[1], place)
        if name == "include" and len(arguments) > 1:
            template, data = arguments[:2]
            if isinstance(template, nodes.Constant) and isinstance(template.value, bytes):
                self._template(template.value, replace(place, dot=_is_root(data, place)))
        for operand in command:
            self._operand(operand, place, asked=asked if operand is first else name in _QUESTIONS)
            # The later operands of an `and` are evaluated only if there is a user.
            if name == "and" and _is_user(operand, place):
                place = replace(place, user=True)

    def _operand(self, operand: nodes.Operand, place: _CheckPlace, *, asked: bool) -> None:
        match operand:
            case nodes.Chain():
                if _is_root(operand.operand, place):
                    first, *rest = operand.fields
                    if first == "User":
                        self.reads_user = self.reads_user or not (place.user or (asked and not rest))
                    if first == "Groups" and rest:
                        after = operand.operand.end + 1 + place.base + len(first) + 1
                        self._group(rest[0], after, after + len(rest[0]))
                else:
                    self._operand(operand.operand, place, asked=False)
            case nodes.Pipeline():
                self._pipeline(operand, place, asked=asked)

    def _lookup(self, key: nodes.Operand, place: _CheckPlace) -> None:
        start, end = key.start + place.base, key.end + place.base
        match key:
            case nodes.Constant(value=bytes(name)):
                self._group(runes(name), start, end)
            case nodes.Constant(value=Number() as number):
                self.mistakes.append(
                    TemplateMistake("a group is named by a string", start, end, f'write `"{number.text}"`')
                )

    def _group(self, name: str, start: int, end: int) -> None:
        if name not in self._groups:
            message = f"the source has no group `{name}`"
            self.mistakes.append(TemplateMistake(message, start, end, help_for_unknown(name, self._groups)))
        elif start >= self._start:
            self._references.add((start - self._start, end - self._start, name))


def _path_of(operand: nodes.Operand, place: _CheckPlace) -> tuple[str, ...]:
    """Returns the fields of the outermost data that an operand names; empty for any other operand."""
    return operand.fields if isinstance(operand, nodes.Chain) and _is_root(operand.operand, place) else ()


def _is_user(operand: nodes.Operand, place: _CheckPlace) -> bool:
    return _path_of(operand, place) == ("User",)


def _is_root(operand: nodes.Operand, place: _CheckPlace) -> bool:
    """Returns whether an operand is the outermost data itself."""
    match operand:
        case nodes.Dot():
            return place.dot
        case nodes.Variable(name="$"):
            return place.dollar
    return False


LIMITS = RenderLimits()
"""The limits of one rendering of a rule's template."""


@dataclass(frozen=True, slots=True)
class GoTemplate:
    """A Go template of a rule."""

    text: str
    group_references: tuple[tuple[str, int, int], ...] = field(compare=False, repr=False)
    reads_user: bool = field(compare=False, repr=False)
    _program: Program = field(compare=False, repr=False)
    helpers: tuple[str, ...] = field(default=(), repr=False)  # texts that define templates that it may call

    def render(self, captures: Captures, data: TargetKeyRewriteData) -> str:
        """Returns the text for one match, without line ends and with both ends trimmed; raises `RenderError`."""
        budget = RenderBudget(LIMITS)
        written = self._program.execute(root(captures, data, budget), budget)
        try:
            text = written.decode()
        except UnicodeDecodeError:
            raise RenderError("the template cuts a character in two, so its result is not text") from None
        return trimmed(text)


@cache
def vocabulary() -> Vocabulary:
    """Returns the functions that rules may call."""
    return Vocabulary({**STANDARD, **functions()}, REFUSED, DATA, RESULTS)


def compile_template(text: str, names: Mapping[str, int], group_count: int, helpers: Sequence[str] = ()) -> GoTemplate:
    """Compiles a template for a source with these groups; raises `TemplateMistake`.

    `helpers` are texts with definitions that it may call. A part that fails whenever it runs is a mistake here; Go
    reports it only when it runs.
    """
    before = definitions(callable_from(text, helpers), vocabulary())
    start = len(before.text)
    try:
        program = Program(text, vocabulary(), before)
        known = TemplateCheck(program.parsed, [*names, *map(str, range(group_count + 1))], start)
        refuse([*program.mistakes, *program.certain_failures, *known.mistakes])
    except TemplateMistake as mistake:
        first, *others = (_in_text(each, start) for each in (mistake, *mistake.others))
        first.others = tuple(others)
        raise first from mistake
    return GoTemplate(text, known.group_references, known.reads_user, program, tuple(helpers))


def _in_text(mistake: TemplateMistake, start: int) -> TemplateMistake:
    """Returns the mistake with offsets in the text that begins at `start`; 0 if a helper has the mistake."""
    if mistake.offset >= start:
        end = None if mistake.end is None else mistake.end - start
        return TemplateMistake(str(mistake), mistake.offset - start, end, mistake.help)
    return TemplateMistake(f"a helper template that it calls has a mistake: {mistake}", 0, None, mistake.help)
