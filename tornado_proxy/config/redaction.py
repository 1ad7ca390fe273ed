"""A source file as it may be shown: of equal length, with a dot for each character that may belong to a secret.

Diagnostics quote only this copy, so no message can show a secret. What stands at a known option is shown unless the
option is a secret's; the value of an unknown option is hidden, since it may be a misspelt `password`. A text that is
not YAML is hidden as a whole: its diagnostics have a line number and no excerpt that could be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, assert_never

from tornado_proxy.config.composer import Composed
from tornado_proxy.config.model import Settings
from tornado_proxy.config.nodes import MappingEntry, MappingNode, Node, ScalarNode, SequenceNode, merged
from tornado_proxy.config.options import OptionType, holds_secrets, options_of
from tornado_proxy.config.secrets import Reference, Source
from tornado_proxy.lang.diagnostic import SourceFile, Span, did_you_mean

MASK = "•"

_LONGEST = 60
_Range = tuple[int, int]

_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*", re.MULTILINE)
_PARTS_OF_LINES = re.compile(r"\S(?:[^\n\r]*\S)?")
_SOUNDS_SECRET = re.compile(r"pass|pwd|secret|token|credential|key\b", re.IGNORECASE)
_TELLS = re.compile(r"//[^/\s]*@|(?:pass|pwd|secret|token|key)[\w.-]*[\"']?\s*[:=]", re.IGNORECASE)
_NAMES = {  # what the name of a secret looks like; a secret that was put there by mistake seldom does
    Source.ENV.value: re.compile(r"\w+"),
    Source.PATH.value: re.compile(r"\S.*"),
    Source.CREDENTIAL.value: re.compile(r"[\w.@:-]+"),
}


def redacted(source: SourceFile, composed: Composed) -> SourceFile:
    """The copy of a source file that may be shown."""
    whole = [(0, len(source.text))]
    return SourceFile(
        source.name, _masked(source.text, _Redactor(source).ranges(composed) if composed.whole else whole)
    )


def span_of(node: Node, shown: SourceFile) -> Span:
    """The place of a node; of one that runs over several lines, the first."""
    line_end = shown.text.find("\n", node.start)
    end = node.end if line_end < 0 else min(node.end, line_end)
    return Span(shown, node.start, max(node.start, end))


def bare(node: Node, shown: SourceFile) -> str:
    """A node's text without its quotes, as far as it may be shown."""
    text = span_of(node, shown).text.strip("\"'")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def quote(node: Node, shown: SourceFile) -> str:
    """A node's text in backticks, as far as it may be shown."""
    return f"`{bare(node, shown)}`"


def enumeration(words: Iterable[str]) -> str:
    """Words in backticks: `a`, `b` and `c`."""
    *others, last = (f"`{word}`" for word in words)
    return f"{', '.join(others)} and {last}" if others else last


def _masked(text: str, ranges: Iterable[_Range]) -> str:
    parts, reached = [], 0
    for start, end in sorted(ranges):
        if end > reached:
            start = max(start, reached)  # noqa: PLW2901 - ranges may overlap
            parts += [text[reached:start], _PARTS_OF_LINES.sub(_mask, text[start:end])]
            reached = end
    return "".join((*parts, text[reached:]))


def _mask(found: re.Match[str]) -> str:
    return MASK * len(found.group())


class _Redactor:
    """A walk over documents along the options, which notes what must not be shown."""

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._scalars: list[_Range] = []
        self._hidden: list[_Range] = []
        self._lines: set[int] = set()  # with a secret, or with the name of one's place

    def ranges(self, composed: Composed) -> list[_Range]:
        """The ranges of the text that must not be shown."""
        for number, document in enumerate(composed.documents):
            if number:
                self._hide(document)
            else:
                self._section(Settings, document)
        return [*self._hidden, *self._comments()]

    def _hide(self, node: Node) -> None:
        """Hide all scalars at a node and below."""
        match node:
            case ScalarNode():
                self._scalar(node, hidden=True)
            case SequenceNode():
                for item in node.items:
                    self._hide(item)
            case MappingNode():
                for entry in node.entries:
                    self._hide(entry.key)
                    self._hide(entry.value)
            case _:
                assert_never(node)

    def _scalar(self, node: ScalarNode, *, hidden: bool) -> None:
        self._scalars.append((node.start, node.end))
        if hidden or _TELLS.search(node.text):
            self._hidden.append((node.start, node.end))
            self._mention(node)

    def _mention(self, node: Node) -> None:
        self._lines.add(self._source.position(node.end).line)

    def _section(self, section: type[Any], node: Node, group: str | None = None) -> None:
        if isinstance(node, ScalarNode) and section is not Reference and not holds_secrets(section):
            self._scalar(node, hidden=False)
        elif not isinstance(node, MappingNode):
            self._hide(node)
        else:
            for entry in node.entries:
                self._entry(section, entry, group)

    def _entry(self, section: type[Any], entry: MappingEntry, group: str | None) -> None:
        key, value = entry
        sources = merged(entry)
        for source in sources:
            self._section(section, source, group)
        if sources:
            return
        if not isinstance(key, ScalarNode):
            self._hide(key)
            self._hide(value)
            return
        here = {each.name: each for each in options_of(section) if (each.group.name if each.group else None) == group}
        groups = {each.group.name for each in options_of(section) if each.group and not group}
        near = did_you_mean(key.text, (*here, *groups))
        name = key.text if key.text in here or key.text in groups else near
        guarded = any(each.type.is_secret for each in here.values()) or section is Reference
        self._scalar(key, hidden=guarded and not name)
        if name in groups:
            self._section(section, value, name)
        elif name is None or (name != key.text and _SOUNDS_SECRET.search(key.text) and not here[name].type.is_secret):
            self._hide(value)
        elif section is Reference:
            self._reference(name, value)
        else:
            self._value(here[name].type, value, guarded=guarded)

    def _reference(self, name: str, value: Node) -> None:
        pattern = _NAMES.get(name)
        if pattern and isinstance(value, ScalarNode) and pattern.fullmatch(value.text):
            self._scalar(value, hidden=False)
        else:
            self._hide(value)

    def _value(self, kind: OptionType, node: Node, *, guarded: bool = False) -> None:
        if kind.is_secret:
            self._mention(node)
        if kind.section:
            self._section(kind.section, node)
        elif kind.is_mapping and isinstance(node, MappingNode):
            for key, value in node.entries:
                if isinstance(key, ScalarNode):
                    self._scalar(key, hidden=False)
                    self._value(kind.item, value)
                else:
                    self._hide(key)
                    self._hide(value)
        elif kind.is_list and isinstance(node, SequenceNode):
            for item in node.items:
                self._value(kind.item, item)
        elif isinstance(node, ScalarNode) and not (kind.is_list and kind.item.section):
            # `user: ann:hunter2` is what one writes who expects a password there.
            self._scalar(node, hidden=guarded and ":" in node.text)
        else:
            self._hide(node)

    def _comments(self) -> Iterator[_Range]:
        """Comments that mention a secret, or stand on a line with one or with its key."""
        outside = _masked(self._source.text, self._scalars)
        for comment in _COMMENT.finditer(outside):
            if self._source.position(comment.start()).line in self._lines or _TELLS.search(comment.group()):
                yield comment.span()
