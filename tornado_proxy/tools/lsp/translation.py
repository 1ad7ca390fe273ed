"""The features' answers as the protocol's types, places counted as the client counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lsprotocol import types

from tornado_proxy.lang.diagnostic import Diagnostic, Edit, Severity
from tornado_proxy.lang.source import SourceFile, Span
from tornado_proxy.tools.lsp.actions import Action
from tornado_proxy.tools.lsp.completion import Proposal
from tornado_proxy.tools.lsp.hover import Hover
from tornado_proxy.tools.lsp.ideas import Kind
from tornado_proxy.tools.lsp.lenses import Lens
from tornado_proxy.tools.lsp.positions import ClientPosition, Encoding, Lines
from tornado_proxy.tools.lsp.symbols import Symbol

NAME = "tornado-proxy"
SHOW_TEST = "tornado-proxy.showTest"
"""The command of a lens: show the test at a place."""

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}
# What an editor may show faded: it could be taken out without a change.
_UNNECESSARY = frozenset({"duplicate-rewrite", "unmatchable-source", "unreachable-rewrite", "unused-allowance"})
_KINDS: Mapping[Kind, types.CompletionItemKind] = {
    Kind.KEYWORD: types.CompletionItemKind.Keyword,
    Kind.TARGET: types.CompletionItemKind.Module,
    Kind.GROUP: types.CompletionItemKind.Variable,
    Kind.VARIABLE: types.CompletionItemKind.Field,
    Kind.FUNCTION: types.CompletionItemKind.Function,
    Kind.CHECK: types.CompletionItemKind.EnumMember,
    Kind.VALUE: types.CompletionItemKind.Value,
}


def uri_of(name: str) -> str:
    """The URI of a file by its name; what has no path is named by its URI."""
    return Path(name).as_uri() if Path(name).is_absolute() else name


@dataclass(slots=True)
class Translation:
    """Answers for one client: how it counts, what it knows, and what it calls the files that it has open."""

    encoding: Encoding = Encoding.UTF16
    markdown: bool = True
    snippets: bool = False
    versioned: bool = False  # whether edits may name the version of a file that they are for
    open: dict[str, tuple[str, int]] = field(default_factory=dict)  # by name: URI and version

    def offset(self, source: SourceFile, position: types.Position) -> int:
        """The offset in a file of a place that the client points to."""
        return Lines(source.text, self.encoding).offset(ClientPosition(position.line, position.character))

    def range(self, span: Span, lines: Lines | None = None) -> types.Range:
        """A span as the client counts; `lines` where the file is known already."""
        counted = lines or Lines(span.source.text, self.encoding)
        start, end = counted.position(span.start), counted.position(span.end)
        return types.Range(types.Position(*start), types.Position(*end))

    def location(self, span: Span) -> types.Location:
        """A span with its file."""
        return types.Location(self.uri(span.source.name), self.range(span))

    def uri(self, name: str) -> str:
        """What the client calls a file."""
        return self.open[name][0] if name in self.open else uri_of(name)

    def version(self, name: str) -> int | None:
        """The version of a file that the client has open."""
        return self.open[name][1] if name in self.open else None

    def diagnostics(self, source: SourceFile, found: Iterable[Diagnostic]) -> list[types.Diagnostic]:
        """What is said about one file."""
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
        """What is shown at the pointer."""
        return types.Hover(self._markup(hover.text), self.range(hover.span))

    def _markup(self, text: str) -> types.MarkupContent:
        kind = types.MarkupKind.Markdown if self.markdown else types.MarkupKind.PlainText
        return types.MarkupContent(kind, text)

    def completion(self, proposal: Proposal, order: int) -> types.CompletionItem:
        """What may be written; in the order given, not the alphabet's."""
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
        """Edits of one file."""
        if not edits:
            return []
        lines = Lines(edits[0].span.source.text, self.encoding)
        return [types.TextEdit(self.range(edit.span, lines), edit.text) for edit in edits]

    def workspace_edit(self, edits: Iterable[Edit]) -> types.WorkspaceEdit:
        """Edits of one file or several."""
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
        """Something to do about a finding."""
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
        """A line above a target or rewrite, which leads to a test, or else to what has none."""
        place = self.location(lens.test or lens.span)
        return types.CodeLens(self.range(lens.span), types.Command(lens.title, SHOW_TEST, arguments=[place]))

    def symbol(self, symbol: Symbol, kind: types.SymbolKind = types.SymbolKind.Module) -> types.DocumentSymbol:
        """A target with its rewrites."""
        return types.DocumentSymbol(
            name=symbol.name,
            kind=kind,
            range=self.range(symbol.span),
            selection_range=self.range(symbol.name_span),
            detail=symbol.detail or None,
            children=[self.symbol(each, types.SymbolKind.Function) for each in symbol.children],
        )
