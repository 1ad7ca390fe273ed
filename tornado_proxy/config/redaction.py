"""A source file as it may be shown: of equal length, every place that holds or may hold a secret blanked.

All that a diagnostic quotes comes from this copy, excerpts and messages alike, so no message can tell a secret. What
cannot be known is blanked: the value of an unknown option, since it may be a misspelt `password`, and in text that is
not YAML everything that belongs to a suspicious word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import assert_never

from tornado_proxy.config.composer import Composed
from tornado_proxy.config.nodes import Entry, Kind, MappingNode, Node, ScalarNode, SequenceNode
from tornado_proxy.config.vocabulary import REFERENCES, Meaning, Vocabulary, resembles_reference
from tornado_proxy.config.wreckage import suspicious_ranges
from tornado_proxy.lang.source import SourceFile

MASK = "•"

_Range = tuple[int, int]

_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*", re.MULTILINE)
_PARTS_OF_LINES = re.compile(r"\S(?:[^\n\r]*\S)?")
_NAMED = re.compile(r"([\w.-]+)[\"']?\s*[:=]")
_URL_WITH_PASSWORD = re.compile(r"//[^/\s]*@")


def redacted(source: SourceFile, composed: Composed, vocabulary: Vocabulary) -> SourceFile:
    """The copy of a source file that may be shown."""
    if composed.whole:
        ranges = _Eye(vocabulary).blanks(source, composed.documents)
    else:
        ranges = suspicious_ranges(source.text, vocabulary)
    return SourceFile(source.name, _masked(source.text, ranges))


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


class _Zone(Enum):
    """What may be shown of the nodes that stand somewhere."""

    OPEN = "everything that its own keys allow"
    NAMES = "the keys, which are names that nobody can know"
    UNKNOWN = "keys, and scalars under an option's own name"
    GUARDED = "options, and scalars under an option's own name"
    SECRET = "what secrets are called"  # noqa: S105 - a description


_AFTER: dict[Meaning, _Zone] = {
    Meaning.OPEN: _Zone.OPEN,
    Meaning.SECRET: _Zone.SECRET,
    Meaning.SECTION: _Zone.GUARDED,
    Meaning.LIKE_SECRET: _Zone.GUARDED,
    Meaning.LIKE_OPEN: _Zone.UNKNOWN,
    Meaning.UNKNOWN: _Zone.UNKNOWN,
}

_BELOW_NAMED = {"targets": _Zone.NAMES, "basic": _Zone.UNKNOWN}


class _Eye:
    """Walks over documents and notes what may not be seen."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._scalars: list[_Range] = []
        self._blanks: list[_Range] = []
        self._neighbours: list[int] = []  # offsets on lines whose comments may tell a secret

    def blanks(self, source: SourceFile, documents: Iterable[Node]) -> list[_Range]:
        """The ranges of a text that may not be seen."""
        for document in documents:
            self._see(document, _Zone.UNKNOWN)
        return [*self._blanks, *self._comments(source)]

    def _see(self, node: Node, zone: _Zone) -> None:
        match node:
            case ScalarNode():
                self._see_scalar(node, hidden=zone is not _Zone.OPEN)
            case SequenceNode():
                for item in node.items:
                    self._see(item, zone)
            case MappingNode():
                for entry in node.entries:
                    self._see_entry(entry, zone)
            case _:
                assert_never(node)

    def _see_scalar(self, node: ScalarNode, *, hidden: bool) -> None:
        self._scalars.append((node.start, node.end))
        if hidden or self._tells(node.text):
            self._blanks.append((node.start, node.end))
            self._neighbours.append(node.end)

    def _tells(self, text: str) -> bool:
        """Whether a text that may be shown where it stands has a secret in it: a URL's, or `password:…` in one word."""
        if _URL_WITH_PASSWORD.search(text):
            return True
        meanings = (self._vocabulary.meaning(name) for name in _NAMED.findall(text))
        return any(meaning in (Meaning.SECRET, Meaning.LIKE_SECRET) for meaning in meanings)

    def _see_entry(self, entry: Entry, zone: _Zone) -> None:
        key, value = entry
        if not isinstance(key, ScalarNode):
            self._see(key, _Zone.SECRET)
            self._see(value, _Zone.SECRET)
        elif key.kind is Kind.MERGE:
            self._see(value, zone)
        else:
            hidden, below = self._judge(key.text, value, zone)
            self._see_scalar(key, hidden=hidden)
            self._see(value, below)
            if below in (_Zone.SECRET, _Zone.GUARDED):
                self._neighbours.append(key.end)

    def _judge(self, name: str, value: Node, zone: _Zone) -> tuple[bool, _Zone]:
        """Whether a key is hidden, and the zone of its value."""
        if zone is _Zone.NAMES:
            return False, _Zone.UNKNOWN
        if zone is _Zone.SECRET:
            return not resembles_reference(name), _Zone.OPEN if _is_reference(name, value) else _Zone.SECRET
        meaning = self._vocabulary.meaning(name)
        if zone is _Zone.GUARDED and meaning not in (Meaning.OPEN, Meaning.SECRET, Meaning.SECTION):
            return meaning is Meaning.UNKNOWN, _Zone.GUARDED
        return False, self._below(name, value, meaning)

    def _below(self, name: str, value: Node, meaning: Meaning) -> _Zone:
        if not isinstance(value, ScalarNode):
            return _BELOW_NAMED.get(name, _AFTER[meaning])
        # `basic: ann:hunter2` and `user: ann:hunter2` are what one writes who expects a password there.
        if name in _BELOW_NAMED or (name == "user" and ":" in value.text):
            return _Zone.UNKNOWN
        return _Zone.OPEN if meaning is Meaning.LIKE_OPEN else _AFTER[meaning]

    def _comments(self, source: SourceFile) -> Iterator[_Range]:
        """Comments that speak of a secret, or stand on a line with one or with its key."""
        lines = {source.position(offset).line for offset in self._neighbours}
        outside = _masked(source.text, self._scalars)
        for comment in _COMMENT.finditer(outside):
            if source.position(comment.start()).line in lines or self._tells(comment.group()):
                yield comment.span()


def _is_reference(name: str, value: Node) -> bool:
    """Whether an entry names a secret: a secret that was put there by mistake seldom looks like a name."""
    expression = REFERENCES.get(name)
    return expression is not None and isinstance(value, ScalarNode) and bool(expression.fullmatch(value.text))
