"""What pydantic objected to, as diagnostics in our own words; what they quote is only what may be shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import assert_never

from pydantic_core import ErrorDetails

from tornado_proxy.config.nodes import Kind, MappingNode, Node, ScalarNode, SequenceNode
from tornado_proxy.config.options import Location, option_at, options, section_at
from tornado_proxy.config.quoting import bare, enumeration, quote, span_of
from tornado_proxy.config.reading import KEY, Reading, Trace, trace
from tornado_proxy.config.values import Misfit, OutOfBounds
from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.source import SourceFile, Span
from tornado_proxy.lang.suggestion import did_you_mean

# What somebody who comes from s3-proxy looks for in another place.
_MOVED = {"keyRewriteList": "rewrites stand in rule files: name these, or their directory, under `rules`"}


def mistakes(reading: Reading, shown: SourceFile) -> Iterator[Diagnostic]:
    """A diagnostic for each error of a reading, but for those that another one explains."""
    misspelt = {location for error in reading.errors if (location := _meant(error))}
    for error in reading.errors:
        mistake = _Mistake(error, trace(reading.root, error["loc"]), shown)
        explained = mistake.kind is Kind.BROKEN and not mistake.speaks_of_key
        if not explained and not (mistake.type == "missing" and error["loc"] in misspelt):
            yield _told(mistake)


def _meant(error: ErrorDetails) -> Location | None:
    """The location that an unknown option would have if it were spelt right."""
    *way, name = error["loc"] or ("",)
    near = did_you_mean(str(name), _options_at(tuple(way))) if error["type"] == "extra_forbidden" else None
    return (*way, near) if near else None


def _options_at(location: Location) -> list[str]:
    section = section_at(location)
    assert section, "only a section has options"
    return [str(field.alias) for field in section.model_fields.values()]


@dataclass(frozen=True, slots=True)
class _Mistake:
    """An error of pydantic's, and the way to its place."""

    error: ErrorDetails
    trace: Trace
    shown: SourceFile

    @property
    def type(self) -> str:
        """Pydantic's name for the mistake."""
        return self.error["type"]

    @property
    def speaks_of_key(self) -> bool:
        """Whether the value does not matter."""
        return self.type in _OF_KEYS or self.error["loc"][-1:] == (KEY,)

    @property
    def subject(self) -> Location:
        """The location as far as there are nodes: of a missing option, the section that lacks it."""
        return self.error["loc"][: len(self.trace.nodes) - 1]

    @property
    def kind(self) -> Kind | None:
        """The kind of the scalar that stands there; None for a section or a list."""
        return self.trace.node.kind if isinstance(self.trace.node, ScalarNode) else None

    @property
    def name(self) -> str:
        """How messages call the place."""
        if not self.subject:
            return "the configuration"
        name = quote(self.trace.keys[-1], self.shown)
        return f"an item of {name}" if isinstance(self.subject[-1], int) else name

    @property
    def text(self) -> str:
        """The value as it may be shown."""
        return bare(self.trace.node, self.shown)

    @property
    def place(self) -> Span:
        """A value if it is a scalar with a text, else its key; of an item, its first line."""
        node = self.trace.node
        if not self.subject:
            return Span(self.shown, node.start, node.start)
        shows_itself = isinstance(node, ScalarNode) and node.end > node.start and not self.speaks_of_key
        return span_of(node if shows_itself or isinstance(self.subject[-1], int) else self.trace.keys[-1], self.shown)

    @property
    def shape(self) -> str | None:
        """How the section is written that belongs there."""
        section = section_at(self.subject)
        return section.shape if section else None

    @property
    def meaning(self) -> str | None:
        """What the option means."""
        option = option_at(self.subject)
        described = option.field.description if option else None
        return described[0].lower() + described[1:].removesuffix(".") if described else None

    def diagnostic(self, code: str, message: str, help: str | None = None) -> Diagnostic:
        """A diagnostic at the place, whose message follows the name."""
        return Diagnostic(code, f"{self.name} {message}", self.place, help)


def _told(mistake: _Mistake) -> Diagnostic:
    if mistake.type in _OF_KEYS:
        return _OF_KEYS[mistake.type](mistake)
    if mistake.kind in _UNFIT and not mistake.speaks_of_key:
        code, message, cure = _UNFIT[mistake.kind]
        return mistake.diagnostic(code, message, mistake.shape or cure)
    return _OF_VALUES.get(mistake.type, _wrong_type)(mistake)


