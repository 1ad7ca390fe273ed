"""The go dialect of rules: the groups and fields that a template names, and its need of a user, are checked at load.

Templates may call others by name: those of their target, and those of s3-proxy's own file of helpers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from gotemplate import sprig
from gotemplate.regexp.matching import Captures
from gotemplate.template.calling import Vocabulary
from gotemplate.template.errors import DEFAULT_LIMITS, RenderBudget, RenderError, TemplateMistake, refuse
from gotemplate.template.fields import ENDLESS, FieldCheck
from gotemplate.template.parser import ParsedTemplate
from gotemplate.template.program import Program, definitions
from gotemplate.template.text import Number, runes
from tornado_proxy.templates.data import TargetKeyRewriteData
from tornado_proxy.templates.go.view import DATA, root, sample
from tornado_proxy.templates.template import trimmed, unknown_group


class TemplateCheck:
    """A check of the parts of a template that may run; its text begins at `start`, after those of its helpers."""

    def __init__(self, parsed: ParsedTemplate, groups: Iterable[str], start: int = 0) -> None:
        names = frozenset(groups)
        data = sample(names, RenderBudget(ENDLESS))
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
                        self.mistakes.append(unknown_group(name, each.start, each.end, names))
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

    def render(self, captures: Captures, data: TargetKeyRewriteData) -> str:
        """Returns the text for one match, without line ends and with both ends trimmed; raises `RenderError`."""
        budget = RenderBudget(DEFAULT_LIMITS)
        written = self._program.execute(root(captures, data, budget), budget)
        try:
            text = written.decode()
        except UnicodeDecodeError:
            raise RenderError("the template cuts a character in two, so its result is not text") from None
        return trimmed(text)


@cache
def vocabulary() -> Vocabulary:
    """Returns the functions that rules may call."""
    return sprig.vocabulary(data=DATA)


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
