"""From a YAML text to nodes, with every fault that the text has before anybody asks what it means.

PyYAML's events are composed here because its own composer recurses: where libyaml backs it, a file of nothing but `[`
overflows the stack and ends the process. Here depth and expanded size are bounded. No tag is obeyed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, cast

import yaml
from yaml.resolver import Resolver

from tornado_proxy.config.nodes import MappingEntry, MappingNode, Node, ScalarKind, ScalarNode, SequenceNode, merged

DEEPEST = 64
"""How deep collections may nest, aliases followed."""

LARGEST = 200_000
"""How many nodes a document may have, aliases followed: a few lines of aliases could stand for billions."""

# YAML 1.1, 5.1: what a text may hold. PyYAML's two parsers place the rest differently, so it is looked for here.
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CONFLICT = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?=[ \r\n]|\Z)", re.MULTILINE)
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RESOLVER = Resolver()
_TAG = "tag:yaml.org,2002:"
_DECIMAL_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_DECIMAL_FRACTION = re.compile(r"-?[0-9]{1,15}\.[0-9]{1,9}")
_TAGS_OF_STRINGS = ("!", _TAG + "str")
_TAGS_OF_COLLECTIONS = ("!", _TAG + "map", _TAG + "seq")
_NO_TAGS = ("a tag has no meaning here", "write the value without the `!…`")
_TOO_MUCH = f"with aliases followed, this nests deeper than {DEEPEST} levels or holds more than {LARGEST} values"
_KINDS = {
    "str": ScalarKind.STRING,
    "int": ScalarKind.INTEGER,
    "float": ScalarKind.FRACTION,
    "bool": ScalarKind.BOOLEAN,
    "null": ScalarKind.NOTHING,
    "timestamp": ScalarKind.DATE,
    "merge": ScalarKind.MERGE,
    "value": ScalarKind.STRING,
}
_PLAIN_NUMBERS = {ScalarKind.INTEGER: _DECIMAL_INTEGER, ScalarKind.FRACTION: _DECIMAL_FRACTION}


@dataclass(frozen=True, slots=True)
class Fault:
    """A mistake in the YAML: `{}` in message and help stands for the text at its place, as it may be shown."""

    code: str
    message: str
    start: int
    end: int
    help: str | None = None
    note: tuple[str, int, int] | None = None  # a second place, and what to say of it


@dataclass(frozen=True, slots=True)
class Composed:
    """The documents of a text and their faults; `whole` unless the parser gave up before the end."""

    documents: tuple[Node, ...] = ()
    faults: tuple[Fault, ...] = ()
    whole: bool = True

    @property
    def root(self) -> Node | None:
        """The document that counts; None for a text without one."""
        return self.documents[0] if self.documents else None


def compose(text: str) -> Composed:
    """The nodes of a YAML text; never raises."""
    unprintable = _UNPRINTABLE.search(text)
    if unprintable:
        return Composed((), (_unprintable(unprintable),), whole=False)
    conflicts = tuple(map(_conflict, _CONFLICT.finditer(text)))
    if conflicts:
        return Composed((), conflicts, whole=False)
    return _Composer(text).run()


def _unprintable(found: re.Match[str]) -> Fault:
    message = f"the character U+{ord(found.group()):04X} cannot stand in YAML"
    return Fault("yaml-syntax", message, found.start(), found.end(), 'write it as an escape within "…"')


def _conflict(found: re.Match[str]) -> Fault:
    message = f"merge conflict marker `{found.group()}`"
    return Fault("yaml-syntax", message, *found.span(), "resolve the conflict and remove its markers")


class _Mark(Protocol):
    """A place, as both parsers of PyYAML have it."""

    index: int  # in code points


class _Stopped(Exception):
    """Composing went as far as it may."""


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come yet; `size` and `height` are those of its expanded content."""

    event: yaml.CollectionStartEvent
    nodes: list[Node] = field(default_factory=list)
    size: int = 1
    height: int = 0


@dataclass(frozen=True, slots=True)
class _Part:
    """A finished node, and how much it is once its aliases are expanded."""

    node: Node
    size: int = 1
    height: int = 0


