"""A YAML text as a tree of nodes with their places, and all faults of the text itself.

PyYAML composes the nodes. Tags are ignored, and the number of nodes after the expansion of aliases is limited. The
depth is checked before a composer reads the text: libyaml's is recursive, and a file of nothing but `[` would overflow
the stack and end the process.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import msgspec
import yaml

from tornado_proxy.config.limits import DEEPEST_DOCUMENT, LONGEST_QUOTED, MOST_NODES
from tornado_proxy.config.values import Unshown
from tornado_proxy.rules.diagnostic import SourceFile, Span

_CONFLICT = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?=[ \r\n]|\Z)", re.MULTILINE)
# The characters that YAML 1.1, 5.1 does not allow. PyYAML's two parsers report different places for them.
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_DECIMALS = {"int": re.compile(r"-?(?:0|[1-9][0-9]{0,17})"), "float": re.compile(r"-?[0-9]{1,15}\.[0-9]{1,9}")}
_TOO_MUCH = (
    f"with aliases followed, this nests deeper than {DEEPEST_DOCUMENT} levels or has more than {MOST_NODES} values"
)


class ScalarKind(Enum):
    """The type of a scalar in YAML 1.1; the value is its name in messages."""

    STRING = "a string"
    INTEGER = "a number"
    FRACTION = "a number with a fraction"
    ODD_NUMBER = "a number in an unusual notation"
    BOOLEAN = "a boolean"
    DATE = "a date"
    NOTHING = "nothing"
    MERGE = "a merge"
    BROKEN = "broken"  # a diagnostic says why


class ScalarNode(Unshown, frozen=True):
    """A scalar; its text may be a secret."""

    shown = ("start", "end", "kind")

    start: int  # code-point offsets, the end excluded
    end: int
    kind: ScalarKind
    text: str

    @property
    def data(self) -> Any:
        """The string, number or boolean; None for any other kind."""
        read = _READERS.get(self.kind)
        return read(self.text) if read else None


class SequenceNode(msgspec.Struct, frozen=True):
    """A list."""

    start: int
    end: int
    items: tuple[Node, ...]


class MappingEntry(NamedTuple):
    """A key and its value, as written."""

    key: Node
    value: Node


class MappingNode(msgspec.Struct, frozen=True, dict=True):  # `cached_property` needs a `__dict__`
    """A mapping: every entry as written, including wrong ones."""

    start: int
    end: int
    entries: tuple[MappingEntry, ...]

    @cached_property
    def fields(self) -> Mapping[str, MappingEntry]:
        """The entries by name: the first one of a name; own entries take precedence over entries that `<<` adds."""
        fields: dict[str, MappingEntry] = {}
        for entry in self.entries:
            if isinstance(entry.key, ScalarNode) and entry.key.kind is ScalarKind.STRING:
                fields.setdefault(entry.key.text, entry)
        for entry in self.entries:
            for mapping in merged(entry):
                for name, each in mapping.fields.items():
                    fields.setdefault(name, each)
        return fields


Node = ScalarNode | SequenceNode | MappingNode


def merged(entry: MappingEntry) -> tuple[MappingNode, ...]:
    """The mappings that an entry `<<` adds, in the order of precedence; empty for another entry."""
    if not (isinstance(entry.key, ScalarNode) and entry.key.kind is ScalarKind.MERGE):
        return ()
    sources = entry.value.items if isinstance(entry.value, SequenceNode) else (entry.value,)
    return tuple(each for each in sources if isinstance(each, MappingNode))


def find(node: Node, option: str) -> MappingEntry | None:
    """The entry of an option in a mapping; dots in its name lead into mappings within."""
    name, _, inner = option.partition(".")
    entry = node.fields.get(name) if isinstance(node, MappingNode) else None
    return find(entry.value, inner) if entry and inner else entry


def span_of(node: Node, shown: SourceFile) -> Span:
    """The place of a node in a file; only the first line of a node with several lines."""
    line_end = shown.text.find("\n", node.start)
    end = node.end if line_end < 0 else min(node.end, line_end)
    return Span(shown, node.start, max(node.start, end))


def bare(span: Span | None) -> str:
    """The text at a place without its quotes, cut if it is long."""
    text = span.text.strip("\"'") if span else ""
    return text if len(text) <= LONGEST_QUOTED else f"{text[:LONGEST_QUOTED]}…"


_TRUTHS = ("true", "yes", "on")

_READERS: dict[ScalarKind, Callable[[str], Any]] = {
    ScalarKind.STRING: str,
    ScalarKind.INTEGER: int,
    ScalarKind.FRACTION: float,
    ScalarKind.BOOLEAN: lambda text: text.lower() in _TRUTHS,
}

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


class Fault(msgspec.Struct, frozen=True):
    """A mistake in the YAML: `{}` in message and help is replaced by the redacted text at its place."""

    code: str
    message: str
    start: int
    end: int
    help: str | None = None
    note: tuple[str, int, int] | None = None  # the message about a second place, and its offsets


class Composed(msgspec.Struct, frozen=True):
    """The documents of a text and their faults; `whole` is False if the text could not be read to its end."""

    documents: tuple[Node, ...] = ()
    faults: tuple[Fault, ...] = ()
    whole: bool = True

    @property
    def root(self) -> Node | None:
        """The first document; None for a text without documents."""
        return self.documents[0] if self.documents else None


def compose(text: str) -> Composed:
    """The nodes of a YAML text; never raises."""
    if unprintable := _UNPRINTABLE.search(text):
        message = f"the character U+{ord(unprintable.group()):04X} is not allowed in YAML"
        fault = Fault("yaml-syntax", message, *unprintable.span(), 'write it as an escape within "…"')
        return Composed((), (fault,), whole=False)
    if conflicts := tuple(_CONFLICT.finditer(text)):
        advice = "resolve the conflict and remove its markers"
        markers = (
            Fault("yaml-syntax", f"merge conflict marker `{each.group()}`", *each.span(), advice) for each in conflicts
        )
        return Composed((), tuple(markers), whole=False)
    builder = _NodeBuilder()
    try:
        _check_depth(text)
        # All are kept until the last is converted: a new node could have the `id` of one that is gone.
        composed = [*yaml.compose_all(text, Loader=_LOADER)]
        documents = [builder.build(each).node for each in composed]
    except _TooLarge as error:
        return Composed((), (*builder.faults, Fault("unsupported-yaml", _TOO_MUCH, *error.args)), whole=False)
    except yaml.MarkedYAMLError as error:
        return Composed((), (_syntax_fault(error, text),), whole=False)
    message, advice = "a second document begins here", "a configuration is one document: remove the `---`"
    second = [Fault("unsupported-yaml", message, each.start, each.end, advice) for each in documents[1:]]
    return Composed(tuple(documents), (*builder.faults, *second))


class _TooLarge(Exception):
    """A text that nests too deep or expands to too many nodes; the arguments are where."""


def _check_depth(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST_DOCUMENT:
                raise _TooLarge(*_place(event))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class _BuiltNode(msgspec.Struct, frozen=True):
    """A node, the number of its nodes once its aliases are expanded, and the number of its levels."""

    node: Node
    size: int = 1
    height: int = 0


class _NodeBuilder:
    """Converts the nodes of PyYAML, each once, and collects faults."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self._built: dict[int, _BuiltNode] = {}  # by the `id` of PyYAML's node
        self._begun: set[int] = set()

    def build(self, raw: yaml.Node) -> _BuiltNode:
        part = self._built.get(id(raw))
        if part is None and id(raw) in self._begun:
            self._fault(raw, "the alias refers to the collection that contains it")
            return _BuiltNode(ScalarNode(*_place(raw), ScalarKind.BROKEN, ""))
        if part is None:
            self._begun.add(id(raw))
            part = self._scalar(raw) if isinstance(raw, yaml.ScalarNode) else self._collection(raw)
            self._built[id(raw)] = part
        return part

    def _fault(self, raw: yaml.Node, message: str, help: str | None = None) -> None:
        self.faults.append(Fault("unsupported-yaml", message, *_place(raw), help))

    def _scalar(self, raw: yaml.ScalarNode) -> _BuiltNode:
        name = raw.tag.removeprefix(_TAG)
        if (kind := _KINDS.get(name)) is None:
            self._tagged(raw)
        elif name in _DECIMALS and not _DECIMALS[name].fullmatch(raw.value):
            kind = ScalarKind.ODD_NUMBER
        return _BuiltNode(ScalarNode(*_place(raw), kind or ScalarKind.BROKEN, raw.value))

    def _tagged(self, raw: yaml.Node) -> None:
        self._fault(raw, "a tag has no meaning here", "write the value without the `!…`")

    def _collection(self, raw: Any) -> _BuiltNode:
        if raw.tag not in (f"{_TAG}map", f"{_TAG}seq"):
            self._tagged(raw)
        is_mapping = isinstance(raw, yaml.MappingNode)
        composed = [self.build(each) for each in (chain.from_iterable(raw.value) if is_mapping else raw.value)]
        size, height = 1 + sum(each.size for each in composed), 1 + max((each.height for each in composed), default=0)
        start, end = _place(raw)
        if size > MOST_NODES or height > DEEPEST_DOCUMENT:
            raise _TooLarge(start, end)
        nodes = [each.node for each in composed]
        if not raw.flow_style:  # its mark extends to the next token, over empty lines and comments
            end = max((start, *(each.end for each in nodes)))
        if not is_mapping:
            return _BuiltNode(SequenceNode(start, end, tuple(nodes)), size, height)
        entries = tuple(MappingEntry(*pair) for pair in zip(nodes[::2], nodes[1::2], strict=True))
        self.faults += _faults_of_keys(entries)
        return _BuiltNode(MappingNode(start, end, entries), size, height)


