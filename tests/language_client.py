"""An editor without a screen: a client of the language server over standard input and output."""

import asyncio
import contextlib
import sys
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

from editing import CURSOR
from lsprotocol import types
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

LIMIT = 60  # seconds for one response


class Editor:
    """A session with a server; each call waits until the server has responded."""

    def __init__(self, loop: asyncio.AbstractEventLoop, client: LanguageClient, folder: Path) -> None:
        self._loop = loop
        self.client = client
        self.folder = folder
        self.capabilities: types.ServerCapabilities | None = None
        self._versions: dict[str, int] = {}

    def run(self, request: Coroutine[Any, Any, Any]) -> Any:
        """Runs a coroutine in the loop of the session, and returns its result."""
        return asyncio.run_coroutine_threadsafe(request, self._loop).result(LIMIT)

    def uri(self, name: str) -> str:
        """The URI of a file in the folder."""
        return (self.folder / name).as_uri()

    def show(self, name: str, text: str) -> types.Position:
        """Opens a file or changes its text; returns the position of the cursor, counted in UTF-16."""
        before, _, after = text.partition(CURSOR)
        uri = self.uri(name)
        version = self._versions[uri] = self._versions.get(uri, 0) + 1
        if version == 1:
            item = types.TextDocumentItem(uri, "tornado-proxy-rules", version, before + after)
            self.notify(self.client.text_document_did_open, types.DidOpenTextDocumentParams(item))
        else:
            identifier = types.VersionedTextDocumentIdentifier(version, uri)
            change = types.TextDocumentContentChangeWholeDocument(before + after)
            self.notify(self.client.text_document_did_change, types.DidChangeTextDocumentParams(identifier, [change]))
        line = before.rpartition("\n")[2]
        return types.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)

    def close(self, name: str) -> None:
        """Closes a file."""
        del self._versions[self.uri(name)]
        self.notify(
            self.client.text_document_did_close,
            types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(self.uri(name))),
        )

    def notify_of_change(self, name: str) -> None:
        """Notifies the server that a file has changed on disk."""
        event = types.FileEvent(self.uri(name), types.FileChangeType.Changed)
        self.notify(self.client.workspace_did_change_watched_files, types.DidChangeWatchedFilesParams([event]))

    def document(self, name: str) -> types.TextDocumentIdentifier:
        """The parameter of requests that identifies a file."""
        return types.TextDocumentIdentifier(self.uri(name))

    def diagnostics(self, name: str, *codes: str) -> list[types.Diagnostic]:
        """Waits until the diagnostics of a file have exactly these codes, and returns them."""
        return self.run(self._wait_for_codes(self.uri(name), sorted(codes)))

    async def _wait_for_codes(self, uri: str, codes: list[str]) -> list[types.Diagnostic]:
        async with asyncio.timeout(LIMIT):
            while uri not in self.client.diagnostics or self._codes(uri) != codes:
                await self.client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        return list(self.client.diagnostics[uri])

    def _codes(self, uri: str) -> list[str]:
        return sorted(str(diagnostic.code) for diagnostic in self.client.diagnostics[uri])

    def notify(self, notification: Any, parameters: Any) -> None:
        """Sends a notification."""

        async def send() -> None:
            notification(parameters)

        self.run(send())


@contextlib.contextmanager
def editor(folder: Path, *arguments: str, client: str = "visual-studio-code") -> Iterator[Editor]:
    """Starts an editor with an open folder and the capabilities of a real editor."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    session = Editor(loop, make_test_lsp_client(), folder)
    try:
        session.run(_begin(session, arguments, client))
        yield session
        session.run(_end(session))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(LIMIT)
        loop.close()


async def _begin(session: Editor, arguments: tuple[str, ...], name: str) -> None:
    client = session.client

    @client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(_: types.RegistrationParams) -> None: ...

    @client.feature(types.WORKSPACE_CODE_LENS_REFRESH)
    def refresh(*_: object) -> None: ...

    await client.start_io(sys.executable, "-m", "tornado_proxy", "lsp", *arguments)
    folder = types.WorkspaceFolder(session.folder.as_uri(), "rules")
    parameters = types.InitializeParams(capabilities=client_capabilities(name), workspace_folders=[folder])
    session.capabilities = (await client.initialize_session(parameters)).capabilities


async def _end(session: Editor) -> None:
    await session.client.shutdown_session()
    await session.client.stop()
