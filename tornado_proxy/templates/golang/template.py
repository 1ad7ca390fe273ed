"""The go dialect of rules: a template compiled at load, rendered for each key that its source matched."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType

from tornado_proxy.goregex.matching import Captures
from tornado_proxy.templates.golang.calling import Function, Vocabulary
from tornado_proxy.templates.golang.checks import Known, check
from tornado_proxy.templates.golang.program import Program
from tornado_proxy.templates.golang.sprig import dates, defaults, encoding, lists, maths, regex, semver, strings, words
from tornado_proxy.templates.golang.standard import INCLUDE, STANDARD
from tornado_proxy.templates.golang.view import facts_of, root
from tornado_proxy.templates.template import (
    RenderBudget,
    RenderError,
    RenderLimits,
    TargetKeyRewriteData,
    TemplateMistake,
    refuse,
    together,
    trimmed,
)

_TOPICS = (dates, defaults, encoding, lists, maths, regex, semver, strings, words)


def functions() -> Mapping[str, Function]:
    """The functions by name; `include` among them, which Helm adds."""
    table: dict[str, Function] = {"include": INCLUDE}
    for topic in _TOPICS:
        table.update(topic.FUNCTIONS)
    return table


_CERTIFICATES = ("CA", "CAWithKey", "PrivateKey", "SelfSignedCert", "SelfSignedCertWithKey", "SignedCert")
_RANDOM = ("Alpha", "AlphaNum", "Ascii", "Bytes", "Int", "Numeric")

REFUSED: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        (
            *("encryptAES", "genSignedCertWithKey", "shuffle", "uuidv4"),
            *(f"gen{each}" for each in _CERTIFICATES),
            *(f"rand{each}" for each in _RANDOM),
        ),
        "its result is random, and a key must be found again",
    )
    | dict.fromkeys(("ago", "now"), "its result depends on the clock, and a key must be found again")
    | dict.fromkeys(("env", "expandenv"), "it reads the environment of the service")
    | dict.fromkeys(("bcrypt", "derivePassword", "htpasswd"), "it is slow on purpose")
    | dict.fromkeys(("buildCustomCert", "decryptAES"), "rules do not handle keys and ciphers")
    | {
        "getHostByName": "it asks the network",
        "tpl": "it would compile a template at each request; templates are compiled when the rules are loaded",
    }
)
"""The functions of sprig that no template can call, each with the reason."""


BUILT_IN: Mapping[str, str] = MappingProxyType(
    {
        "main.userIdentifier": "{{ if .User }}{{ .User.GetIdentifier }}{{ end }}",
        "main.headers.contentType": (
            '{{ if contains "application/json" (.Request.Header.Get "Accept") }}application/json{{ else }}text/html'
            "{{ end }}; charset=utf-8"
        ),
        "main.body.errorJsonBody": '{"error": {{ toJson .Error.Error }}}',
    }
)
"""The bodies of the helpers that s3-proxy's own file of helpers defines, by their names."""

_CALLS = re.compile(r"\{\{.*(?:template|include|block)\b", re.DOTALL)
_DEFINES = re.compile(r'\{\{-?\s*(?:define|block)\s+["`]([^"`]*)["`]')


def calls_helpers(text: str) -> bool:
    """Whether a template may call others by name; most do not, and are compiled without any."""
    return _CALLS.search(text) is not None


def built_in(texts: Sequence[str]) -> str:
    """The definitions of the built-in helpers, except those that a text defines itself: Go allows one of a name."""
    own = {name for text in texts for name in _DEFINES.findall(text)}
    lines = (f'{{{{- define "{name}" }}}}{body}{{{{ end -}}}}' for name, body in BUILT_IN.items() if name not in own)
    return "".join(lines)


def leading(helpers: Sequence[str], text: str) -> str:
    """The definitions of all helpers as they stand before a template's own text."""
    return "".join(f"{each}\n" for each in (built_in([*helpers, text]), *helpers))


LIMITS = RenderLimits()
"""What one rendering of a rule's template may take."""


@dataclass(frozen=True, slots=True)
class GoTemplate:
    """A Go template of a rule."""

    text: str
    _program: Program = field(compare=False, repr=False)
    _known: Known = field(compare=False, repr=False)
    helpers: tuple[str, ...] = field(default=(), repr=False)  # texts that define what it may call

    @property
    def group_references(self) -> tuple[tuple[str, int, int], ...]:
        """The groups that the text names, with their places."""
        return self._known.group_references

    @property
    def reads_user(self) -> bool:
        """Whether it reads from the user where no condition has made sure that there is one."""
        return self._known.reads_user

    def render(self, captures: Captures, data: TargetKeyRewriteData) -> str:
        """The text for one match, line ends removed and ends trimmed; raises `RenderError`."""
        budget = RenderBudget(LIMITS)
        written = self._program.execute(root(facts_of(captures, data, budget)), budget)
        try:
            text = written.decode()
        except UnicodeDecodeError:
            raise RenderError("the template cuts a character in two, so its result is not text") from None
        return trimmed(text)


@cache
def vocabulary() -> Vocabulary:
    """The functions that rules may call."""
    return Vocabulary({**STANDARD, **functions()}, REFUSED)


def compile_template(text: str, names: Mapping[str, int], group_count: int, helpers: Sequence[str] = ()) -> GoTemplate:
    """The template of a text, for a source with these groups; raises `TemplateMistake`.

    `helpers` are texts whose definitions it may call. What is sure to fail once it runs is a mistake here, though Go
    finds it when it runs.
    """
    before = leading(helpers, text) if calls_helpers(text) else ""
    try:
        program = Program(before + text, vocabulary())
        known = check(program.parsed, [*names, *map(str, range(group_count + 1))])
        refuse([*program.mistakes, *program.certain_failures, *known.mistakes])
    except TemplateMistake as mistake:
        raise together(_in_text(each, len(before)) for each in (mistake, *mistake.others)) from mistake
    return GoTemplate(text, program, _without(known, len(before)), tuple(helpers))


def _in_text(mistake: TemplateMistake, start: int) -> TemplateMistake:
    """The mistake at its place in the text that begins at `start`; at its beginning if a helper has the mistake."""
    if mistake.offset >= start:
        end = None if mistake.end is None else mistake.end - start
        return TemplateMistake(str(mistake), mistake.offset - start, end, mistake.help)
    return TemplateMistake(f"a helper template that it calls has a mistake: {mistake}", 0, None, mistake.help)


def _without(known: Known, start: int) -> Known:
    """What is known of the text that begins at `start`."""
    references = ((name, first - start, last - start) for name, first, last in known.group_references if first >= start)
    return replace(known, group_references=tuple(references))
