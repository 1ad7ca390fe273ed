"""A YAML document as a tree of nodes that know their place, and the plain data that it stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple, assert_never


class Kind(Enum):
    """What YAML 1.1 takes a scalar for; the value is how a message calls it."""

    STRING = "a string"
    INTEGER = "a number"
    FRACTION = "a number with a fraction"
    ODD_NUMBER = "a number in an unusual notation"
    BOOLEAN = "a boolean"
    DATE = "a date"
    NOTHING = "nothing"
    MERGE = "a merge"
    BROKEN = "broken"  # a fault has said why


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A scalar; its text may be a secret and stays out of the `repr`."""

    start: int  # code-point offsets, the end excluded
    end: int
    kind: Kind
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class SequenceNode:
    """A list."""

    start: int
    end: int
    items: tuple[Node, ...]


class Entry(NamedTuple):
    """A key and its value, as written."""

    key: Node
    value: Node


@dataclass(frozen=True)  # no slots: `cached_property` needs a place
class MappingNode:
    """A mapping: every entry as written, those included that a fault speaks of."""

    start: int
    end: int
    entries: tuple[Entry, ...]

    @cached_property
    def fields(self) -> Mapping[str, Entry]:
        """The entries by name: the first of a name counts, and an own one before what `<<` brings in."""
        found: dict[str, Entry] = {}
        for entry in self.entries:
            if isinstance(entry.key, ScalarNode) and entry.key.kind is Kind.STRING:
                found.setdefault(entry.key.text, entry)
        for entry in self.entries:
            for mapping in merged(entry):
                for name, each in mapping.fields.items():
                    found.setdefault(name, each)
        return found


Node = ScalarNode | SequenceNode | MappingNode


def merged(entry: Entry) -> tuple[MappingNode, ...]:
    """The mappings that an entry `<<` brings in, the one that counts first; none where it is another entry."""
    if not (isinstance(entry.key, ScalarNode) and entry.key.kind is Kind.MERGE):
        return ()
    sources = entry.value.items if isinstance(entry.value, SequenceNode) else (entry.value,)
    return tuple(each for each in sources if isinstance(each, MappingNode))


class Fields(dict[str, Any]):
    """A mapping's plain data, which remembers its node."""

    def __init__(self, node: MappingNode) -> None:
        super().__init__({name: plain(entry.value) for name, entry in node.fields.items()})
        self.node = node


def plain(node: Node) -> Any:
    """The data that a node stands for; a scalar that no option takes, such as a date, stays a node."""
    match node:
        case MappingNode():
            return Fields(node)
        case SequenceNode():
            return [plain(item) for item in node.items]
        case ScalarNode():
            return _READERS[node.kind](node)
        case _:
            assert_never(node)


_TRUTHS = ("true", "yes", "on")

_READERS: dict[Kind, Callable[[ScalarNode], Any]] = {
    Kind.STRING: lambda node: node.text,
    Kind.INTEGER: lambda node: int(node.text),
    Kind.FRACTION: lambda node: float(node.text),
    Kind.BOOLEAN: lambda node: node.text.lower() in _TRUTHS,
    Kind.NOTHING: lambda _: None,
    Kind.ODD_NUMBER: lambda node: node,
    Kind.DATE: lambda node: node,
    Kind.MERGE: lambda node: node.text,
    Kind.BROKEN: lambda node: node,
}
