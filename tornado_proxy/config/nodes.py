"""A YAML document as a tree of nodes that know their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple


class ScalarKind(Enum):
    """What YAML 1.1 takes a scalar for; the value is its name in messages."""

    STRING = "a string"
    INTEGER = "a number"
    FRACTION = "a number with a fraction"
    ODD_NUMBER = "a number in an unusual notation"
    BOOLEAN = "a boolean"
    DATE = "a date"
    NOTHING = "nothing"
    MERGE = "a merge"
    BROKEN = "broken"  # a diagnostic says why


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A scalar; its text may be a secret and stays out of the `repr`."""

    start: int  # code-point offsets, the end excluded
    end: int
    kind: ScalarKind
    text: str = field(repr=False)

    @property
    def data(self) -> Any:
        """The string, number or boolean; None for any other kind."""
        read = _READERS.get(self.kind)
        return read(self.text) if read else None


@dataclass(frozen=True, slots=True)
class SequenceNode:
    """A list."""

    start: int
    end: int
    items: tuple[Node, ...]


class MappingEntry(NamedTuple):
    """A key and its value, as written."""

    key: Node
    value: Node


@dataclass(frozen=True)  # no slots: `cached_property` needs a place
class MappingNode:
    """A mapping: every entry as written, including wrong ones."""

    start: int
    end: int
    entries: tuple[MappingEntry, ...]

    @cached_property
    def fields(self) -> Mapping[str, MappingEntry]:
        """The entries by name: the first of a name counts, and an own one before what `<<` brings in."""
        found: dict[str, MappingEntry] = {}
        for entry in self.entries:
            if isinstance(entry.key, ScalarNode) and entry.key.kind is ScalarKind.STRING:
                found.setdefault(entry.key.text, entry)
        for entry in self.entries:
            for mapping in merged(entry):
                for name, each in mapping.fields.items():
                    found.setdefault(name, each)
        return found


Node = ScalarNode | SequenceNode | MappingNode


def merged(entry: MappingEntry) -> tuple[MappingNode, ...]:
    """The mappings that an entry `<<` brings in, the one that counts first; empty for another entry."""
    if not (isinstance(entry.key, ScalarNode) and entry.key.kind is ScalarKind.MERGE):
        return ()
    sources = entry.value.items if isinstance(entry.value, SequenceNode) else (entry.value,)
    return tuple(each for each in sources if isinstance(each, MappingNode))


_TRUTHS = ("true", "yes", "on")

_READERS: dict[ScalarKind, Callable[[str], Any]] = {
    ScalarKind.STRING: str,
    ScalarKind.INTEGER: int,
    ScalarKind.FRACTION: float,
    ScalarKind.BOOLEAN: lambda text: text.lower() in _TRUTHS,
}
