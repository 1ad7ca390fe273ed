"""Text becomes a document and diagnostics; no text makes it raise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lark import Tree
from lark.exceptions import UnexpectedToken

from tornado_proxy.lang.building import Builder
from tornado_proxy.lang.comments import Comments
from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.reading import Reading
from tornado_proxy.lang.source import SourceFile, Span
from tornado_proxy.lang.tree import Document


@dataclass(frozen=True, slots=True)
class Parsed:
    """The document of what could be read, and a diagnostic for each syntax error, in the order of the text."""

    document: Document
    diagnostics: tuple[Diagnostic, ...] = ()


def parse(source: SourceFile) -> Parsed:
    """The document of a rule file; what has a mistake is left out of it."""
    reading = Reading(source, source.text)
    tree = _tree(reading)
    builder = Builder(source, Comments(source, reading.comments))
    document = builder.document(tree)
    found = sorted((*reading.diagnostics, *builder.diagnostics), key=_offset)
    return Parsed(document, tuple(found))


def _offset(diagnostic: Diagnostic) -> int:
    return diagnostic.span.start if diagnostic.span else 0


def _tree(reading: Reading) -> Tree[Any]:
    try:
        for token in reading.tokens():
            reading.feed(token)
        return reading.end()
    except UnexpectedToken as error:
        start = error.token.start_pos or 0
        span = Span(reading.source, start, start + len(error.token))
        reading.diagnostics.append(Diagnostic("syntax-error", f"found `{error.token}`", span))
        return Tree("document", [])
