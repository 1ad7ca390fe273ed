"""The language server itself: its state and its features; pygls speaks the protocol.

pygls has the folders and the texts of the client. A single thread analyses a copy, made when the turn of a request
comes.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from tornado_proxy.lang.diagnostic import SourceFile
from tornado_proxy.lang.parser import parse
from tornado_proxy.lang.tree import Document
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.settings import Selection, SettingsMistake, find_settings
from tornado_proxy.tools.lsp.completion import completions
from tornado_proxy.tools.lsp.hover import definitions, hover_at, lenses
from tornado_proxy.tools.lsp.translation import NAME, SHOW_TEST, Translation, uri_of
from tornado_proxy.tools.lsp.workspace import (
    LARGEST,
    Analysis,
    Workspace,
    actions,
    analyse,
    layout_edits,
    safe_fixes,
)

if TYPE_CHECKING:
    from tornado_proxy.config.model import Settings


PAUSE = 0.15
"""Seconds without a key press before the files are analysed for diagnostics; requests do not wait for it."""

PATIENCE = 5.0
"""Seconds that a request waits for an analysis; its answer is then empty."""

_log = logging.getLogger(__name__)


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

    def begin(self, parameters: types.InitializeParams) -> None:
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

    def name_of(self, uri: str) -> str:
        """Returns the name of a file in the workspace."""
        path = to_fs_path(uri) if uri.startswith("file:") else None
        return os.path.realpath(path) if path else uri

    def look_at(self, parameters: types.DidOpenTextDocumentParams | types.DidChangeTextDocumentParams) -> None:
        """Handles a file that was opened or changed."""
        document = parameters.text_document
        name = self.name_of(document.uri)
        self.translation.open[name] = (document.uri, document.version)
        self.look_soon(name)

    def close(self, parameters: types.DidCloseTextDocumentParams) -> None:
        """Handles a file that was closed: its content on disk counts again."""
        name = self.name_of(parameters.text_document.uri)
        if Path(name).is_file():
            self.look_soon(name)
        else:
            # It was never saved, so it does not exist any more.
            self._stop_waiting(name)
            self._publish_for(name, [])
        self.translation.open.pop(name, None)

    def look_at_all(self, _: object) -> None:
        """Analyses all open files again after a change on disk, or of the folders of the client."""
        for name in self.translation.open:
            self.look_soon(name)

    def source(self, uri: str) -> SourceFile | None:
        """Returns the text of an open file; None if it is too large to answer for at once."""
        name = self.name_of(uri)
        text = self._files().texts.get(name, "")
        return SourceFile(name, text) if len(text) <= LARGEST else None

    def known_targets(self) -> list[str]:
        """Returns the names of all targets in the last analyses and the configuration."""
        configured = [each.name for each in self._settings.targets] if self._settings else []
        analysed = [each.name for analysis in list(self._analyses.values()) for each in analysis.subject.targets]
        return sorted({*configured, *analysed})

    async def analysis(self, uri: str) -> tuple[Analysis, Document] | None:
        """Returns the current analysis of a file with its companions, and its tree; None if it takes too long."""
        name = self.name_of(uri)
        analysed = asyncio.wrap_future(self._analyst.submit(self._analyse, name))
        try:
            async with asyncio.timeout(PATIENCE):
                analysis = await asyncio.shield(analysed)
        except TimeoutError:
            return None
        document = analysis.document(name)
        return (analysis, document) if document else None

    def look_soon(self, name: str) -> None:
        """Analyses a file after a pause without changes, and publishes the diagnostics."""
        loop = asyncio.get_running_loop()

        def look() -> None:
            analysed = self._analyst.submit(self._analyse, name)
            analysed.add_done_callback(lambda done: loop.call_soon_threadsafe(self._publish, name, done))

        self._stop_waiting(name)
        self._timers[name] = loop.call_later(PAUSE, look)

    def _stop_waiting(self, name: str) -> None:
        if name in self._timers:
            self._timers.pop(name).cancel()

    def _analyse(self, name: str) -> Analysis:
        """Analyses the workspace as it is now; runs in the analysis thread."""
        workspace = self._files()
        together = workspace.together_with(name) or name
        analysis = analyse(workspace.sources(name), _selection(name), self._settings, self._analyses.get(together))
        self._analyses[together] = analysis
        return analysis

    def _files(self) -> Workspace:
        """Returns the folders and the open files of the client; the event loop goes on changing them."""
        folders, documents = [*self.workspace.folders.values()], [*self.workspace.text_documents.values()]
        texts = {self.name_of(each.uri): each.source for each in documents}
        return Workspace(tuple(Path(self.name_of(each.uri)) for each in folders), self._places, texts)

    def _publish(self, name: str, done: Future[Analysis]) -> None:
        error = done.exception()
        if error is not None:
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
            self._publish_for(source.name, self.translation.diagnostics(source, analysis.diagnostics_of(source.name)))
        for gone in self._published.get(name, frozenset()) - files.keys():
            self._publish_for(gone, [])
        self._published[name] = frozenset(files)
        if get_capability(self.client_capabilities, "workspace.code_lens.refresh_support"):
            self.workspace_code_lens_refresh(None)

    def _publish_for(self, name: str, diagnostics: list[types.Diagnostic]) -> None:
        uri, version = self.translation.open.get(name, (uri_of(name), None))
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics, version))

    def shutdown(self) -> None:
        """Stops without waiting for an analysis that has begun."""
        self._analyst.shutdown(wait=False, cancel_futures=True)
        super().shutdown()  # type: ignore[no-untyped-call] # pygls has no type for it


def _selection(name: str) -> Selection:
    try:
        return find_settings(Path(name).parent, CHECKS).selection if Path(name).is_absolute() else Selection()
    except SettingsMistake as error:
        _log.warning("%s", error)
        return Selection()


_TRIGGERS = ["$", "{", ".", "[", '"', "'", "|", ":"]
_ACTION_KINDS = [types.CodeActionKind.QuickFix, types.CodeActionKind.SourceFixAll]
_WATCHED = ("**/*.rules", "**/tornado-proxy.toml", "**/pyproject.toml")


def rules_server(version: str, places: Sequence[Path] = (), settings: Settings | None = None) -> RulesServer:
    """Returns a server with all its features."""
    server = RulesServer(version, places, settings)
    _follow_files(server)
    _answer_at_places(server)
    _answer_for_files(server)
    return server


def _follow_files(server: RulesServer) -> None:
    handlers: dict[str, Callable[..., None]] = {
        types.INITIALIZE: server.begin,
        types.TEXT_DOCUMENT_DID_OPEN: server.look_at,
        types.TEXT_DOCUMENT_DID_CHANGE: server.look_at,
        types.TEXT_DOCUMENT_DID_CLOSE: server.close,
        types.WORKSPACE_DID_CHANGE_WATCHED_FILES: server.look_at_all,
        types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: server.look_at_all,
    }
    for event, handler in handlers.items():
        server.feature(event)(partial(handler))  # pygls sets attributes of it, which a method has not

    @server.feature(types.INITIALIZED)
    def watch(_: types.InitializedParams) -> None:
        if get_capability(server.client_capabilities, "workspace.did_change_watched_files.dynamic_registration"):
            watchers = [types.FileSystemWatcher(pattern) for pattern in _WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            registration = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            server.client_register_capability(types.RegistrationParams([registration]))


def _answer_at_places(server: RulesServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(parameters: types.HoverParams) -> types.Hover | None:
        asked = await _asked(server, parameters)
        explanation = hover_at(*asked) if asked else None
        if explanation is None:
            return None
        text, span = explanation
        return types.Hover(server.translation.markup(text), server.translation.range(span))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def define(parameters: types.DefinitionParams) -> list[types.Location]:
        asked = await _asked(server, parameters)
        return [server.translation.location(span) for span in (definitions(*asked) if asked else ())]

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=_TRIGGERS))
    def complete(parameters: types.CompletionParams) -> list[types.CompletionItem]:
        source = server.source(parameters.text_document.uri)
        if source is None:
            return []
        offset = server.translation.offset(source, parameters.position)
        proposals = completions(source, offset, server.known_targets())
        return [server.translation.completion(each, number) for number, each in enumerate(proposals)]

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=_ACTION_KINDS))
    async def act(parameters: types.CodeActionParams) -> list[types.CodeAction]:
        current = await server.analysis(parameters.text_document.uri)
        offered = _actions(server, *current, parameters.range) if current else []
        only = parameters.context.only
        return [each for each in offered if only is None or any(_is_kind(each, kind) for kind in only)]


async def _asked(
    server: RulesServer, parameters: types.HoverParams | types.DefinitionParams
) -> tuple[Analysis, Document, int] | None:
    """Returns the analysis of a file, its tree, and the offset that a request points to."""
    current = await server.analysis(parameters.text_document.uri)
    return (*current, server.translation.offset(current[1].source, parameters.position)) if current else None


def _actions(server: RulesServer, analysis: Analysis, document: Document, place: types.Range) -> list[types.CodeAction]:
    start, end = (server.translation.offset(document.source, each) for each in (place.start, place.end))
    offered = [server.translation.action(*each) for each in actions(analysis, document, start, end)]
    fixes = safe_fixes(analysis, document)
    if fixes:
        edit = server.translation.workspace_edit(edit for fix in fixes for edit in fix.edits)
        offered.append(types.CodeAction("apply all safe fixes", types.CodeActionKind.SourceFixAll, edit=edit))
    return offered


def _is_kind(action: types.CodeAction, asked: str) -> bool:
    """Returns whether an action has a kind, or one below it, as `source.fixAll` is below `source`."""
    kind = action.kind or ""
    return not asked or kind == asked or kind.startswith(asked + ".")  # not an f-string: kinds are an enumeration


def _answer_for_files(server: RulesServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    def lay_out(parameters: types.DocumentFormattingParams) -> list[types.TextEdit]:
        source = server.source(parameters.text_document.uri)
        return server.translation.edits(layout_edits(parse(source))) if source else []

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def outline(parameters: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        source = server.source(parameters.text_document.uri)
        return [server.translation.symbol(each) for each in parse(source).document.blocks] if source else []

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions())
    async def lens(parameters: types.CodeLensParams) -> list[types.CodeLens]:
        current = await server.analysis(parameters.text_document.uri)
        return [server.translation.lens(each) for each in (lenses(*current) if current else ())]

    @server.command(SHOW_TEST)
    async def show_test(location: types.Location) -> None:
        if get_capability(server.client_capabilities, "window.show_document.support"):
            place = types.ShowDocumentParams(location.uri, take_focus=True, selection=location.range)
            await server.window_show_document_async(place)
