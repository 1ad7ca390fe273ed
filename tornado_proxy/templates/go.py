"""Go templates of rules and of pages.

In rules, the groups and fields that a template names, and its need of a user, are checked at load. Templates may call
others by name: those of their target, and those of s3-proxy's own file of helpers.

Pages, headers and status codes are rendered with Python data, with definitions that they share. The functions are
rules' functions, s3-proxy's own for pages, and random ones. `value_of` converts Python values to Go values:

- None, bool, int, float, str and bytes; datetime is time.Time, without a zone in UTC;
- a mapping is a map[string]interface {}, a list or a tuple a []interface {};
- a `msgspec.Struct` is a struct; its field `last_modified` is `LastModified`;
- `User`, `Request`, `HeaderFields` and `TargetData` have the same types as in the templates of rules; the texts of
  a `Request` are safe in HTML;
- `ObjectMetadata` is a map[string]string, as the AWS SDK for Go reads it from headers;
- an exception is an error, whose method `Error` is its text.
"""

from __future__ import annotations

import calendar
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any

import msgspec

from gotemplate import sprig
from gotemplate.regexp.matching import Captures
from gotemplate.sprig.basics import RANDOM
from gotemplate.sprig.dates import TIME, time_since
from gotemplate.sprig.encoding import write_yaml
from gotemplate.template import calling
from gotemplate.template import values as go
from gotemplate.template.calling import Vocabulary
from gotemplate.template.errors import DEFAULT_LIMITS, RenderBudget, RenderError, RenderLimits, TemplateMistake, refuse
from gotemplate.template.fields import ENDLESS, FieldCheck
from gotemplate.template.moments import Moment
from gotemplate.template.operands import Evaluate, Run
from gotemplate.template.parser import OUTERMOST, ParsedTemplate
from gotemplate.template.program import Program, definitions
from gotemplate.template.text import Number, go_string, runes
from gotemplate.template.urls import canonical, header
from tornado_proxy.semantics.request import Request, User
from tornado_proxy.templates import go_data, template


class TemplateCheck:
    """A check of the parts of a template that may run; its text begins at `start`, after those of its helpers."""

    def __init__(self, parsed: ParsedTemplate, groups: Iterable[str], start: int = 0) -> None:
        names = frozenset(groups)
        data = go_data.sample(names, RenderBudget(ENDLESS))
        fields = FieldCheck(parsed, data, "the data of a request", sprig.RESULTS, optional="User")
        self.reads_user = any(each.path[0] == "User" and not each.is_safe for each in fields.readings)
        self.mistakes: list[TemplateMistake] = []
        references: set[tuple[int, int, str]] = set()
        for each in fields.readings:
            match each.path:
                case ("Groups", Number(text=text)):
                    advice = f'write `"{text}"`'
                    self.mistakes.append(TemplateMistake("a group is named by a string", each.start, each.end, advice))
                case ("Groups", str() | bytes() as key, *_):
                    name = key if isinstance(key, str) else runes(key)
                    if name not in names:
                        self.mistakes.append(template.unknown_group(name, each.start, each.end, names))
                    elif each.start >= start:
                        references.add((each.start - start, each.end - start, name))
        self.mistakes += (*fields.mistakes, *fields.doubts)
        self.group_references = tuple((name, first, last) for first, last, name in sorted(references))


@dataclass(frozen=True, slots=True)
class GoTemplate:
    """A Go template of a rule."""

    text: str
    group_references: tuple[tuple[str, int, int], ...] = field(compare=False, repr=False)
    reads_user: bool = field(compare=False, repr=False)
    _program: Program = field(compare=False, repr=False)
    helpers: tuple[str, ...] = field(default=(), repr=False)  # texts that define templates that it may call

    def render(self, captures: Captures, data: template.TargetKeyRewriteData, *, marked: bool = False) -> str:
        """Returns the text for one match, without line ends and with both ends trimmed; raises `RenderError`."""
        budget = RenderBudget(DEFAULT_LIMITS, marked=marked)
        dot = go_data.root(captures, data, budget)
        try:
            written = self._program.execute(dot, budget)
        except go.ExecutionError as error:
            if absent := dot.source.request.absent:
                # Go has an empty list for it, and no first element.
                raise template.MissingValueError(f"missing `{runes(absent[-1])}`: {error}") from error
            raise
        try:
            text = written.decode()
        except UnicodeDecodeError:
            raise RenderError("the template cuts a character in two, so its result is not text") from None
        return template.trimmed(text)


