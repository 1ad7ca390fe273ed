"""The server's state: what the client has open, and what is known of it; pygls speaks the protocol.

Only the event loop changes the workspace, which is a value; only one thread analyses, so that no analysis waits for
half of an edit. A request is answered from the texts as they are when its turn comes.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams, JsonRpcInvalidRequest, JsonRpcParseError
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.uris import to_fs_path

from tornado_proxy.lang.source import SourceFile
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.settings import SettingsMistake, find_settings
from tornado_proxy.tools.lsp.translation import NAME, Encoding, Translation
from tornado_proxy.tools.lsp.workspace import LARGEST, Analysis, CheckOptions, Workspace, analyse, resolved

if TYPE_CHECKING:
    from tornado_proxy.config.model import Settings


class RulesProtocol(LanguageServerProtocol):
    """Pygls's protocol, which also answers what it cannot understand."""

    def handle_body(self, body: bytes) -> None:
        """Do what a message asks for; one that makes no sense is answered with an error (JSON-RPC 2.0, section 5.1)."""
        try:
            fields = json.loads(body)
        except ValueError:
            self._refuse(None, JsonRpcParseError())
            return
        if not isinstance(fields, dict) or "jsonrpc" not in fields:
            self._refuse(None, JsonRpcInvalidRequest())
            return
        try:
            message = self.structure_message(fields)
        except JsonRpcException:
            # There is nobody to tell about a notification, nor about an answer.
            if "id" in fields and "method" in fields:
                self._refuse(fields["id"], JsonRpcInvalidParams())
            return
        self.handle_message(message)

    def _refuse(self, identifier: Any, error: JsonRpcException) -> None:
        known = identifier if isinstance(identifier, (int, str)) else None
        self._send_data({"jsonrpc": self.VERSION, "id": known, "error": error.to_response_error()})


PAUSE = 0.15
"""Seconds without a key press after which findings are looked for; requests do not wait for them."""

PATIENCE = 5.0
"""Seconds after which a request is answered with nothing rather than with what is still being worked on."""

_log = logging.getLogger(__name__)


