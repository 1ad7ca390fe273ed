"""What the client asks for, and which feature answers: one handler for each method of the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from tornado_proxy.lang.parser import parse
from tornado_proxy.tools.lsp.completion import completions
from tornado_proxy.tools.lsp.edits import actions, layout_edits, safe_fixes
from tornado_proxy.tools.lsp.hover import hover_at
from tornado_proxy.tools.lsp.navigation import definitions, lenses, symbols
from tornado_proxy.tools.lsp.server import RulesServer
from tornado_proxy.tools.lsp.translation import SHOW_TEST
from tornado_proxy.tools.lsp.workspace import Analysis

if TYPE_CHECKING:
    from tornado_proxy.config.model import Settings

_TRIGGERS = ["$", "{", ".", "[", '"', "'", "|", ":"]
_ACTION_KINDS = [types.CodeActionKind.QuickFix, types.CodeActionKind.SourceFixAll]
_WATCHED = ("**/*.rules", "**/tornado-proxy.toml", "**/pyproject.toml")


def rules_server(version: str, places: Sequence[Path] = (), settings: Settings | None = None) -> RulesServer:
    """A server that answers; `places` are read together, and `settings` are those of a configuration."""
    server = RulesServer(version, places, settings)
    _follow_files(server)
    _answer_at_places(server)
    _answer_for_files(server)
    return server


def _follow_files(server: RulesServer) -> None:
    @server.feature(types.INITIALIZE)
    def begin(parameters: types.InitializeParams) -> None:
        server.begin(parameters)

    @server.feature(types.INITIALIZED)
    def watch(_: types.InitializedParams) -> None:
        workspace = server.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace else None
        if watching and watching.dynamic_registration:
            watchers = [types.FileSystemWatcher(pattern) for pattern in _WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            registration = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            server.client_register_capability(types.RegistrationParams([registration]))

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(parameters: types.DidOpenTextDocumentParams) -> None:
        document = parameters.text_document
        server.show(document.uri, document.text, document.version)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(parameters: types.DidChangeTextDocumentParams) -> None:
        document = parameters.text_document
        for change in parameters.content_changes[-1:]:
            server.show(document.uri, change.text, document.version)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(parameters: types.DidCloseTextDocumentParams) -> None:
        server.close(parameters.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def changed_on_disk(_: types.DidChangeWatchedFilesParams) -> None:
        server.look_at_all()

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def changed_folders(parameters: types.DidChangeWorkspaceFoldersParams) -> None:
        event = parameters.event
        server.set_folders([each.uri for each in event.removed], [each.uri for each in event.added])
        server.look_at_all()


def _answer_at_places(server: RulesServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(parameters: types.HoverParams) -> types.Hover | None:
        analysis, name, offset = await _asked(server, parameters)
        found = hover_at(analysis, name, offset) if analysis else None
        return server.translation.hover(found) if found else None

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def define(parameters: types.DefinitionParams) -> list[types.Location]:
        analysis, name, offset = await _asked(server, parameters)
        found = definitions(analysis, name, offset) if analysis else ()
        return [server.translation.location(span) for span in found]

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
        uri = parameters.text_document.uri
        analysis, name = await server.analysis(uri), server.name_of(uri)
        found = _actions(server, analysis, name, parameters.range) if analysis else []
        wanted = parameters.context.only
        return [each for each in found if wanted is None or any(_is_kind(each, kind) for kind in wanted)]


async def _asked(
    server: RulesServer, parameters: types.HoverParams | types.DefinitionParams
) -> tuple[Analysis | None, str, int]:
    """What is known of a file, its name, and the offset that a request points to."""
    uri = parameters.text_document.uri
    analysis, name = await server.analysis(uri), server.name_of(uri)
    document = analysis.document(name) if analysis else None
    return analysis, name, server.translation.offset(document.source, parameters.position) if document else 0


def _actions(server: RulesServer, analysis: Analysis, name: str, place: types.Range) -> list[types.CodeAction]:
    document = analysis.document(name)
    if document is None:
        return []
    start, end = (server.translation.offset(document.source, each) for each in (place.start, place.end))
    found = [server.translation.action(each) for each in actions(analysis, name, start, end)]
    fixes = safe_fixes(analysis, name)
    if fixes:
        edit = server.translation.workspace_edit(edit for fix in fixes for edit in fix.edits)
        found.append(types.CodeAction("apply all safe fixes", types.CodeActionKind.SourceFixAll, edit=edit))
    return found


def _is_kind(action: types.CodeAction, wanted: types.CodeActionKind | str) -> bool:
    """Whether an action is of a kind, or of one below it: kinds are hierarchies, as in `source.fixAll`."""
    kind, asked = (
        each.value if isinstance(each, types.CodeActionKind) else each or "" for each in (action.kind, wanted)
    )
    return not asked or kind == asked or kind.startswith(f"{asked}.")


def _answer_for_files(server: RulesServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    def lay_out(parameters: types.DocumentFormattingParams) -> list[types.TextEdit]:
        source = server.source(parameters.text_document.uri)
        return server.translation.edits(layout_edits(parse(source))) if source else []

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def outline(parameters: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        source = server.source(parameters.text_document.uri)
        return [server.translation.symbol(each) for each in symbols(parse(source).document)] if source else []

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions())
    async def lens(parameters: types.CodeLensParams) -> list[types.CodeLens]:
        uri = parameters.text_document.uri
        analysis = await server.analysis(uri)
        found = lenses(analysis, server.name_of(uri)) if analysis else ()
        return [server.translation.lens(each) for each in found]

    @server.command(SHOW_TEST)
    async def show_test(location: types.Location) -> None:
        window = server.client_capabilities.window
        if window and window.show_document and window.show_document.support:
            place = types.ShowDocumentParams(location.uri, take_focus=True, selection=location.range)
            await server.window_show_document_async(place)
