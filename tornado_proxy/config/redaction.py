"""A source file as it may be shown: of equal length, with a dot for each character that may belong to a secret.

Diagnostics quote only this copy, so no message can show a secret. What stands at a known option is shown unless the
option is a secret's. Comments are hidden, and so is the value of an unknown option, which may be a misspelt `password`.
A text that is not YAML is hidden as a whole: its diagnostics have a line number and no excerpt that could be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, assert_never

from tornado_proxy.config.document import Composed, MappingEntry, MappingNode, Node, ScalarNode, SequenceNode, merged
from tornado_proxy.config.model import Settings
from tornado_proxy.config.options import OptionType, holds_secrets, options_of
from tornado_proxy.config.secrets import Reference, ReferenceKind
from tornado_proxy.lang.diagnostic import SourceFile, Span, did_you_mean

MASK = "•"

_LONGEST = 60
_Range = tuple[int, int]

_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*", re.MULTILINE)
_PARTS_OF_LINES = re.compile(r"\S(?:[^\n\r]*\S)?")
_TELLS = re.compile(r"//[^/\s]*@|(?:pass|pwd|secret|token|key)[\w.-]*[\"']?\s*[:=]", re.IGNORECASE)
_NAMES = {  # what the name of a secret looks like; a secret that was put there by mistake seldom does
    ReferenceKind.ENV.value: re.compile(r"\w+"),
    ReferenceKind.PATH.value: re.compile(r"\S.*"),
    ReferenceKind.CREDENTIAL.value: re.compile(r"[\w.@:-]+"),
}


def redacted(source: SourceFile, composed: Composed) -> SourceFile:
    """The copy of a source file that may be shown."""
    if not composed.whole:
        return SourceFile(source.name, _masked(source.text, [(0, len(source.text))]))
    redactor = _Redactor()
    for number, document in enumerate(composed.documents):
        if number:
            redactor.hide(document)
        else:
            redactor.section(Settings, document)
    comments = (found.span() for found in _COMMENT.finditer(_masked(source.text, redactor.scalars)))
    return SourceFile(source.name, _masked(source.text, (*redactor.hidden, *comments)))


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

    def __init__(self) -> None:
        self.scalars: list[_Range] = []
        self.hidden: list[_Range] = []

    def hide(self, node: Node) -> None:
        """Hides all scalars at a node and below."""
        match node:
            case ScalarNode():
                self._scalar(node, hidden=True)
            case SequenceNode():
                for item in node.items:
                    self.hide(item)
            case MappingNode():
                for entry in node.entries:
                    self.hide(entry.key)
                    self.hide(entry.value)
            case _:
                assert_never(node)

    def section(self, section: type[Any], node: Node, group: str | None = None) -> None:
        """Hides what may be a secret in a section, or in a group of its options."""
        if not isinstance(node, MappingNode):
            self._value_of(node, may_hold_secrets=section is Reference or holds_secrets(section))
            return
        for entry in node.entries:
            for source in merged(entry):
                self.section(section, source, group)
            if not merged(entry):
                self._entry(section, entry, group)

    def _entry(self, section: type[Any], entry: MappingEntry, group: str | None) -> None:
        key, value = entry
        here = {each.name: each for each in options_of(section) if (each.group.name if each.group else None) == group}
        groups = {each.group.name for each in options_of(section) if each.group and not group}
        name = key.text if isinstance(key, ScalarNode) else ""
        guarded = section is Reference or any(each.type.is_secret for each in here.values())
        if isinstance(key, ScalarNode):
            # `{ann: hunter2}` is what one writes who expects a name and a password.
            self._scalar(key, hidden=guarded and name not in here and not did_you_mean(name, here))
        else:
            self.hide(key)
        if name in groups:
            self.section(section, value, name)
        elif name not in here:
            self.hide(value)
        elif section is Reference:
            pattern = _NAMES.get(name)
            is_name = pattern and isinstance(value, ScalarNode) and pattern.fullmatch(value.text)
            self._value_of(value, may_hold_secrets=not is_name)
        elif guarded and isinstance(value, ScalarNode) and ":" in value.text:  # `user: ann:hunter2` is the same
            self.hide(value)
        else:
            self._value(here[name].type, value)

    def _value(self, kind: OptionType, node: Node) -> None:
        if kind.section:
            self.section(kind.section, node)
        elif kind.is_mapping and isinstance(node, MappingNode):
            for key, value in node.entries:
                self._value_of(key, may_hold_secrets=False)
                self._value(kind.item, value)
        elif kind.is_list and isinstance(node, SequenceNode):
            for item in node.items:
                self._value(kind.item, item)
        else:
            self._value_of(node, may_hold_secrets=kind.is_list and kind.item.section is not None)

    def _value_of(self, node: Node, *, may_hold_secrets: bool) -> None:
        """Shows a scalar where no secret can be; hides anything else."""
        if isinstance(node, ScalarNode) and not may_hold_secrets:
            self._scalar(node, hidden=False)
        else:
            self.hide(node)

    def _scalar(self, node: ScalarNode, *, hidden: bool) -> None:
        self.scalars.append((node.start, node.end))
        if hidden or _TELLS.search(node.text):
            self.hidden.append((node.start, node.end))
