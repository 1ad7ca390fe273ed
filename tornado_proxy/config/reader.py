"""From YAML nodes to settings: each value by its option's type, a diagnostic for each mistake, and a valid rest.

A mistake in one place hides none in another: a default, or an option's example, stands where a wrong value was. Checks
of the rest ask whether a value is `settled`, so that a stand-in is never judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, assert_never, get_args, get_origin

from tornado_proxy.config import values
from tornado_proxy.config.context import ValidationContext
from tornado_proxy.config.document import MappingEntry, MappingNode, Node, ScalarKind, ScalarNode, SequenceNode
from tornado_proxy.config.model import Settings
from tornado_proxy.config.options import (
    Bounds,
    Constraint,
    Duration,
    Mark,
    Option,
    OptionGroup,
    OptionType,
    Size,
    all_options,
    options_of,
)
from tornado_proxy.config.redaction import bare, enumeration, quote, span_of
from tornado_proxy.config.secrets import HASHES, Reference, Resolver, Secret, SecretMissing
from tornado_proxy.config.values import InvalidValue, OutOfBounds
from tornado_proxy.lang.diagnostic import Diagnostic, Severity, SourceFile, Span, did_you_mean

_INVALID: Any = object()

# Options of s3-proxy that have another place here.
_MOVED = {"keyRewriteList": "write rewrites in rule files, and list these or their directory in `rules`"}


def read(root: Node, shown: SourceFile, directory: Path, resolve: Resolver) -> ValidationContext:
    """Read a document as settings. Paths start from `directory`; messages quote only `shown`."""
    reader = _DocumentReader(shown, directory, resolve)
    place = _NamedNode(root, None, shown)
    settings = reader.attempt(place, reader.value, OptionType(Settings), place)
    return ValidationContext(
        settings=Settings() if settings is _INVALID else settings,
        shown=shown,
        diagnostics=tuple(reader.diagnostics),
        nodes=reader.nodes,
        damaged=frozenset(reader.damaged),
        incomplete=frozenset(reader.incomplete),
    )


@dataclass(frozen=True)  # no slots: `cached_property` needs a place
class _NamedNode:
    """A node, the key that names it, and what messages call it."""

    node: Node
    key: Node | None
    shown: SourceFile
    option: Option | OptionGroup | None = None
    is_item: bool = False

    @cached_property
    def name(self) -> str:
        """The subject of a message."""
        if self.key is None:
            return "the configuration"
        name = quote(self.key, self.shown)
        return f"an item of {name}" if self.is_item else name

    @cached_property
    def text(self) -> str:
        """The value as it may be shown."""
        return bare(self.node, self.shown)

    @cached_property
    def span(self) -> Span:
        """The value if it is a scalar with a text or an item; else its key."""
        if self.key is None:
            return Span(self.shown, self.node.start, self.node.start)
        shows_itself = isinstance(self.node, ScalarNode) and self.node.end > self.node.start
        return span_of(self.node if shows_itself or self.is_item else self.key, self.shown)

    @cached_property
    def key_span(self) -> Span:
        """The key, or the value where there is no key for it alone."""
        return self.span if self.key is None or self.is_item else span_of(self.key, self.shown)

    @cached_property
    def meaning(self) -> str | None:
        """The description of the option, to follow `help:`."""
        told = self.option.description if self.option else ""
        return told[:1].lower() + told[1:].removesuffix(".") if told else None


class _DocumentReader:
    """One run over a document."""

    def __init__(self, shown: SourceFile, directory: Path, resolve: Resolver) -> None:
        self._shown = shown
        self._directory = directory
        self._resolve = resolve
        self._way: list[Node] = []
        self.diagnostics: list[Diagnostic] = []
        self.nodes: dict[int, MappingNode] = {}
        self.damaged: set[int] = set()
        self.incomplete: set[int] = set()

    def attempt(self, place: _NamedNode, read: Callable[..., Any], *arguments: Any) -> Any:
        """The value that `read` returns, or `_INVALID` after a diagnostic at a place."""
        self._way.append(place.node)
        try:
            return read(*arguments)
        except InvalidValue as error:
            advice = place.meaning if isinstance(error, OutOfBounds) else error.help
            self._report(Diagnostic(error.code, f"{place.name} {error.message}", place.span, advice), place.node)
            return _INVALID
        finally:
            self._way.pop()

    def _report(self, diagnostic: Diagnostic, node: Node | None = None) -> None:
        """Note a mistake on the way to the current node; a broken node has been reported before."""
        self.damaged.update(map(id, self._way))
        if not (isinstance(node, ScalarNode) and node.kind is ScalarKind.BROKEN):
            self.diagnostics.append(diagnostic)

    def _section(self, section: type[Any], place: _NamedNode, **given: Any) -> Any:
        """An instance of a section; only a node that is not a mapping raises `InvalidValue`."""
        node = _mapping(place, section)
        given |= self._options(options_of(section), place, section)
        for each in fields(section):
            if option := each.metadata.get("place_of"):
                key = node.fields[option].key if option in node.fields else node
                given[each.name] = span_of(key, self._shown)
        made = section(**given)
        self.nodes[id(made)] = node
        return made

    def _options(self, options: Iterable[Option], place: _NamedNode, owner: type[Any] | OptionGroup) -> dict[str, Any]:
        """The values of options by attribute, and a diagnostic for each name that is unknown or missing."""
        node = _mapping(place, owner)
        inside = owner if isinstance(owner, OptionGroup) else None
        here = {each.name: each for each in options if each.group is inside}
        groups = {each.group.name: each.group for each in options if each.group and each.group is not inside}
        names = dict.fromkeys(
            each.name if each.group is inside or not each.group else each.group.name for each in options
        )
        meant = self._unknown(node, tuple(names))
        found: dict[str, Any] = {}
        for name, option in here.items():
            if name in node.fields:
                found[option.attribute] = self._value_of(option, node.fields[name])
            elif option.is_required and name not in meant:
                self._miss(name, place, owner)
            if option.is_required and found.get(option.attribute, _INVALID) is _INVALID:
                found[option.attribute] = _stand_in(option)
        for name, group in groups.items():
            if name in node.fields:
                entry = node.fields[name]
                inner = _NamedNode(entry.value, entry.key, self._shown, group)
                members = [each for each in options if each.group is group]
                read = self.attempt(inner, self._options, members, inner, group)
                found |= {} if read is _INVALID else read
        return {attribute: value for attribute, value in found.items() if value is not _INVALID}

    def _value_of(self, option: Option, entry: MappingEntry) -> Any:
        place = _NamedNode(entry.value, entry.key, self._shown, option)
        return self.attempt(place, self.value, option.type, place)

    def _unknown(self, node: MappingNode, names: tuple[str, ...]) -> set[str]:
        """Report unknown names; return the options that they probably mean."""
        meant = set()
        for name in node.fields.keys() - set(names):
            key = node.fields[name].key
            self.incomplete.add(id(node))
            message = f"unknown option {quote(key, self._shown)}"
            self._report(Diagnostic("unknown-option", message, span_of(key, self._shown), _instead_of(name, names)))
            meant.add(did_you_mean(name, names) or "")
        return meant

    def _miss(self, name: str, place: _NamedNode, owner: type[Any] | OptionGroup) -> None:
        self.incomplete.add(id(place.node))
        shape = getattr(owner, "shape", None)
        self._report(Diagnostic("missing-option", f"{place.name} lacks `{name}`", place.key_span, shape))

    def value(self, kind: OptionType, place: _NamedNode, name: str | None = None) -> Any:
        """The value of a node; raises `InvalidValue`. `name` is the key of a section that is written by name."""
        node = place.node
        if isinstance(node, ScalarNode) and node.kind in _UNFIT:
            code, message, advice = _UNFIT[node.kind]
            raise InvalidValue(message, getattr(kind.section, "shape", None) or advice, code)
        if kind.is_secret:
            return self._secret(kind, place)
        if kind.section:
            named = name is not None and any(each.name == "name" for each in fields(kind.section))
            return self._section(kind.section, place, **({"name": name} if named else {}))
        found: Any = self._collection(kind, place) if kind.is_list else _scalar(kind, place)
        for mark in kind.marks:
            found = mark.function(found) if isinstance(mark, Constraint) else found
        return self._directory / values.line(found) if kind.base is Path else found

    def _collection(self, kind: OptionType, place: _NamedNode) -> tuple[Any, ...]:
        node = place.node
        if Mark.ONE_OR_MANY in kind.marks and isinstance(node, ScalarNode) and node.kind is ScalarKind.STRING:
            return (self.value(kind.item, place),)
        if not isinstance(node, MappingNode if kind.is_mapping else SequenceNode):
            raise _wrong_type("a mapping" if kind.is_mapping else "a list", place)
        children = self._named(kind, node, place) if isinstance(node, MappingNode) else self._items(kind, node, place)
        if Mark.NOT_EMPTY in kind.marks and not children:
            raise InvalidValue("is empty", code="empty-value")
        return tuple(each for each in children if each is not _INVALID)

    def _items(self, kind: OptionType, node: SequenceNode, place: _NamedNode) -> list[Any]:
        inner = [_NamedNode(item, place.key, self._shown, place.option, is_item=True) for item in node.items]
        return [self.attempt(each, self.value, kind.item, each) for each in inner]

    def _named(self, kind: OptionType, node: MappingNode, place: _NamedNode) -> list[Any]:
        found = []
        for name, (key, value) in node.fields.items():
            if self.attempt(_NamedNode(key, key, self._shown), values.line, name) is not _INVALID:
                inner = _NamedNode(value, key, self._shown, place.option)
                read = self.attempt(inner, self.value, kind.item, inner, name)
                found.append((name, read) if Mark.PAIRS in kind.marks and read is not _INVALID else read)
        return found

    def _secret(self, kind: OptionType, place: _NamedNode) -> Secret:
        reference: Reference = self._section(Reference, place)
        assert isinstance(place.node, MappingNode), "else it is not a section"
        if id(place.node) in self.damaged:
            return Secret("", "")
        if len(reference.kinds) != 1:
            message = f"names {'more than one' if reference.kinds else 'no'} place to find the secret"
            raise InvalidValue(message, Reference.shape, "secret-reference")
        entry = place.node.fields[reference.kind.value]
        is_hash = Mark.MAY_BE_HASHED in kind.marks and reference.text.startswith(HASHES)
        if reference.value is not None and not is_hash:
            message = "a secret stands in the configuration file itself"
            span = span_of(entry.key, self._shown)
            self.diagnostics.append(Diagnostic("plain-secret", message, span, Reference.shape, (), Severity.WARNING))
        try:
            return self._resolve(reference)
        except SecretMissing as missing:
            self.diagnostics.append(
                Diagnostic("missing-secret", missing.message, span_of(entry.value, self._shown), missing.help)
            )
            return Secret(reference.origin, "")


def _mapping(place: _NamedNode, owner: type[Any] | OptionGroup) -> MappingNode:
    if not isinstance(place.node, MappingNode):
        raise _wrong_type("a mapping", place, getattr(owner, "shape", None))
    return place.node


def _scalar(kind: OptionType, place: _NamedNode) -> Any:
    """The value of a scalar in the type of its option, before its checks."""
    node = place.node
    data = node.data if isinstance(node, ScalarNode) else node
    for mark in kind.marks:
        if isinstance(mark, Size | Duration):
            quantity = mark.read(data)
            return round(quantity) if kind.base is int else quantity
    if get_origin(kind.base) is Literal:
        return _choice(get_args(kind.base), data, place)
    expected, accepted = _SCALARS[kind.base]
    if not (isinstance(node, ScalarNode) and node.kind is accepted):
        raise _wrong_type(expected, place)
    bounds = kind.mark(Bounds)
    if bounds and not bounds.lowest <= node.data <= bounds.highest:
        less = node.data < bounds.lowest
        raise OutOfBounds(f"is less than {bounds.lowest}" if less else f"is more than {bounds.highest}")
    return data


def _choice(choices: tuple[str, ...], data: object, place: _NamedNode) -> object:
    if data not in choices:
        near = did_you_mean(place.text, choices)
        advice = f"did you mean `{near}`?" if near else f"the choices are {enumeration(choices)}"
        raise InvalidValue(f"cannot be `{place.text}`", advice)
    return data


def _wrong_type(expected: str, place: _NamedNode, shape: str | None = None) -> InvalidValue:
    return InvalidValue(
        f"must be {expected}, but is {_description(place.node)}", shape or _help(expected, place), "wrong-type"
    )


def _help(expected: str, place: _NamedNode) -> str | None:
    if expected == "a list":
        return "each item begins with `- ` on a line of its own"
    if not isinstance(place.node, ScalarNode):
        return None
    if expected == "a string":
        return f'quote it: `"{place.text}"`'
    fits = expected in _UNQUOTED and place.node.kind is ScalarKind.STRING and _UNQUOTED[expected].fullmatch(place.text)
    return f"write it without quotes: `{place.text}`" if fits else None


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


def _instead_of(name: str, names: tuple[str, ...]) -> str:
    """What may be meant by an unknown option: a similar one here, the same name elsewhere, or what there is."""
    if name in _MOVED:
        return _MOVED[name]
    if near := did_you_mean(name, names):
        return f"did you mean `{near}`?"
    elsewhere = [each.dotted for each in all_options(Settings) if each.path[-1] == name]
    if len(elsewhere) == 1:
        return f"did you mean `{elsewhere[0]}`?"
    return f"the options here are {enumeration(names)}" if len(names) > 1 else f"the only option here is `{names[0]}`"


def _stand_in(option: Option) -> Any:
    """A valid value of a required option, so that the rest can be checked."""
    if option.type.is_secret:
        return Secret("", "")
    if option.type.section:
        required = (each for each in options_of(option.type.section) if each.is_required)
        return option.type.section(**{each.attribute: _stand_in(each) for each in required})
    return option.example if option.example is not None else option.default


_WHOLE_NUMBER, _TRUTH = "a whole number", "`true` or `false`"
_SCALARS: dict[Any, tuple[str, ScalarKind]] = {
    str: ("a string", ScalarKind.STRING),
    Path: ("a string", ScalarKind.STRING),
    int: (_WHOLE_NUMBER, ScalarKind.INTEGER),
    bool: (_TRUTH, ScalarKind.BOOLEAN),
}
_UNQUOTED = {_WHOLE_NUMBER: re.compile(r"-?[0-9]+"), _TRUTH: re.compile(r"true|false")}

# Scalars that no option accepts, whatever it expects.
_UNFIT = {
    ScalarKind.NOTHING: ("empty-value", "has no value", "add a value, or leave the option out"),
    ScalarKind.ODD_NUMBER: (
        "ambiguous-number",
        "is a number that YAML versions read differently",
        "write it in plain decimal, or quote it if it is a name",
    ),
}
