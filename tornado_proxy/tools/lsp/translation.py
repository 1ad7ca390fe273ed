"""Converts results of features to the types of the protocol, with positions in the units of the client.

A client counts lines from 0 and, within a line, the code units of an encoding (LSP 3.17, Position). The documents of
pygls cannot be used: they end lines at U+2028 and the like too.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import msgspec
from lsprotocol import types
from pygls.workspace import PositionCodec

from tornado_proxy.rules.diagnostic import Diagnostic, Edit, Fix, Safety, Severity, SourceFile, Span
from tornado_proxy.rules.tree import RewriteStatement, TargetBlock
from tornado_proxy.tools.lsp.completion import Completion
from tornado_proxy.tools.lsp.hover import Lens

_LINE_END = re.compile(r"\r\n|\n|\r")


class Lines:
    """The lines of a text as clients count them; every position has an offset."""

    def __init__(self, text: str, codec: PositionCodec) -> None:
        self._text = text
        self._codec = codec
        self._starts = [0, *(end.end() for end in _LINE_END.finditer(text))]

    def position(self, offset: int) -> types.Position:
        """Returns the position of a code-point offset."""
        line = bisect_right(self._starts, offset) - 1
        return types.Position(line, self._codec.client_num_units(self._text[self._starts[line] : offset]))

    def offset(self, position: types.Position) -> int:
        """Returns the code-point offset of a position; beyond the end of a line, that end (LSP 3.17, Position)."""
        if position.line >= len(self._starts):
            return len(self._text)
        start = self._starts[position.line]
        end = _LINE_END.search(self._text, start)
        line = self._text[start : end.start() if end else len(self._text)]
        if position.character >= self._codec.client_num_units(line):
            return start + len(line)
        within = types.Position(0, position.character)
        return start + self._codec.position_from_client_units([line], within).character


@lru_cache(maxsize=16)  # an answer has thousands of positions in one file
def _lines(text: str, codec: PositionCodec) -> Lines:
    return Lines(text, codec)


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


def uri_of(name: str) -> str:
    """Returns the URI of a file; a file without a path has its URI as its name."""
    return Path(name).as_uri() if Path(name).is_absolute() else name


class Translation(msgspec.Struct):
    """A converter for one client: its units, its capabilities, and its URIs of open files."""

    codec: PositionCodec = msgspec.field(default_factory=PositionCodec)
    markdown: bool = True
    snippets: bool = False
    open: dict[str, tuple[str, int]] = {}  # by name: URI and version

    def offset(self, source: SourceFile, position: types.Position) -> int:
        """Returns the offset of a position."""
        return _lines(source.text, self.codec).offset(position)

    def range(self, span: Span) -> types.Range:
        """Returns the range of a span."""
        lines = _lines(span.source.text, self.codec)
        return types.Range(lines.position(span.start), lines.position(span.end))

    def location(self, span: Span) -> types.Location:
        """Returns the location of a span."""
        return types.Location(self.uri(span.source.name), self.range(span))

    def uri(self, name: str) -> str:
        """Returns the client's URI of a file."""
        return self.open[name][0] if name in self.open else uri_of(name)

    def diagnostics(self, diagnostics: Iterable[Diagnostic]) -> list[types.Diagnostic]:
        """Converts diagnostics; those without a place are left out."""
        return [self._diagnostic(each, each.span) for each in diagnostics if each.span]

    def _diagnostic(self, diagnostic: Diagnostic, span: Span) -> types.Diagnostic:
        related = [
            types.DiagnosticRelatedInformation(self.location(note.span), note.message)
            for note in diagnostic.notes
            if note.span
        ]
        return types.Diagnostic(
            range=self.range(span),
            message=f"{diagnostic.message}\n{diagnostic.help}" if diagnostic.help else diagnostic.message,
            severity=_SEVERITIES[diagnostic.severity],
            code=diagnostic.code,
            source=NAME,
            tags=[types.DiagnosticTag.Unnecessary] if diagnostic.code in _UNNECESSARY else None,
            related_information=related or None,
        )

    def markup(self, text: str) -> types.MarkupContent:
        """Returns a text in Markdown; a client that cannot show it gets the same as plain text."""
        kind = types.MarkupKind.Markdown if self.markdown else types.MarkupKind.PlainText
        return types.MarkupContent(kind, text)

    def completion(self, proposal: Completion, place: types.Range, order: int) -> types.CompletionItem:
        """Converts a completion for a place; `order` is its rank."""
        snippet = proposal.snippet if self.snippets else ""
        return types.CompletionItem(
            label=proposal.label,
            kind=proposal.kind,
            detail=proposal.detail or None,
            documentation=self.markup(proposal.manual) if proposal.manual else None,
            sort_text=f"{order:04}",
            insert_text_format=types.InsertTextFormat.Snippet if snippet else types.InsertTextFormat.PlainText,
            text_edit=types.TextEdit(place, snippet or proposal.label),
        )

    def edits(self, edits: Iterable[Edit]) -> list[types.TextEdit]:
        """Converts edits of one file."""
        return [types.TextEdit(self.range(edit.span), edit.text) for edit in edits]

    def workspace_edit(self, edits: Iterable[Edit]) -> types.WorkspaceEdit:
        """Converts edits of several files."""
        by_name: dict[str, list[Edit]] = {}
        for edit in edits:
            by_name.setdefault(edit.span.source.name, []).append(edit)
        return types.WorkspaceEdit({self.uri(name): self.edits(in_file) for name, in_file in by_name.items()})

    def action(self, finding: Diagnostic, fix: Fix) -> types.CodeAction:
        """Converts a fix of a finding; only a safe one can be bound to a key."""
        return types.CodeAction(
            title=fix.message,
            kind=types.CodeActionKind.QuickFix,
            diagnostics=self.diagnostics([finding]),
            is_preferred=fix.safety is Safety.SAFE or None,
            edit=self.workspace_edit(fix.edits),
        )

    def lens(self, lens: Lens) -> types.CodeLens:
        """Converts a lens, whose command shows a test, or the place itself if it has none."""
        place = self.location(lens.test or lens.span)
        return types.CodeLens(self.range(lens.span), types.Command(lens.title, SHOW_TEST, arguments=[place]))

    def symbol(self, node: TargetBlock | RewriteStatement) -> types.DocumentSymbol:
        """Converts a target with its rewrites, or a rewrite; an editor jumps to the name or the source."""
        if isinstance(node, RewriteStatement):
            name, kind, children = node.name or node.source, types.SymbolKind.Function, []
            detail = f"{node.source.value} → {node.template.value}" if node.name else node.template.value
        else:
            name, kind, detail = node.name, types.SymbolKind.Module, ""
            children = [self.symbol(each) for each in node.statements if isinstance(each, RewriteStatement)]
        return types.DocumentSymbol(
            name=name.value or "(no name)",
            kind=kind,
            range=self.range(node.span),
            selection_range=self.range(name.span),
            detail=detail or None,
            children=children,
        )