@cache
def vocabulary() -> Vocabulary:
    """Returns the functions that rules may call."""
    return sprig.vocabulary(data=go_data.DATA)


def compile_template(text: str, names: Mapping[str, int], group_count: int, helpers: Sequence[str] = ()) -> GoTemplate:
    """Compiles a template that may call `helpers`; raises `TemplateMistake`, also for a part that always fails."""
    before = definitions(callable_from(text, helpers), vocabulary())
    start = len(before.text)
    try:
        program = Program(text, vocabulary(), before)
        check = TemplateCheck(program.parsed, [*names, *map(str, range(group_count + 1))], start)
        refuse([*program.mistakes, *program.certain_failures, *check.mistakes])
    except TemplateMistake as mistake:
        first, *others = (_in_text(each, start) for each in (mistake, *mistake.others))
        first.others = tuple(others)
        raise first from mistake
    return GoTemplate(text, check.group_references, check.reads_user, program, tuple(helpers))


def _in_text(mistake: TemplateMistake, start: int) -> TemplateMistake:
    """Returns the mistake with offsets in the text that begins at `start`; 0 if a helper has the mistake."""
    if mistake.offset >= start:
        end = None if mistake.end is None else mistake.end - start
        return TemplateMistake(str(mistake), mistake.offset - start, end, mistake.help)
    return TemplateMistake(f"a helper template that it calls has a mistake: {mistake}", 0, None, mistake.help)


BUILT_IN: Mapping[str, str] = {
    "main.userIdentifier": "{{ if .User }}{{ .User.GetIdentifier }}{{ end }}",
    "main.headers.contentType": (
        '{{ if contains "application/json" (.Request.Header.Get "Accept") }}application/json{{ else }}text/html'
        "{{ end }}; charset=utf-8"
    ),
    "main.body.errorJsonBody": '{"error": {{ toJson .Error.Error }}}',
}
"""The bodies of the helpers in s3-proxy's own file of helpers, by name."""

_CALLS = re.compile(r"(?:template|include|block)\b")
_DEFINES = re.compile(r'\{\{-?\s*(?:define|block)\s+["`]([^"`]*)["`]')


def calls_helpers(text: str) -> bool:
    """Returns whether a template may call others by name; most do not, and are compiled without helpers."""
    action = text.find("{{")
    return action >= 0 and _CALLS.search(text, action) is not None


def built_in(texts: Sequence[str]) -> str:
    """Returns the definitions of the built-in helpers that no text defines: Go allows one definition of a name."""
    own = {name for text in texts for name in _DEFINES.findall(text)}
    lines = (f'{{{{- define "{name}" }}}}{body}{{{{ end -}}}}' for name, body in BUILT_IN.items() if name not in own)
    return "".join(lines)


def callable_from(text: str, helpers: Sequence[str]) -> tuple[str, ...]:
    """Returns the texts of the built-in and all other helpers that a template may call; none if it calls none."""
    return (built_in([*helpers, text]), *helpers) if calls_helpers(text) else ()


_SIZES = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_CAPITALS = {"etag": "ETag", "id": "ID", "s3": "S3", "ssl": "SSL", "uri": "URI", "url": "URL"}


class PageMistake(TemplateMistake):
    """A page that cannot be compiled; `helper` is the index of the helper with the mistake, None for the page.

    `part` is `path`, a header's name, `status`, or the number of a configured helper.
    """

    part: str | int = "path"

    def __init__(self, mistake: TemplateMistake, offset: int, helper: int | None) -> None:
        end = None if mistake.end is None else mistake.end - mistake.offset + offset
        super().__init__(str(mistake), offset, end, mistake.help)
        self.helper = helper


