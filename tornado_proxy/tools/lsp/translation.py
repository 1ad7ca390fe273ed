"""Converts results of features to the types of the protocol, with positions in the units of the client.

A client counts lines from 0 and, within a line, the code units of an encoding (LSP 3.17, Position). Lines are the
protocol's, not the language's: a CR alone ends one too.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from lsprotocol import types

from tornado_proxy.lang.diagnostic import Diagnostic, Edit, Severity, SourceFile, Span
from tornado_proxy.tools.lsp.completion import Completion, ItemKind
from tornado_proxy.tools.lsp.hover import Hover, Lens, Symbol
from tornado_proxy.tools.lsp.workspace import Action

_LINE_END = re.compile(r"\r\n|\n|\r")


class Encoding(Enum):
    """The unit of positions within a line: UTF-16 unless client and server agree on another."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"

    def units(self, text: str) -> int:
        """Returns the number of code units of a text; half of a surrogate pair counts as one character."""
        if text.isascii() or self is Encoding.UTF32:
            return len(text)
        if self is Encoding.UTF8:
            return len(text.encode(errors="surrogatepass"))
        return len(text) + sum(character > "\uffff" for character in text)


class ClientPosition(NamedTuple):
    """A line, and the number of code units before the position in it; both from 0."""

    line: int
    character: int


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a text as clients count them; every position has an offset."""

    text: str = field(repr=False)
    encoding: Encoding = Encoding.UTF16
    _bounds: tuple[tuple[int, int], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ends = [end.span() for end in _LINE_END.finditer(self.text)]
        starts = (0, *(end for _, end in ends))
        stops = (*(start for start, _ in ends), len(self.text))
        object.__setattr__(self, "_bounds", tuple(zip(starts, stops, strict=True)))

    def position(self, offset: int) -> ClientPosition:
        """Returns the position of a code-point offset."""
        line = bisect_right(self._bounds, offset, key=lambda bounds: bounds[0]) - 1
        return ClientPosition(line, self.encoding.units(self.text[self._bounds[line][0] : offset]))

    def offset(self, position: ClientPosition) -> int:
        """Returns the code-point offset of a position; beyond the end of a line, that end (LSP 3.17, Position)."""
        if position.line >= len(self._bounds):
            return len(self.text)
        start, stop = self._bounds[max(position.line, 0)]
        line = self.text[start:stop]
        if line.isascii():
            return start + min(max(position.character, 0), len(line))
        left = position.character
        for index, character in enumerate(line):
            left -= self.encoding.units(character)
            if left < 0:  # within a character: before it
                return start + index
        return stop


NAME = "tornado-proxy"
SHOW_TEST = "tornado-proxy.showTest"
"""The command of a lens, which shows a test."""

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}
# An editor may show these faded: removing the code changes nothing.
_UNNECESSARY = frozenset({"duplicate-rewrite", "unmatchable-source", "unreachable-rewrite", "unused-allowance"})
_KINDS: Mapping[ItemKind, types.CompletionItemKind] = {
    ItemKind.KEYWORD: types.CompletionItemKind.Keyword,
    ItemKind.TARGET: types.CompletionItemKind.Module,
    ItemKind.GROUP: types.CompletionItemKind.Variable,
    ItemKind.VARIABLE: types.CompletionItemKind.Field,
    ItemKind.FUNCTION: types.CompletionItemKind.Function,
    ItemKind.CHECK: types.CompletionItemKind.EnumMember,
    ItemKind.VALUE: types.CompletionItemKind.Value,
}


def uri_of(name: str) -> str:
    """Returns the URI of a file; a file without a path has its URI as its name."""
    return Path(name).as_uri() if Path(name).is_absolute() else name


@dataclass(slots=True)
class Translation:
    """Converts for one client: its units, its capabilities, and its URIs of open files."""

    encoding: Encoding = Encoding.UTF16
    markdown: bool = True
    snippets: bool = False
    versioned: bool = False  # whether edits may name the version of a file that they are for
    open: dict[str, tuple[str, int]] = field(default_factory=dict)  # by name: URI and version

    def offset(self, source: SourceFile, position: types.Position) -> int:
        """Returns the offset of a position."""
        return Lines(source.text, self.encoding).offset(ClientPosition(position.line, position.character))

    def range(self, span: Span, lines: Lines | None = None) -> types.Range:
        """Returns the range of a span; `lines` are those of its file, if known."""
        counted = lines or Lines(span.source.text, self.encoding)
        start, end = counted.position(span.start), counted.position(span.end)
        return types.Range(types.Position(*start), types.Position(*end))

    def location(self, span: Span) -> types.Location:
        """Returns the location of a span."""
        return types.Location(self.uri(span.source.name), self.range(span))

    def uri(self, name: str) -> str:
        """Returns the client's URI of a file."""
        return self.open[name][0] if name in self.open else uri_of(name)

    def version(self, name: str) -> int | None:
        """Returns the version of a file; None if the client has not opened it."""
        return self.open[name][1] if name in self.open else None

    def diagnostics(self, source: SourceFile, found: Iterable[Diagnostic]) -> list[types.Diagnostic]:
        """Converts the diagnostics of one file."""
        lines = Lines(source.text, self.encoding)
        return [self._diagnostic(each, each.span, lines) for each in found if each.span]

    def _diagnostic(self, found: Diagnostic, span: Span, lines: Lines) -> types.Diagnostic:
        related = [
            types.DiagnosticRelatedInformation(self.location(note.span), note.message)
            for note in found.notes
            if note.span
        ]
        return types.Diagnostic(
            range=self.range(span, lines),
            message=f"{found.message}\n{found.help}" if found.help else found.message,
            severity=_SEVERITIES[found.severity],
            code=found.code,
            source=NAME,
            tags=[types.DiagnosticTag.Unnecessary] if found.code in _UNNECESSARY else None,
            related_information=related or None,
        )

    def hover(self, hover: Hover) -> types.Hover:
        """Converts a hover text."""
        return types.Hover(self._markup(hover.text), self.range(hover.span))

    def _markup(self, text: str) -> types.MarkupContent:
        kind = types.MarkupKind.Markdown if self.markdown else types.MarkupKind.PlainText
        return types.MarkupContent(kind, text)

    def completion(self, proposal: Completion, order: int) -> types.CompletionItem:
        """Converts a completion; `order` is its rank."""
        snippet = proposal.snippet if self.snippets else ""
        return types.CompletionItem(
            label=proposal.label,
            kind=_KINDS[proposal.kind],
            detail=proposal.detail or None,
            documentation=self._markup(proposal.manual) if proposal.manual else None,
            sort_text=f"{order:04}",
            insert_text_format=types.InsertTextFormat.Snippet if snippet else types.InsertTextFormat.PlainText,
            text_edit=types.TextEdit(self.range(proposal.span), snippet or proposal.label),
        )

    def edits(self, edits: Sequence[Edit]) -> list[types.TextEdit]:
        """Converts edits of one file."""
        if not edits:
            return []
        lines = Lines(edits[0].span.source.text, self.encoding)
        return [types.TextEdit(self.range(edit.span, lines), edit.text) for edit in edits]

    def workspace_edit(self, edits: Iterable[Edit]) -> types.WorkspaceEdit:
        """Converts edits of several files."""
        by_name: dict[str, list[Edit]] = {}
        for edit in edits:
            by_name.setdefault(edit.span.source.name, []).append(edit)
        if not self.versioned:
            return types.WorkspaceEdit(changes={self.uri(name): self.edits(found) for name, found in by_name.items()})
        return types.WorkspaceEdit(
            document_changes=[
                types.TextDocumentEdit(
                    types.OptionalVersionedTextDocumentIdentifier(self.uri(name), self.version(name)), self.edits(found)
                )
                for name, found in by_name.items()
            ]
        )

    def action(self, action: Action) -> types.CodeAction:
        """Converts an action."""
        span = action.finding.span
        found = self.diagnostics(span.source, [action.finding]) if span else []
        return types.CodeAction(
            title=action.title,
            kind=types.CodeActionKind.QuickFix,
            diagnostics=found,
            is_preferred=action.preferred or None,
            edit=self.workspace_edit(action.edits),
        )

    def lens(self, lens: Lens) -> types.CodeLens:
        """Converts a lens, whose command shows a test, or the place itself if it has none."""
        place = self.location(lens.test or lens.span)
        return types.CodeLens(self.range(lens.span), types.Command(lens.title, SHOW_TEST, arguments=[place]))

    def symbol(self, symbol: Symbol, kind: types.SymbolKind = types.SymbolKind.Module) -> types.DocumentSymbol:
        """Converts a symbol with its children."""
        return types.DocumentSymbol(
            name=symbol.name,
            kind=kind,
            range=self.range(symbol.span),
            selection_range=self.range(symbol.name_span),
            detail=symbol.detail or None,
            children=[self.symbol(each, types.SymbolKind.Function) for each in symbol.children],
        )