def _place(marked: Any) -> tuple[int, int]:
    """The offsets of an event or a node of PyYAML, in code points."""
    return marked.start_mark.index, marked.end_mark.index


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
            if key.kind is ScalarKind.MERGE:
                sources = entry.value.items if isinstance(entry.value, SequenceNode) else (entry.value,)
                if len(merged(entry)) != len(sources):
                    yield Fault("unsupported-yaml", "`<<` takes a mapping or a list of mappings", key.start, key.end)
            elif key.kind is ScalarKind.NOTHING:
                yield Fault("bad-key", "a key is missing here", key.start, key.end)
            elif key.kind not in (ScalarKind.STRING, ScalarKind.BROKEN):
                yield Fault("bad-key", f"the key `{{}}` is {key.kind.value}", key.start, key.end, 'quote it: `"{}"`')


_SAME_COLUMN = "the lines of one mapping or list begin in the same column, with spaces and no tabs"
_MISFIT = ("this does not fit the mapping or list that contains it", _SAME_COLUMN)
_QUOTE = "quote a value that begins with `*` or `&`"
_ESCAPE = ("no such escape in a string between double quotes", "double the backslash, or use single quotes")

# The first fragment that a message of PyYAML contains decides; its two parsers word some mistakes differently. Our
# messages never quote the file, which could reveal a secret.
_COMPLAINTS: tuple[tuple[str, tuple[str, str | None]], ...] = (
    ("cannot start any token", ("a value cannot begin with this character", "quote the value")),
    (
        "mapping values are not allowed",
        ("a `:` is not allowed here", "begin a nested mapping on its own line; quote a value that contains `: `"),
    ),
    (
        "could not find expected ':'",
        ("this is neither `key: value` nor part of the value above", "a key is followed by `:` and a space"),
    ),
    ("did not find expected key", _MISFIT),
    ("did not find expected '-' indicator", _MISFIT),
    ("expected <block end>", _MISFIT),
    ("sequence entries are not allowed", ("a `- ` is not allowed here", "begin the list on its own line")),
    ("',' or ']'", ("a `,` or the closing `]` is missing", None)),
    ("',' or '}'", ("a `,` or the closing `}` is missing", None)),
    ("unexpected end of stream", ("a quoted string never ends", None)),
    ("escape", _ESCAPE),
    ("decimal number", _ESCAPE),  # libyaml: "hexdecimal"
    ("undefined alias", ("there is no anchor of this name above", _QUOTE)),
    ("expected alphabetic or numeric character", ("this is not the name of an anchor", _QUOTE)),
)


def _syntax_fault(error: yaml.MarkedYAMLError, text: str) -> Fault:
    """A mistake that PyYAML found, described in our words."""
    start, end = _point(error.problem_mark, text)
    complaints = (words for fragment, words in _COMPLAINTS if fragment in (error.problem or ""))
    message, advice = next(complaints, ("from here on the text cannot be read as YAML", _SAME_COLUMN))
    if text[start:end] == "\t":
        return Fault("yaml-syntax", "a tab indents this line", start, end, "indent with spaces")
    begin = _point(error.context_mark, text)
    note = ("it begins here", *begin) if error.context_mark and begin != (start, end) else None
    return Fault("yaml-syntax", message, start, end, advice, note)


def _point(mark: Any, text: str) -> tuple[int, int]:
    index = min(mark.index, len(text)) if mark else len(text)
    return index, min(index + 1, len(text))