def _unknown_option(mistake: _Mistake) -> Diagnostic:
    key = mistake.trace.keys[-1]
    cure = _instead_of(mistake.error["loc"])
    return Diagnostic(
        "unknown-option", f"unknown option {quote(key, mistake.shown)}", span_of(key, mistake.shown), cure
    )


def _instead_of(location: Location) -> str | None:
    """What may be meant by an unknown option: a similar one here, the same name elsewhere, or what there is."""
    name = str(location[-1])
    here = _options_at(location[:-1])
    elsewhere = [option.dotted for option in options() if option.name == name]
    if name in _MOVED:
        return _MOVED[name]
    if near := did_you_mean(name, here):
        return f"did you mean `{near}`?"
    if len(elsewhere) == 1:
        return f"did you mean `{elsewhere[0]}`?"
    return f"the options here are {enumeration(here)}" if len(here) > 1 else f"the only option here is `{here[0]}`"


def _missing(mistake: _Mistake) -> Diagnostic:
    return mistake.diagnostic("missing-option", f"lacks `{mistake.error['loc'][-1]}`", mistake.shape)


def _misfit(mistake: _Mistake) -> Diagnostic:
    misfit: Misfit = mistake.error["ctx"]["error"]
    cure = mistake.meaning if isinstance(misfit, OutOfBounds) else misfit.help
    return mistake.diagnostic(misfit.code, misfit.message, cure)


def _choice(mistake: _Mistake) -> Diagnostic:
    choices = re.findall(r"'([^']*)'", mistake.error["ctx"]["expected"])
    near = did_you_mean(mistake.text, choices)
    cure = f"did you mean `{near}`?" if near else f"the choices are {enumeration(choices)}"
    return mistake.diagnostic("bad-value", f"cannot be `{mistake.text}`", cure)


def _bound(mistake: _Mistake) -> Diagnostic:
    ((relation, bound),) = mistake.error["ctx"].items()
    return mistake.diagnostic("bad-value", f"is {_RELATIONS[relation]} than {bound}", mistake.meaning)


def _too_short(mistake: _Mistake) -> Diagnostic:
    return mistake.diagnostic("empty-value", "is empty", mistake.shape)


def _wrong_type(mistake: _Mistake) -> Diagnostic:
    expected = _EXPECTED.get(mistake.type, "a mapping")
    message = f"must be {expected}, but is {_description(mistake.trace.node)}"
    return mistake.diagnostic("wrong-type", message, _cure(mistake, expected))


def _cure(mistake: _Mistake, expected: str) -> str | None:
    match expected:
        case "a string":
            return f'quote it: `"{mistake.text}"`' if mistake.kind else None
        case "a list":
            return "each item begins with `- ` on a line of its own"
        case "a mapping":
            return mistake.shape
        case _:
            fits = mistake.kind is Kind.STRING and _UNQUOTED[mistake.type].fullmatch(mistake.text)
            return f"write it without quotes: `{mistake.text}`" if fits else None


def _description(node: Node) -> str:
    match node:
        case ScalarNode():
            return node.kind.value
        case SequenceNode():
            return "a list"
        case MappingNode():
            return "a mapping"
        case _:
            assert_never(node)


_Telling = Callable[[_Mistake], Diagnostic]

_OF_KEYS: dict[str, _Telling] = {"extra_forbidden": _unknown_option, "missing": _missing}
_OF_VALUES: dict[str, _Telling] = {
    "value_error": _misfit,
    "literal_error": _choice,
    "greater_than_equal": _bound,
    "less_than_equal": _bound,
    "too_short": _too_short,
}
_RELATIONS = {"ge": "less", "le": "more"}
_EXPECTED = {
    "string_type": "a string",
    "int_type": "a whole number",
    "bool_type": "`true` or `false`",
    "list_type": "a list",
}
_UNQUOTED = {"int_type": re.compile(r"-?[0-9]+"), "bool_type": re.compile(r"true|false")}

# Scalars that no option takes, whatever it expects.
_UNFIT: dict[Kind | None, tuple[str, str, str]] = {
    Kind.NOTHING: ("empty-value", "has no value", "give it one, or leave the option out"),
    Kind.ODD_NUMBER: (
        "ambiguous-number",
        "is a number that YAML versions read differently",
        "write it in plain decimal, or quote it if it is a name",
    ),
}
