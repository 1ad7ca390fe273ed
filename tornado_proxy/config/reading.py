"""From nodes to sections: everything that pydantic objects to, and a valid rest that further checks can look at.

Pydantic gives no model at all where one value is wrong. So what is wrong is taken out and the rest read again, until
it is valid: a mistake in one place hides none in another. Whoever looks at the rest must ask whether the place is
`intact`, since a default, or the option's example, may stand where a wrong value was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce
from operator import getitem
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tornado_proxy.config.nodes import MappingNode, Node, SequenceNode, plain
from tornado_proxy.config.options import Location, section_at
from tornado_proxy.config.section import Section
from tornado_proxy.config.sections import ConfigurationSection

KEY = "[key]"
"""How pydantic ends the location of a mistake in a key."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What could be read, and what could not."""

    root: Node
    configuration: ConfigurationSection | None
    errors: tuple[ErrorDetails, ...] = ()
    _damaged: frozenset[int] = field(default=frozenset(), repr=False)
    _incomplete: frozenset[int] = field(default=frozenset(), repr=False)

    def intact(self, node: Node) -> bool:
        """Whether nothing is wrong at a node or below."""
        return id(node) not in self._damaged

    def settled(self, section: Section, option: str) -> bool:
        """Whether an option has the value that is meant: a right one, or its default and no doubt about that."""
        entry = section.node.fields.get(option)
        return self.intact(entry.value) if entry else id(section.node) not in self._incomplete


def read(root: Node) -> Reading:
    """Read a document as a configuration."""
    data = plain(root)
    configuration, errors = _validate(data)
    damaged = frozenset(id(node) for error in errors for node in trace(root, error["loc"]).nodes)
    # An unknown option may be one that seems left out.
    of_keys = (error["loc"][:-1] for error in errors if error["type"] in {"extra_forbidden", "missing"})
    incomplete = frozenset(id(trace(root, location).node) for location in of_keys)
    remaining = errors
    while configuration is None and _mend(data, remaining):
        configuration, remaining = _validate(data)
    return Reading(root, configuration, tuple(errors), damaged, incomplete)


@dataclass(frozen=True, slots=True)
class Trace:
    """The way from the root towards a location, as far as there are nodes."""

    nodes: tuple[Node, ...]
    keys: tuple[Node, ...] = ()
    complete: bool = True

    @property
    def node(self) -> Node:
        """Where the way ends."""
        return self.nodes[-1]

    def step(self, part: str | int) -> Trace:
        """The way with one step more, if that leads anywhere."""
        node = self.node
        if not self.complete:
            return self
        if isinstance(node, MappingNode) and part in (fields := node.fields):
            entry = fields[str(part)]
            return Trace((*self.nodes, entry.value), (*self.keys, entry.key))
        if isinstance(node, SequenceNode) and isinstance(part, int):
            return Trace((*self.nodes, node.items[part]), self.keys)
        return Trace(self.nodes, self.keys, complete=False)


def trace(root: Node, location: Location) -> Trace:
    """The way to a location."""
    return reduce(Trace.step, location, Trace((root,)))


def _validate(data: object) -> tuple[ConfigurationSection | None, list[ErrorDetails]]:
    try:
        return ConfigurationSection.model_validate(data), []
    except ValidationError as error:
        return None, error.errors(include_url=False, include_input=False)


def _mend(data: Any, errors: Iterable[ErrorDetails]) -> bool:
    """Take out what is wrong, and put in what is missing; false where nothing would be left."""
    missing = [error["loc"] for error in errors if error["type"] == "missing"]
    wrong = {_removable(error) for error in errors if error["type"] != "missing"}
    if () in wrong or not all(_stand_in(data, location) for location in missing):
        return False
    # The last first, so that the locations of the others stay as they are.
    for location in sorted(wrong, reverse=True):
        _remove(data, location)
    return True


def _removable(error: ErrorDetails) -> Location:
    """What has to go: the value, or the whole entry where its key is wrong."""
    location = error["loc"]
    return location[:-1] if location[-1:] == (KEY,) else location


def _stand_in(data: Any, location: Location) -> bool:
    """Put an option's example where it is missing; false where it has none."""
    *way, name = location
    section = section_at(tuple(way))
    assert section, "only a section misses something"
    examples = next(field.examples for field in section.model_fields.values() if field.alias == name)
    if examples:
        reduce(getitem, way, data)[name] = examples[0]
    return bool(examples)


def _remove(container: Any, location: Location) -> None:
    part, *rest = location
    inner = container[part]
    # A single item that stands for a list of one has no items.
    if rest and isinstance(inner, dict | list):
        _remove(inner, tuple(rest))
    else:
        del container[part]