@dataclass(frozen=True, slots=True)
class PageTemplate:
    """A compiled page; threads may share it. `doubts` are mistakes that not every rendering reaches."""

    text: str
    _program: Program = field(compare=False, repr=False)
    doubts: tuple[PageMistake, ...] = field(default=(), compare=False, repr=False)

    def render(self, data: Any, limits: RenderLimits = template.PAGE_LIMITS) -> str:
        """Returns the text of the page for Python data; raises `RenderError`, and `LimitError` beyond the limits."""
        budget = RenderBudget(limits)
        return runes(self._program.execute(value_of(data, budget), budget))


def compile_page(text: str, helpers: Sequence[str] = (), sample: Any = None) -> PageTemplate:
    """Compiles a page with the definitions of helper templates; raises `PageMistake`.

    `sample` is an example of the Python data, whose lists have an element: to read a field that it lacks is a mistake,
    or below a condition a doubt.
    """
    try:
        program = Program(text, page_vocabulary(), definitions(tuple(helpers), page_vocabulary()))
        data = value_of(sample, RenderBudget(ENDLESS))
        fields = FieldCheck(program.parsed, data, "the data", sprig.RESULTS) if sample else None
        refuse([*program.mistakes, *program.certain_failures, *(fields.mistakes if fields else ())])
    except TemplateMistake as mistake:
        raise _placed(mistake, helpers) from mistake
    return PageTemplate(text, program, tuple(_placed(each, helpers) for each in fields.doubts) if fields else ())


def _placed(mistake: TemplateMistake, helpers: Sequence[str]) -> PageMistake:
    """Returns a mistake with its place in the page or in one of the helpers before it."""
    offset, number = mistake.offset, 0
    while number < len(helpers) and offset > len(helpers[number]):
        offset -= len(helpers[number]) + 1
        number += 1
    return PageMistake(mistake, offset, number if number < len(helpers) else None)


def value_of(value: Any, budget: RenderBudget) -> go.Value:
    """Converts a Python value to a Go value; raises `ExecutionError` for one of another type."""
    if (maker := _MAKERS.get(type(value))) is not None:
        return maker(value, budget)
    if isinstance(value, Request):
        facts = go_data.request_facts(value, budget)
        # A link needs the port, which `host` lacks because hosts are compared without it.
        facts.host = go_string(getattr(value, "authority", "")) or facts.host
        return go.Struct(go_data.PAGE_REQUEST, facts)
    if isinstance(value, Mapping):
        return go.Map({go_string(str(key)): value_of(item, budget) for key, item in value.items()})
    if isinstance(value, BaseException):
        return go.Struct(ERROR, value)
    if isinstance(value, msgspec.Struct):
        return go.Struct(_struct_type(type(value)), (value, budget))
    raise go.ExecutionError(f"`{type(value).__name__}` is not a value of a template")


def _metadata(value: template.ObjectMetadata, budget: RenderBudget) -> go.Map:
    budget.spend(len(value.pairs))
    return go.Map({canonical(name.encode()): go_string(text) for name, text in value.pairs}, go.STRING_MAP)


def _time(value: datetime, _budget: RenderBudget) -> go.Struct:
    offset = value.utcoffset()
    seconds = int(offset.total_seconds()) if offset else 0
    zone = "" if seconds else "UTC"
    return go.Struct(TIME, Moment(calendar.timegm(value.utctimetuple()), value.microsecond * 1000, seconds, zone))


ERROR = go.Type(
    "*errors.errorString",
    "ptr",
    opaque=True,
    stringer=lambda value: go_string(str(value.source)),
    methods={b"Error": calling.function(lambda receiver: go_string(str(receiver.source)))},
)

