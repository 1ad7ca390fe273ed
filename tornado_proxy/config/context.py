"""What the checks of a configuration work on: settings of valid sections, and where everything stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any

from tornado_proxy.config.document import MappingEntry, MappingNode, Node, SequenceNode
from tornado_proxy.config.model import Settings
from tornado_proxy.config.redaction import bare, span_of
from tornado_proxy.lang.diagnostic import Diagnostic, Note, Severity, SourceFile, Span

_NOWHERE = MappingNode(0, 0, ())


@dataclass(frozen=True, slots=True)
class ValidationContext:
    """What could be read of a configuration, with the nodes of its sections.

    A section is an instance of a class of `config.model`. An option of it is named as in the file, after its group and
    a dot if it has one: `context.key(put, "config.maxSize")`.
    """

    settings: Settings
    shown: SourceFile
    diagnostics: tuple[Diagnostic, ...] = ()
    nodes: Mapping[int, MappingNode] = field(default_factory=dict, repr=False)  # of sections, by their `id`
    damaged: frozenset[int] = field(default=frozenset(), repr=False)  # nodes, by their `id`
    incomplete: frozenset[int] = field(default=frozenset(), repr=False)

    def intact(self, node: Node) -> bool:
        """Whether nothing is wrong at a node or below."""
        return id(node) not in self.damaged

    def given(self, section: Any, option: str) -> bool:
        """Whether the file has an option."""
        return self._find(section, option)[1] is not None

    def settled(self, section: Any, *options: str) -> bool:
        """Whether each option has the value that is meant: a valid one, or its default where nothing is misspelt."""
        return all(map(self._is_settled, repeat(section), options))

    def _is_settled(self, section: Any, option: str) -> bool:
        mapping, entry = self._find(section, option)
        return self.intact(entry.value) if entry else id(mapping) not in self.incomplete

    def key(self, section: Any, option: str) -> Node:
        """Where an option is named; the mapping around it if it is left out."""
        mapping, entry = self._find(section, option)
        return entry.key if entry else mapping

    def value(self, section: Any, option: str) -> Node:
        """Where an option's value stands; the mapping around it if it is left out."""
        mapping, entry = self._find(section, option)
        return entry.value if entry else mapping

    def items(self, section: Any, option: str) -> tuple[Node, ...]:
        """The items of a list, or the single one that stands for it."""
        node = self.value(section, option)
        return node.items if isinstance(node, SequenceNode) else (node,)

    def name_key(self, option: str, name: str) -> Node:
        """Where a name stands in a mapping by name, such as that of a target in `targets`."""
        node = self.value(self.settings, option)
        assert isinstance(node, MappingNode), "the name was read from it"
        return node.fields[name].key

    def _find(self, section: Any, option: str) -> tuple[MappingNode, MappingEntry | None]:
        """The mapping that has an option or could have it, and its entry."""
        mapping = self.nodes.get(id(section), _NOWHERE)
        *groups, name = option.split(".")
        for group in groups:
            inner = mapping.fields[group].value if group in mapping.fields else None
            mapping = inner if isinstance(inner, MappingNode) else _NOWHERE
        return mapping, mapping.fields.get(name)

    def text(self, node: Node) -> str:
        """The text of a node as it may be shown."""
        return bare(node, self.shown)

    def error(
        self, code: str, message: str, node: Node, help: str | None = None, note: tuple[str, Node] | None = None
    ) -> Diagnostic:
        """A mistake at a node that makes the configuration unusable; `note` explains a second node."""
        notes = (Note(note[0], self._span(note[1])),) if note else ()
        return Diagnostic(code, message, self._span(node), help, notes)

    def warning(
        self, code: str, message: str, node: Node, help: str | None = None, note: tuple[str, Node] | None = None
    ) -> Diagnostic:
        """A mistake that does not."""
        return replace(self.error(code, message, node, help, note), severity=Severity.WARNING)

    def _span(self, node: Node) -> Span:
        return span_of(node, self.shown)