class RulesServer(LanguageServer):
    """A language server for rule files; `places` are read together, and `settings` are those of a configuration."""

    def __init__(self, version: str, places: Sequence[Path] = (), settings: Settings | None = None) -> None:
        # The whole text is sent: pygls takes U+2028 and the like for line ends, and would apply changes elsewhere.
        full = types.TextDocumentSyncKind.Full
        super().__init__(NAME, version, text_document_sync_kind=full, protocol_cls=RulesProtocol, max_workers=4)
        self.translation = Translation()
        self._settings = settings
        self._files = Workspace(places=tuple(Path(resolved(str(place))) for place in places))
        self._analyst = ThreadPoolExecutor(1, "analysis")
        self._analyses: dict[tuple[Path, ...] | str, Analysis] = {}  # the thread's own
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._published: dict[str, frozenset[str]] = {}  # by the analysed file: the files with published findings

    def begin(self, parameters: types.InitializeParams) -> None:
        """Take note of what the client is able to, and of its folders."""
        capabilities = parameters.capabilities
        document, workspace = capabilities.text_document, capabilities.workspace
        completion = document.completion.completion_item if document and document.completion else None
        formats = document.hover.content_format if document and document.hover else None
        edits = workspace.workspace_edit if workspace else None
        self.translation = Translation(
            encoding=Encoding(self.protocol.workspace.position_encoding),
            markdown=formats is None or types.MarkupKind.Markdown in formats,
            snippets=bool(completion and completion.snippet_support),
            versioned=bool(edits and edits.document_changes),
        )
        folders = [each.uri for each in parameters.workspace_folders or ()]
        self.set_folders([], folders or ([parameters.root_uri] if parameters.root_uri else []))

    def set_folders(self, removed: Iterable[str], added: Iterable[str]) -> None:
        """Change the client's folders."""
        gone = {Path(self.name_of(uri)) for uri in removed}
        kept = [each for each in self._files.folders if each not in gone]
        self._files = replace(self._files, folders=(*kept, *(Path(self.name_of(uri)) for uri in added)))

    def name_of(self, uri: str) -> str:
        """What a file is called here."""
        path = to_fs_path(uri) if uri.startswith("file:") else None
        return resolved(path) if path else uri

    def show(self, uri: str, text: str, version: int) -> None:
        """A file is open, or has changed."""
        name = self.name_of(uri)
        self.translation.open[name] = (uri, version)
        self._files = self._files.with_text(name, text)
        self.look_soon(name)

    def close(self, uri: str) -> None:
        """A file is closed: what is on disk counts again."""
        name = self.name_of(uri)
        self._files = self._files.without(name)
        if Path(name).is_file():
            self.look_soon(name)
        else:
            self._forget(name)
        self.translation.open.pop(name, None)

    def look_at_all(self) -> None:
        """Something has changed on disk."""
        for name in self._files.texts:
            self.look_soon(name)

    def source(self, uri: str) -> SourceFile | None:
        """The text of an open file; None of one that is too large to be answered for at once."""
        name = self.name_of(uri)
        text = self._files.texts.get(name, "")
        return SourceFile(name, text) if len(text) <= LARGEST else None

    def known_targets(self) -> list[str]:
        """The names of all targets that the last analyses and the configuration know."""
        configured = [each.name for each in self._settings.targets] if self._settings else []
        found = [each.name for analysis in list(self._analyses.values()) for each in analysis.subject.targets]
        return sorted({*configured, *found})

    async def analysis(self, uri: str) -> Analysis | None:
        """The analysis of the files that are read together with one, as they are now; None where it takes too long."""
        analysed = asyncio.wrap_future(self._analysed(self.name_of(uri)))
        try:
            async with asyncio.timeout(PATIENCE):
                return await asyncio.shield(analysed)
        except TimeoutError:
            return None

    def look_soon(self, name: str) -> None:
        """Look for findings when no key has been pressed for a while."""
        self._stop_waiting(name)
        loop = asyncio.get_running_loop()
        self._timers[name] = loop.call_later(PAUSE, self._look, loop, name)

    def _stop_waiting(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _look(self, loop: asyncio.AbstractEventLoop, name: str) -> None:
        self._timers.pop(name, None)
        self._analysed(name).add_done_callback(lambda done: loop.call_soon_threadsafe(self._publish, name, done))

    def _analysed(self, name: str) -> Future[Analysis]:
        return self._analyst.submit(self._analyse, name)

    def _analyse(self, name: str) -> Analysis:
        """Runs on the thread: it reads the workspace as it is now, so that nothing is done twice."""
        workspace = self._files
        together = workspace.together_with(name) or name
        sources = workspace.sources(name)
        analysis = analyse(sources, self._check_options(name), self._analyses.get(together))
        self._analyses[together] = analysis
        return analysis

    def _check_options(self, name: str) -> CheckOptions:
        try:
            found = find_settings(Path(name).parent, CHECKS) if Path(name).is_absolute() else None
        except SettingsMistake as error:
            _log.warning("%s", error)
            found = None
        return CheckOptions(found.selection, self._settings) if found else CheckOptions(settings=self._settings)

    def _publish(self, name: str, done: Future[Analysis]) -> None:
        error = done.exception()
        if error is not None:
            _log.error("the files could not be analysed", exc_info=error)
            return
        analysis = done.result()
        files = {document.source.name: document.source for document in analysis.subject.documents}
        # A file that is not UTF-8 has no document.
        files |= {each.span.source.name: each.span.source for each in analysis.sources.mistakes if each.span}
        for each in analysis.diagnostics:
            if each.span is None:
                _log.warning("%s", each.message)
        for source in files.values():
            self._tell(source.name, self.translation.diagnostics(source, analysis.diagnostics_of(source.name)))
        for gone in self._published.get(name, frozenset()) - files.keys():
            self._tell(gone, [])
        self._published[name] = frozenset(files)
        self._refresh_lenses()

    def _forget(self, name: str) -> None:
        """A file that was never saved is closed."""
        self._stop_waiting(name)
        self._tell(name, [])

    def _tell(self, name: str, found: list[types.Diagnostic]) -> None:
        uri, version = self.translation.uri(name), self.translation.version(name)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def _refresh_lenses(self) -> None:
        workspace = self.client_capabilities.workspace
        if workspace and workspace.code_lens and workspace.code_lens.refresh_support:
            self.workspace_code_lens_refresh(None)

    def shutdown(self) -> None:
        """Stop; an analysis that has begun is not waited for."""
        self._analyst.shutdown(wait=False, cancel_futures=True)
        super().shutdown()  # type: ignore[no-untyped-call] # pygls says no type