class _Composer:
    """One run over a text's events."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._reached = 0  # where the last text that belongs to a node ended
        self._open: list[_Open] = []
        self._anchors: dict[str, _Part] = {}
        self._documents: list[Node] = []
        self._faults: list[Fault] = []

    def run(self) -> Composed:
        """Compose all documents, or as far as the parser comes."""
        whole = False
        try:
            for event in yaml.parse(self._text, Loader=_LOADER):
                self._take(event)
            whole = True
        except yaml.MarkedYAMLError as error:
            self._faults.append(self._syntax_fault(error))
        except _Stopped:
            pass
        return Composed(tuple(self._documents), tuple(self._faults), whole=whole)

    def _syntax_fault(self, error: yaml.MarkedYAMLError) -> Fault:
        start, end = self._point(error.problem_mark)
        complaint = _describe(error.problem or "", self._text[start:end])
        note = (complaint.context, *self._point(error.context_mark)) if complaint.context else None
        return Fault("yaml-syntax", complaint.message, start, end, complaint.help, note)

    def _point(self, mark: _Mark | None) -> tuple[int, int]:
        index = min(mark.index, len(self._text)) if mark else len(self._text)
        return index, min(index + 1, len(self._text))

    def _take(self, event: yaml.Event) -> None:
        match event:
            case yaml.ScalarEvent():
                self._reached = _range(event)[1]
                self._add(self._anchored(event, _Part(self._scalar(event))), event)
            case yaml.AliasEvent():
                self._reached = _range(event)[1]
                self._add(self._alias(event), event)
            case yaml.CollectionStartEvent():
                self._begin(event)
            case yaml.CollectionEndEvent():
                self._close(event)
            case yaml.DocumentStartEvent():
                self._begin_document(event)

    def _begin_document(self, event: yaml.DocumentStartEvent) -> None:
        self._anchors.clear()
        if self._documents:
            cure = "a configuration is one document: remove the `---`"
            self._fault(event, "a second document begins here", cure)

    def _fault(self, place: yaml.Event, message: str, help: str | None = None) -> None:
        self._faults.append(Fault("unsupported-yaml", message, *_range(place), help))

    def _scalar(self, event: yaml.ScalarEvent) -> ScalarNode:
        kind = self._tagged_kind(event) if event.tag else _plain_kind(event)
        return ScalarNode(*_range(event), kind, event.value)

    def _tagged_kind(self, event: yaml.ScalarEvent) -> ScalarKind:
        if event.tag in _TAGS_OF_STRINGS:
            return ScalarKind.STRING
        self._fault(event, *_NO_TAGS)
        return ScalarKind.BROKEN

    def _begin(self, event: yaml.CollectionStartEvent) -> None:
        if event.tag and event.tag not in _TAGS_OF_COLLECTIONS:
            self._fault(event, *_NO_TAGS)
        if len(self._open) == DEEPEST:
            self._fault(event, _TOO_MUCH)
            raise _Stopped
        self._open.append(_Open(event))

    def _close(self, event: yaml.CollectionEndEvent) -> None:
        done = self._open.pop()
        if done.event.flow_style:
            self._reached = _range(event)[1]
        start, _ = _range(done.event)
        end = max(start, self._reached)
        node: Node
        if isinstance(done.event, yaml.MappingStartEvent):
            entries = tuple(MappingEntry(*pair) for pair in zip(done.nodes[::2], done.nodes[1::2], strict=True))
            self._faults += _faults_of_keys(entries)
            node = MappingNode(start, end, entries)
        else:
            node = SequenceNode(start, end, tuple(done.nodes))
        self._add(self._anchored(done.event, _Part(node, done.size, done.height)), event)

    def _anchored(self, event: yaml.NodeEvent, part: _Part) -> _Part:
        if event.anchor:
            self._anchors[event.anchor] = part
        return part

    def _alias(self, event: yaml.AliasEvent) -> _Part:
        inside = any(each.event.anchor == event.anchor for each in self._open)
        if event.anchor in self._anchors and not inside:
            return self._anchors[event.anchor]
        self._fault(event, "`{}` stands inside what it names" if inside else "`{}` names no anchor above it")
        return _Part(ScalarNode(*_range(event), ScalarKind.BROKEN, ""))

    def _add(self, part: _Part, event: yaml.Event) -> None:
        if not self._open:
            self._documents.append(part.node)
            return
        parent = self._open[-1]
        parent.nodes.append(part.node)
        parent.size += part.size
        parent.height = max(parent.height, part.height + 1)
        if parent.size > LARGEST or len(self._open) + part.height > DEEPEST:
            self._fault(event, _TOO_MUCH)
            raise _Stopped


def _range(event: yaml.Event) -> tuple[int, int]:
    return cast("_Mark", event.start_mark).index, cast("_Mark", event.end_mark).index


def _plain_kind(event: yaml.ScalarEvent) -> ScalarKind:
    tag: str = _RESOLVER.resolve(yaml.ScalarNode, event.value, event.implicit)  # type: ignore[no-untyped-call] # PyYAML
    kind = _KINDS[tag.removeprefix(_TAG)]
    plain_number = _PLAIN_NUMBERS.get(kind)
    return ScalarKind.ODD_NUMBER if plain_number and not plain_number.fullmatch(event.value) else kind


def _faults_of_keys(entries: Iterable[MappingEntry]) -> Iterator[Fault]:
    seen: dict[tuple[ScalarKind, str], ScalarNode] = {}
    for entry in entries:
        key = entry.key
        if not isinstance(key, ScalarNode):
            yield Fault("bad-key", "a key must be a string", key.start, key.end)
        elif (key.kind, key.text) in seen:
            first = seen[key.kind, key.text]
            note = ("first given here", first.start, first.end)
            yield Fault("duplicate-key", "`{}` is given twice", key.start, key.end, None, note)
        else:
            seen[key.kind, key.text] = key
            yield from _faults_of_key(entry, key)


def _faults_of_key(entry: MappingEntry, key: ScalarNode) -> Iterator[Fault]:
    if key.kind is ScalarKind.MERGE:
        sources = entry.value.items if isinstance(entry.value, SequenceNode) else (entry.value,)
        if len(merged(entry)) != len(sources):
            yield Fault("unsupported-yaml", "`<<` takes a mapping or a list of mappings", key.start, key.end)
    elif key.kind is ScalarKind.NOTHING:
        yield Fault("bad-key", "a key is missing here", key.start, key.end)
    elif key.kind not in (ScalarKind.STRING, ScalarKind.BROKEN):
        yield Fault("bad-key", f"the key `{{}}` is {key.kind.value}", key.start, key.end, 'quote it: `"{}"`')


# PyYAML has two parsers, one in C, which word the same mistake differently; both are known here. None of these words
# quotes the file, so that none can quote a secret.
@dataclass(frozen=True, slots=True)
class _Complaint:
    """A mistake in words; `context` describes the second place that the parser names."""

    message: str
    help: str | None = None
    context: str | None = None


_SAME_COLUMN = "the lines of one mapping or list begin in the same column, with spaces and no tabs"

_START = _Complaint("a value cannot begin with this character", "quote the value")
_COLON = _Complaint(
    "a `:` cannot stand here", "begin a nested mapping on its own line; quote a value that contains `: `"
)
_NO_COLON = _Complaint(
    "this is neither `key: value` nor part of the value above", "a key is followed by `:` and a space"
)
_MAPPING = _Complaint("this does not fit the mapping that it stands in", _SAME_COLUMN, "the mapping begins here")
_LIST = _Complaint("this does not fit the list that it stands in", _SAME_COLUMN, "the list begins here")
_BLOCK = _Complaint("this does not fit the mapping or list that it stands in", _SAME_COLUMN, "it begins here")
_DASH = _Complaint("a `- ` cannot stand here", "begin the list on its own line")
_BRACKET = _Complaint("a `,` or the closing `]` is missing", None, "the list begins here")
_BRACE = _Complaint("a `,` or the closing `}` is missing", None, "the mapping begins here")
_ENDLESS = _Complaint("a quoted string never ends", None, "it begins here")
_ESCAPE = _Complaint("no such escape in a string between double quotes", "double the backslash, or use single quotes")
_INDICATOR = _Complaint("this cannot stand behind `|` or `>`", "begin the text on the next line")
_OUTSIDE = _Complaint("this stands outside of the document", "a configuration is one mapping")
_DIRECTIVE = _Complaint("this directive has no meaning here", "leave the line with `%` out")
_NO_VALUE = _Complaint("a value is missing here")
_NO_NAME = _Complaint("the name of an anchor or alias is missing", "quote a value that begins with `&` or `*`")
_TAB = _Complaint("a tab indents this line", "indent with spaces")
_TAGGED = _Complaint("a tag has no meaning here", "quote a value that begins with `!`")
_UNKNOWN = _Complaint("from here on the text cannot be read as YAML", _SAME_COLUMN)

# The first fragment that the parser's own words contain decides.
_COMPLAINTS = (
    ("cannot start any token", _START),
    ("mapping values are not allowed", _COLON),
    ("could not find expected ':'", _NO_COLON),
    ("did not find expected key", _MAPPING),
    ("did not find expected '-' indicator", _LIST),
    ("expected <block end>", _BLOCK),
    ("sequence entries are not allowed", _DASH),
    ("',' or ']'", _BRACKET),
    ("',' or '}'", _BRACE),
    ("unexpected end of stream", _ENDLESS),
    ("unexpected document", _ENDLESS),
    ("escape", _ESCAPE),
    ("decimal number", _ESCAPE),  # libyaml: "hexdecimal"
    ("comment or line break", _INDICATOR),
    ("chomping or indentation", _INDICATOR),
    ("<document start>", _OUTSIDE),
    ("directive", _DIRECTIVE),
    ("incompatible YAML", _DIRECTIVE),
    ("node content", _NO_VALUE),
    ("alphabetic or numeric character", _NO_NAME),
    ("undefined tag handle", _TAGGED),
)


def _describe(problem: str, character: str = "") -> _Complaint:
    """The parser's complaint in our words; `character` is the one that it stopped at."""
    if character == "\t":
        return _TAB
    return next((complaint for fragment, complaint in _COMPLAINTS if fragment in problem), _UNKNOWN)
