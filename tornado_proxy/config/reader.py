"""Converts YAML nodes to settings: each value by its option's type, with a diagnostic for each mistake in one run.

A mistake in one place does not hide another. Settings are made only from a document without mistakes, together with the
places of their sections: checks compare options with one another, and point at them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from tornado_proxy.config import document, options, values
from tornado_proxy.config.document import bare, span_of
from tornado_proxy.config.model import Settings
from tornado_proxy.config.options import OptionType, ValuePlace, all_options, members_of
from tornado_proxy.config.secrets import HASHES, Reference, Resolver, Secret, SecretMissing
from tornado_proxy.config.values import InvalidValue, enumeration
from tornado_proxy.rules.diagnostic import Diagnostic, Severity, SourceFile, Span, did_you_mean

_NAME = OptionType(str, (values.line,))
"""A key of a mapping whose names the user chooses."""

# Options of s3-proxy that have another place here.
_MOVED = {"keyRewriteList": "write rewrites in rule files, and list these or their directory in `rules`"}


def read(
    root: document.Node, shown: SourceFile, directory: Path, resolve: Resolver
) -> tuple[Settings | None, list[Diagnostic]]:
    """Reads a document as settings, with paths from `directory`; None if an option is wrong, unknown or missing."""
    reader, preset = _DocumentReader(shown, directory, resolve), {"directory": directory}
    settings = reader.attempt(ValuePlace(root, None, shown), partial(reader.value, OptionType(Settings), preset=preset))
    return settings, reader.diagnostics


def _mapping(place: ValuePlace, owner: type[options.SettingsSection] | options.OptionGroup) -> document.MappingNode:
    """Returns the node as the mapping of a section or a group; raises `InvalidValue` for any other node."""
    if not isinstance(place.node, document.MappingNode):
        is_truth = isinstance(place.node, document.ScalarNode) and place.node.kind is document.ScalarKind.BOOLEAN
        is_switch = is_truth and isinstance(owner, type) and "enabled" in members_of(owner)
        advice = "such as `{enabled: true}`" if is_switch else owner.shape
        raise _wrong_type("a mapping", place, advice)
    return place.node


class _DocumentReader:
    """One run over a document. A value that cannot be read is None, after a diagnostic."""

    def __init__(self, shown: SourceFile, directory: Path, resolve: Resolver) -> None:
        self._shown = shown
        self._directory = directory
        self._resolve = resolve
        self._failures = 0
        self.diagnostics: list[Diagnostic] = []

    def attempt(self, place: ValuePlace, read: Callable[[ValuePlace], Any]) -> Any:
        """The result of `read` for a place, or None after a diagnostic."""
        try:
            return read(place)
        except InvalidValue as error:
            self._failures += 1
            # A broken node has been reported by the document.
            if not (isinstance(place.node, document.ScalarNode) and place.node.kind is document.ScalarKind.BROKEN):
                message = f"{place.subject} {error.message}"
                self.diagnostics.append(Diagnostic(error.code, message, place.span, error.help))
            return None

    def _report(self, code: str, message: str, span: Span | None, help: str | None) -> None:
        self._failures += 1
        self.diagnostics.append(Diagnostic(code, message, span, help))

    def value(self, kind: OptionType, place: ValuePlace, *, preset: Mapping[str, Any] = {}) -> Any:
        """The value of a node; `preset` has what a section has without options."""
        node = place.node
        if isinstance(node, document.ScalarNode) and node.kind in _UNFIT:
            code, message, advice = _UNFIT[node.kind]
            raise InvalidValue(message, (kind.section and kind.section.shape) or advice, code)
        if kind.is_secret:
            return self._secret(kind, place)
        if kind.section:
            return self._section(kind.section, place, preset)
        value: Any = self._collection(kind, place) if kind.is_list else _scalar(kind, place)
        for mark in kind.marks:
            value = mark(value) if callable(mark) and value is not None else value
        return self._directory / values.line(value) if kind.base is Path else value

    def _section(self, section: type[options.SettingsSection], place: ValuePlace, preset: Mapping[str, Any]) -> Any:
        before, attributes = self._failures, {**preset, **self._options(section, None, place)}
        return section(**attributes, place=place) if self._failures == before else None

    def _options(
        self, section: type[options.SettingsSection], group: options.OptionGroup | None, place: ValuePlace
    ) -> dict[str, Any]:
        """The values of options by attribute, and a diagnostic for each name that is unknown or missing."""
        owner, members = group or section, members_of(section, group)
        node = _mapping(place, owner)
        meant = self._unknown(node, section, group)
        attributes: dict[str, Any] = {}
        for name, member in members.items():
            if name in node.fields:
                key, value = node.fields[name]
                inner = ValuePlace(value, key, self._shown)
                if isinstance(member, options.Option):
                    attributes[member.attribute] = self.attempt(inner, partial(self.value, member.type))
                else:
                    attributes |= self.attempt(inner, partial(self._options, section, member)) or {}
            elif isinstance(member, options.Option) and member.is_required and name not in meant:
                here = place.name if place.named_by and not place.is_item else place.span
                self._report("missing-option", f"{place.subject} lacks `{name}`", here, owner.shape)
        return attributes

    def _unknown(
        self, node: document.MappingNode, section: type[options.SettingsSection], group: options.OptionGroup | None
    ) -> set[str | None]:
        """Reports unknown names, and returns the options that they probably mean."""
        names = tuple(members_of(section, group))
        unknown = node.fields.keys() - set(names)
        for name in unknown:
            span = span_of(node.fields[name].key, self._shown)
            self._report("unknown-option", f"unknown option `{bare(span)}`", span, _instead_of(name, section, group))
        return {did_you_mean(name.partition(":")[0], names) for name in unknown}

    def _collection(self, kind: OptionType, place: ValuePlace) -> tuple[Any, ...] | None:
        node, before = place.node, self._failures
        may_be_one = options.Mark.ONE_OR_MANY in kind.marks
        if may_be_one and isinstance(node, document.ScalarNode) and node.kind is document.ScalarKind.STRING:
            return (self.value(kind.item, place),)
        if not isinstance(node, document.MappingNode if kind.is_mapping else document.SequenceNode):
            a_list = "a string or a list" if may_be_one else "a list"
            raise _wrong_type("a mapping" if kind.is_mapping else a_list, place)
        if isinstance(node, document.MappingNode):
            children = self._named(kind, node)
        else:
            inner = [ValuePlace(item, place.named_by, self._shown, is_item=True) for item in node.items]
            children = [self.attempt(each, partial(self.value, kind.item)) for each in inner]
        if options.Mark.NOT_EMPTY in kind.marks and not children:
            raise InvalidValue("is empty", code="empty-value")
        return tuple(children) if self._failures == before else None

    def _named(self, kind: OptionType, node: document.MappingNode) -> list[Any]:
        sections = []
        for name, (key, value) in node.fields.items():
            self.attempt(ValuePlace(key, key, self._shown), partial(self.value, _NAME))
            inner = ValuePlace(value, key, self._shown)
            preset = {"name": name} if options.Mark.BY_NAME in kind.marks else {}
            read = self.attempt(inner, partial(self.value, kind.item, preset=preset))
            sections.append((name, read) if options.Mark.PAIRS in kind.marks else read)
        return sections

    def _secret(self, kind: OptionType, place: ValuePlace) -> Secret | None:
        reference: Reference | None = self._section(Reference, place, {})
        if reference is None:
            return None
        if len(reference.kinds) != 1:
            message = f"names {'more than one' if reference.kinds else 'no'} place to find the secret"
            raise InvalidValue(message, Reference.shape, "secret-reference")
        is_hash = options.Mark.MAY_BE_HASHED in kind.marks and reference.text.startswith(HASHES)
        if reference.value is not None and not is_hash:
            message, span = "a secret is in the configuration file itself", reference.place.key("value")
            found = Diagnostic("plain-secret", message, span, Reference.shape, severity=Severity.WARNING)
            self.diagnostics.append(found)
        try:
            return self._resolve(reference)
        except SecretMissing as missing:
            span = reference.place.value(reference.kind)
            self.diagnostics.append(Diagnostic("missing-secret", missing.message, span, missing.help))
            return Secret(reference.origin, "")


def _scalar(kind: OptionType, place: ValuePlace) -> Any:
    """The value of a scalar in the type of its option, before its checks."""
    node = place.node
    data = node.data if isinstance(node, document.ScalarNode) else node
    if get_origin(kind.base) is Literal:
        if isinstance(data, bool) and isinstance(node, document.ScalarNode):
            data = node.text  # the choice `off` is false in YAML 1.1
        if data not in (choices := get_args(kind.base)):
            near = did_you_mean(place.text, choices)
            advice = f"did you mean `{near}`?" if near else f"the choices are {enumeration(choices)}"
            raise InvalidValue(f"cannot be `{place.text}`", advice)
        return data
    # A number with a unit is a string.
    if not (kind.bounds and kind.bounds.units):
        expected, accepted = _SCALARS[kind.base]
        if not (isinstance(node, document.ScalarNode) and node.kind is accepted):
            raise _wrong_type(expected, place)
    if kind.bounds is None:
        return data
    number = kind.bounds.read(data)
    if kind.base is float:
        return float(number)
    if number != int(number):
        raise InvalidValue("has a fraction of a second", "a whole number of seconds")
    return int(number)


def _wrong_type(expected: str, place: ValuePlace, shape: str | None = None) -> InvalidValue:
    node = place.node
    kinds = {document.SequenceNode: "a list", document.MappingNode: "a mapping"}
    kind = node.kind.value if isinstance(node, document.ScalarNode) else kinds[type(node)]
    advice = shape or _FORMS[expected]
    if not shape and isinstance(node, document.ScalarNode):
        unquoted = _UNQUOTED.get(expected) if node.kind is document.ScalarKind.STRING else None
        if expected.startswith("a string"):
            advice = f'quote it: `"{place.text}"`'
        elif unquoted and unquoted.fullmatch(place.text):
            advice = f"write it without quotes: `{place.text}`"
    return InvalidValue(f"must be {expected}, but is {kind}", advice, "wrong-type")


def _instead_of(name: str, section: type[options.SettingsSection], group: options.OptionGroup | None) -> str:
    """The help for an unknown option: a similar one here, the same name below or elsewhere, or all options here."""
    names = tuple(members_of(section, group))
    if name in _MOVED:
        return _MOVED[name]
    if name.partition(":")[0] in names:
        return "write a space after the `:`"
    if near := did_you_mean(name, names):
        return f"did you mean `{near}`?"
    # A line with too little indentation belongs to a section beside it. Sections at the top have too much in common.
    below = [] if section is Settings else [each for each in all_options(section, (), group) if len(each.path) == 2]
    for found in (below, all_options(Settings)):
        places = [each.dotted for each in found if each.path[-1] == name]
        if len(places) == 1:
            return f"did you mean `{places[0]}`?"
    return f"the options here are {enumeration(names)}" if len(names) > 1 else f"the only option here is `{names[0]}`"


_WHOLE_NUMBER, _TRUTH = "a whole number", "`true` or `false`"
_ITEMS, _ONE_TEXT = "each item begins with `- ` on a line of its own", "write one text in its place"
_FORMS = {
    "a mapping": "write each option on its own line, as `name: value`",
    "a list": _ITEMS,
    "a string or a list": _ITEMS,
    "a string": _ONE_TEXT,
    _WHOLE_NUMBER: "write one number in digits, without a unit or a fraction",
    _TRUTH: "write `true` or `false`, without quotes",
}
_SCALARS: dict[Any, tuple[str, document.ScalarKind]] = {
    str: ("a string", document.ScalarKind.STRING),
    Path: ("a string", document.ScalarKind.STRING),
    values.GuardedUrl: ("a string", document.ScalarKind.STRING),
    int: (_WHOLE_NUMBER, document.ScalarKind.INTEGER),
    bool: (_TRUTH, document.ScalarKind.BOOLEAN),
}
_UNQUOTED = {_WHOLE_NUMBER: re.compile(r"-?[0-9]+"), _TRUTH: re.compile(r"true|false")}

# Scalars that no option accepts, whatever it expects.
_UNFIT = {
    document.ScalarKind.NOTHING: ("empty-value", "has no value", "add a value, or leave the option out"),
    document.ScalarKind.ODD_NUMBER: (
        "ambiguous-number",
        "is a number that YAML versions read differently",
        "write it in plain decimal, or quote it if it is a name",
    ),
}
