"""What a check looks at: a configuration that is valid section by section, and where everything stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tornado_proxy.config.nodes import MappingNode, Node, SequenceNode
from tornado_proxy.config.quoting import bare, span_of
from tornado_proxy.config.reading import Reading
from tornado_proxy.config.section import Section
from tornado_proxy.config.sections import ConfigurationSection
from tornado_proxy.config.target_sections import TargetSection
from tornado_proxy.lang.diagnostic import Diagnostic, Note, Severity
from tornado_proxy.lang.source import SourceFile, Span


@dataclass(frozen=True, slots=True)
class NamedTarget:
    """A target, its name as it may be shown, and the key that names it."""

    name: str
    key: Node
    section: TargetSection


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to say of a node; `note` says something of a second one."""

    code: str
    message: str
    node: Node
    help: str | None = None
    note: tuple[str, Node] | None = None


class Scene:
    """A configuration and its nodes."""

    def __init__(self, configuration: ConfigurationSection, reading: Reading, shown: SourceFile) -> None:
        self.configuration = configuration
        self._reading = reading
        self._shown = shown

    def settled(self, section: Section, *options: str) -> bool:
        """Whether options of a section have the values that are meant."""
        return all(self._reading.settled(section, option) for option in options)

    def shown(self, node: Node) -> str:
        """The text of a node as it may be shown."""
        return bare(node, self._shown)

    def targets(self) -> Iterator[NamedTarget]:
        """The targets in the order of the file."""
        for name, section in self.configuration.targets.items():
            key = key_of_name(self.configuration, "targets", name)
            yield NamedTarget(self.shown(key), key, section)

    def error(self, finding: Finding) -> Diagnostic:
        """A finding that keeps the configuration from being used."""
        return self._diagnostic(finding, Severity.ERROR)

    def warning(self, finding: Finding) -> Diagnostic:
        """A finding that does not."""
        return self._diagnostic(finding, Severity.WARNING)

    def _diagnostic(self, finding: Finding, severity: Severity) -> Diagnostic:
        notes = (Note(finding.note[0], self._span(finding.note[1])),) if finding.note else ()
        return Diagnostic(finding.code, finding.message, self._span(finding.node), finding.help, notes, severity)

    def _span(self, node: Node) -> Span:
        return span_of(node, self._shown)


def key_of_name(section: Section, option: str, name: str) -> Node:
    """Where a name of the user's own stands in an option that is a mapping by name."""
    names = section.value_node(option)
    assert isinstance(names, MappingNode), "the name was read from it"
    return names.fields[name].key


def item_nodes(section: Section, option: str) -> tuple[Node, ...]:
    """The nodes of a list's items, or of the single item that stands for a list of one."""
    node = section.value_node(option)
    return node.items if isinstance(node, SequenceNode) else (node,)