_MAKERS: Mapping[type, Callable[[Any, RenderBudget], go.Value]] = {
    **dict.fromkeys((type(None), bool, int, float, bytes), lambda value, _budget: value),
    str: lambda value, _budget: go_string(value),
    **dict.fromkeys((list, tuple), lambda value, budget: go.Slice([value_of(item, budget) for item in value])),
    datetime: _time,
    User: lambda value, _budget: go_data.user_value(value),
    template.AnyUser: lambda value, _budget: go.Struct(go_data.ANY_USER, value),
    template.HeaderFields: lambda value, budget: header(budget, value.pairs),
    template.ObjectMetadata: _metadata,
    template.TargetData: lambda value, _budget: go.Struct(go_data.LISTED_TARGET, value),
}


@cache
def _struct_type(cls: type[msgspec.Struct]) -> go.Type:
    """Returns Go's type of a struct; its fields are converted when they are read."""
    getters = {_capitalized(name).encode(): _reading(name) for name in cls.__struct_fields__}
    return go.Type(cls.__name__, "struct", getters=getters)


def _reading(name: str) -> Callable[[tuple[Any, RenderBudget]], go.Value]:
    get = attrgetter(name)
    return lambda source: value_of(get(source[0]), source[1])


def _capitalized(name: str) -> str:
    """Converts the name of a field to Go's form: `last_modified` to LastModified, `etag` to ETag."""
    return "".join(_CAPITALS.get(word) or word.capitalize() for word in name.split("_"))


def _human_size(size: int) -> bytes:
    """Formats a size in bytes for people: in powers of a thousand, with one decimal below ten."""
    if size < 10:
        return b"%d B" % size
    power = int(math.log(size) / math.log(1000))
    value = math.floor(size / 1000**power * 10 + 0.5) / 10
    return f"{value:.{0 if value >= 10 else 1}f} {_SIZES[power]}".encode()


def _convert_size(value: go.Value) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    raise calling.wrong_type(value, "int64")


_SIZE = calling.Parameter("int64", _convert_size, calling.INT.literal)
_REQUEST = calling.struct_of(go_data.PAGE_REQUEST.name)


def _now() -> Moment:
    return Moment(0).plus(time.time_ns())


def _scheme(request: go.Struct) -> bytes:
    return go_string(request.source.data.scheme)


def _host(request: go.Struct) -> go.Value:
    return go_data.PAGE_REQUEST.getters[b"Host"](request.source)


_REQUEST_URI = go_data.PAGE_REQUEST.getters[b"RequestURI"]


def _template_of_text(run: Run, dot: go.Value, arguments: Sequence[Evaluate]) -> go.Value:
    """Renders a text as a template, within the budget of the calling template."""
    text, data = [evaluate(run, dot) for evaluate in arguments]
    run.budget.spend(10 + len(text))  # it is parsed while it runs
    try:
        program = Program(runes(text), page_vocabulary())
        refuse(program.mistakes)
    except TemplateMistake as mistake:
        raise go.ExecutionError(str(mistake)) from mistake
    within = Run(program.templates, run.budget)
    within.helpers, within.depth = run.helpers, run.depth
    within.invoke(program.templates[OUTERMOST], go.INVALID if data is None else data)
    return b"".join(within.out)


PAGE_FUNCTIONS: Mapping[str, calling.Function] = {
    **RANDOM,
    "ago": calling.function(lambda value: time_since(value, _now()), calling.ANY),
    "humanSize": calling.function(_human_size, _SIZE),
    "now": calling.function(lambda: go.Struct(TIME, _now())),
    "requestHost": calling.function(_host, _REQUEST),
    "requestScheme": calling.function(_scheme, _REQUEST),
    "requestURI": calling.function(
        lambda request: b"%b://%b%b" % (_scheme(request), _host(request), _REQUEST_URI(request.source)), _REQUEST
    ),
    "toYaml": calling.budgeted(write_yaml, calling.ANY),
    "tpl": calling.special(_template_of_text, calling.STRING, calling.ANY),
}
"""The functions for pages, in addition to rules' functions."""


@cache
def page_vocabulary() -> calling.Vocabulary:
    """Returns the functions that pages may call."""
    return sprig.vocabulary(PAGE_FUNCTIONS, go_data.DATA)
