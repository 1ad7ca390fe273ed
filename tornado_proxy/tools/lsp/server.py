"""The language server itself: its state and its features; pygls speaks the protocol.

pygls has the folders and the texts of the client. A single thread analyses a copy, made when the turn of a request
comes. A client counts lines from 0 and, within a line, the code units of an encoding (LSP 3.17, Position). The
documents of pygls cannot be used: they end lines at U+2028 and the like too.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import PositionCodec

from tornado_proxy.config.model import Settings
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import LintSettings, SettingsMistake, find_settings
from tornado_proxy.rules.diagnostic import Diagnostic, Edit, Fix, Safety, Severity, SourceFile, Span
from tornado_proxy.rules.expectations import TestOutcome
from tornado_proxy.rules.parser import parse
from tornado_proxy.rules.tree import Document, RewriteStatement, TargetBlock
from tornado_proxy.tools.limits import ANALYSIS_WITHIN, LARGEST_WORKSPACE, PAUSE_OF_KEYS
from tornado_proxy.tools.lsp.completion import Completion, completions
from tornado_proxy.tools.lsp.hover import definitions, hover_at, lens_places, verdict_on
from tornado_proxy.tools.lsp.workspace import Analysis, Workspace, actions, analyse, layout_edits, safe_fixes

_LINE_END = re.compile(r"\r\n|\n|\r")


class Lines:
    """The lines of a text as clients count them; every position has an offset."""

    def __init__(self, text: str, codec: PositionCodec) -> None:
        self._lines, self._codec = _LINE_END.split(text), codec
        self._starts = [0, *(end.end() for end in _LINE_END.finditer(text))]

    def position(self, offset: int) -> types.Position:
        """Returns the position of a code-point offset."""
        line = bisect_right(self._starts, offset) - 1
        before = self._lines[line][: offset - self._starts[line]]
        return types.Position(line, self._codec.client_num_units(before))

    def offset(self, position: types.Position) -> int:
        """Returns the code-point offset of a position; beyond the end of a line, that end (LSP 3.17, Position)."""
        line, units = min((position.line, position.character), (len(self._lines) - 1, sys.maxsize))
        text = self._lines[line]
        if units >= self._codec.client_num_units(text):
            return self._starts[line] + len(text)
        within = self._codec.position_from_client_units([text], types.Position(0, units))
        return self._starts[line] + within.character


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

    def lens(self, span: Span, tests: Sequence[TestOutcome]) -> types.CodeLens:
        """Returns the line above a span about its tests; it shows the first that fails, or else the first, if any."""
        first = min(tests, key=lambda each: each.passed, default=None)
        place = self.location(first.test.statement.span if first else span)
        return types.CodeLens(self.range(span), types.Command(verdict_on(tests), SHOW_TEST, arguments=[place]))

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


_WATCHED = ("**/*.rules", "**/tornado-proxy.toml", "**/pyproject.toml")

_log = logging.getLogger(__name__)

_Handler = TypeVar("_Handler", bound=Callable[..., Any])
_HANDLERS: dict[str, tuple[Callable[..., Any], Any]] = {}
"""The handlers of requests and notifications with their options, by the methods of the protocol."""


def _handles(*methods: str, options: Any = None) -> Callable[[_Handler], _Handler]:
    def registered(handler: _Handler) -> _Handler:
        _HANDLERS.update(dict.fromkeys(methods, (handler, options)))
        return handler

    return registered


class RulesServer(LanguageServer):
    """A language server for rule files; `places` are read together, and a configuration has the `settings`."""

    def __init__(self, version: str, places: Sequence[Path] = (), settings: Settings | None = None) -> None:
        # The whole text is sent: pygls takes U+2028 and the like for line ends, and would apply changes elsewhere.
        full = types.TextDocumentSyncKind.Full
        super().__init__(NAME, version, text_document_sync_kind=full, max_workers=4)
        self.translation = Translation()
        self._settings = settings
        self._places = tuple(place.resolve() for place in places)
        self._analyst = ThreadPoolExecutor(1, "analysis")
        self._analyses: dict[tuple[Path, ...] | str, Analysis] = {}  # used by that thread only
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._published: dict[str, frozenset[str]] = {}  # by the analysed file: the files with published findings
        for method, (handler, options) in _HANDLERS.items():
            # pygls sets attributes of a handler, which a method has not.
            self.feature(method, options)(partial(handler, self))
        self.command(SHOW_TEST)(partial(self._show_test))

    @_handles(types.INITIALIZE)
    def _begin(self, parameters: types.InitializeParams) -> None:
        """Stores the capabilities of the client, and the folder of one that has no list of them."""
        capabilities = parameters.capabilities
        formats = get_capability(capabilities, "text_document.hover.content_format")
        self.translation = Translation(
            codec=self.protocol.workspace.position_codec,
            markdown=formats is None or types.MarkupKind.Markdown in formats,
            snippets=bool(get_capability(capabilities, "text_document.completion.completion_item.snippet_support")),
        )
        if not parameters.workspace_folders and self.workspace.root_uri:
            self.workspace.add_folder(types.WorkspaceFolder(self.workspace.root_uri, ""))

    def _name_of(self, uri: str) -> str:
        """Returns the name of a file in the workspace."""
        path = to_fs_path(uri) if uri.startswith("file:") else None
        return os.path.realpath(path) if path else uri

    @_handles(types.TEXT_DOCUMENT_DID_OPEN, types.TEXT_DOCUMENT_DID_CHANGE)
    def _look_at(self, parameters: types.DidOpenTextDocumentParams | types.DidChangeTextDocumentParams) -> None:
        document = parameters.text_document
        name = self._name_of(document.uri)
        self.translation.open[name] = (document.uri, document.version)
        self._look_soon(name)

    @_handles(types.TEXT_DOCUMENT_DID_CLOSE)
    def _close(self, parameters: types.DidCloseTextDocumentParams) -> None:
        """Handles a file that was closed: its content on disk counts again."""
        name = self._name_of(parameters.text_document.uri)
        if Path(name).is_file():
            self._look_soon(name)
        else:
            # It was never saved, so it does not exist any more.
            self._stop_waiting(name)
            self._publish_for(name, [])
        self.translation.open.pop(name, None)

    @_handles(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def _look_at_all(self, _: object) -> None:
        """Analyses all open files again after a change on disk, or of the folders of the client."""
        for name in self.translation.open:
            self._look_soon(name)

    def _source(self, uri: str) -> SourceFile | None:
        """Returns the text of an open file; None if it is too large to answer for at once."""
        name = self._name_of(uri)
        text = self._files().texts.get(name, "")
        return SourceFile(name, text) if len(text) <= LARGEST_WORKSPACE else None

    async def analysis(self, uri: str) -> tuple[Analysis, Document] | None:
        """Returns the current analysis of a file with its companions, and its tree; None if it takes too long."""
        name = self._name_of(uri)
        analysed = asyncio.wrap_future(self._analyst.submit(self._analyse, name))
        try:
            async with asyncio.timeout(ANALYSIS_WITHIN):
                analysis = await asyncio.shield(analysed)
        except TimeoutError:
            return None
        document = analysis.document(name)
        return (analysis, document) if document else None

    def _look_soon(self, name: str) -> None:
        """Analyses a file after a pause without changes, and publishes the diagnostics."""
        loop = asyncio.get_running_loop()

        def look() -> None:
            analysed = self._analyst.submit(self._analyse, name)
            analysed.add_done_callback(lambda done: loop.call_soon_threadsafe(self._publish, name, done))

        self._stop_waiting(name)
        self._timers[name] = loop.call_later(PAUSE_OF_KEYS, look)

    def _stop_waiting(self, name: str) -> None:
        if name in self._timers:
            self._timers.pop(name).cancel()

    def _analyse(self, name: str) -> Analysis:
        """Analyses the workspace as it is now; runs in the analysis thread."""
        workspace = self._files()
        together = workspace.together_with(name) or name
        linting = LintSettings()
        try:
            if Path(name).is_absolute():
                linting = find_settings(Path(name).parent, CHECKS)
        except SettingsMistake as error:
            _log.warning("%s", error)
        analysis = analyse(workspace.sources(name), linting, self._settings, self._analyses.get(together))
        self._analyses[together] = analysis
        return analysis

    def _files(self) -> Workspace:
        """Returns the folders and the open files of the client; the event loop goes on changing them."""
        folders, documents = [*self.workspace.folders.values()], [*self.workspace.text_documents.values()]
        texts = {self._name_of(each.uri): each.source for each in documents}
        return Workspace(tuple(Path(self._name_of(each.uri)) for each in folders), self._places, texts)

    def _publish(self, name: str, done: Future[Analysis]) -> None:
        if (error := done.exception()) is not None:
            _log.error("the files could not be analysed", exc_info=error)
            return
        analysis = done.result()
        # A file that is not UTF-8 has no document.
        files = {each.span.source.name: each.span.source for each in analysis.diagnostics if each.span}
        files |= {document.source.name: document.source for document in analysis.loaded.documents}
        for each in analysis.diagnostics:
            if each.span is None:
                _log.warning("%s", each.message)
        for source in files.values():
            self._publish_for(source.name, self.translation.diagnostics(analysis.diagnostics_of(source.name)))
        for gone in self._published.get(name, frozenset()) - files.keys():
            self._publish_for(gone, [])
        self._published[name] = frozenset(files)
        if get_capability(self.client_capabilities, "workspace.code_lens.refresh_support"):
            self.workspace_code_lens_refresh(None)

    def _publish_for(self, name: str, diagnostics: list[types.Diagnostic]) -> None:
        uri, version = self.translation.open.get(name, (uri_of(name), None))
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics, version))

    @_handles(types.INITIALIZED)
    def _watch(self, _: types.InitializedParams) -> None:
        if get_capability(self.client_capabilities, "workspace.did_change_watched_files.dynamic_registration"):
            watchers = [types.FileSystemWatcher(pattern) for pattern in _WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            registration = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            self.client_register_capability(types.RegistrationParams([registration]))

    @_handles(types.TEXT_DOCUMENT_HOVER)
    async def _hover(self, parameters: types.HoverParams) -> types.Hover | None:
        asked = await self._asked(parameters)
        explanation = hover_at(*asked) if asked else None
        if explanation is None:
            return None
        text, span = explanation
        return types.Hover(self.translation.markup(text), self.translation.range(span))

    @_handles(types.TEXT_DOCUMENT_DEFINITION)
    async def _define(self, parameters: types.DefinitionParams) -> list[types.Location]:
        asked = await self._asked(parameters)
        return [self.translation.location(span) for span in (definitions(*asked) if asked else ())]

    async def _asked(
        self, parameters: types.HoverParams | types.DefinitionParams
    ) -> tuple[Analysis, Document, int] | None:
        """Returns the analysis of a file, its tree, and the offset that a request points to."""
        current = await self.analysis(parameters.text_document.uri)
        return (*current, self.translation.offset(current[1].source, parameters.position)) if current else None

    @_handles(types.TEXT_DOCUMENT_COMPLETION, options=types.CompletionOptions(trigger_characters=[*"${.[\"'|:"]))
    def _complete(self, parameters: types.CompletionParams) -> list[types.CompletionItem]:
        if (source := self._source(parameters.text_document.uri)) is None:
            return []
        offset = self.translation.offset(source, parameters.position)
        targets = {each.name for each in self._settings.targets} if self._settings else set()
        targets |= {each.name for analysis in list(self._analyses.values()) for each in analysis.subject.targets}
        span, proposals = completions(source, offset, sorted(targets))
        place = self.translation.range(span)
        return [self.translation.completion(each, place, number) for number, each in enumerate(proposals)]

    @_handles(
        types.TEXT_DOCUMENT_CODE_ACTION,
        options=types.CodeActionOptions(
            code_action_kinds=[types.CodeActionKind.QuickFix, types.CodeActionKind.SourceFixAll]
        ),
    )
    async def _act(self, parameters: types.CodeActionParams) -> list[types.CodeAction]:
        if (current := await self.analysis(parameters.text_document.uri)) is None:
            return []
        analysis, document = current
        ends = (parameters.range.start, parameters.range.end)
        start, end = (self.translation.offset(document.source, each) for each in ends)
        offered = [self.translation.action(*each) for each in actions(analysis, document, start, end)]
        if fixes := safe_fixes(analysis, document):
            edit = self.translation.workspace_edit(edit for fix in fixes for edit in fix.edits)
            offered.append(types.CodeAction("apply all safe fixes", types.CodeActionKind.SourceFixAll, edit=edit))
        only = parameters.context.only

        def is_asked(kind: str) -> bool:
            """Returns whether a kind is asked for, or one that includes it, as `source` includes `source.fixAll`."""
            # Not f-strings: kinds are an enumeration.
            return only is None or any(not each or (kind + ".").startswith(each + ".") for each in only)

        return [each for each in offered if is_asked(each.kind or "")]

    @_handles(types.TEXT_DOCUMENT_FORMATTING)
    def _lay_out(self, parameters: types.DocumentFormattingParams) -> list[types.TextEdit]:
        source = self._source(parameters.text_document.uri)
        return self.translation.edits(layout_edits(parse(source))) if source else []

    @_handles(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def _outline(self, parameters: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        source, symbol = self._source(parameters.text_document.uri), self.translation.symbol
        # In a thread: it takes seconds for a large file.
        return await asyncio.to_thread(lambda: [*map(symbol, parse(source).document.blocks)]) if source else []

    @_handles(types.TEXT_DOCUMENT_CODE_LENS, options=types.CodeLensOptions())
    async def _lens(self, parameters: types.CodeLensParams) -> list[types.CodeLens]:
        current = await self.analysis(parameters.text_document.uri)
        lens = self.translation.lens
        return await asyncio.to_thread(lambda: [lens(*each) for each in lens_places(*current)]) if current else []

    async def _show_test(self, location: types.Location) -> None:
        if get_capability(self.client_capabilities, "window.show_document.support"):
            place = types.ShowDocumentParams(location.uri, take_focus=True, selection=location.range)
            await self.window_show_document_async(place)

    def shutdown(self) -> None:
        """Stops without waiting for an analysis that has begun."""
        self._analyst.shutdown(wait=False, cancel_futures=True)
        super().shutdown()  # type: ignore[no-untyped-call] # pygls has no type for it
