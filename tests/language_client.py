"""An editor without a screen: a real client of the language server, over standard input and output."""

from __future__ import annotations

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

LIMIT = 60  # seconds for one answer


class Editor:
    """A session with a server; each call waits for its answer."""

    def __init__(self, loop: asyncio.AbstractEventLoop, client: LanguageClient, folder: Path) -> None:
        self._loop = loop
        self.client = client
        self.folder = folder
        self.capabilities: types.ServerCapabilities | None = None
        self._versions: dict[str, int] = {}

    def wait(self, answer: Coroutine[Any, Any, Any]) -> Any:
        """What comes of a request."""
        return asyncio.run_coroutine_threadsafe(answer, self._loop).result(LIMIT)

    def uri(self, name: str) -> str:
        """The URI of a file in the folder."""
        return (self.folder / name).as_uri()

    def show(self, name: str, text: str) -> types.Position:
        """Open a file or change its text; where its cursor stands, as UTF-16 has it."""
        before, _, behind = text.partition(CURSOR)
        uri = self.uri(name)
        version = self._versions[uri] = self._versions.get(uri, 0) + 1
        if version == 1:
            item = types.TextDocumentItem(uri, "tornado-proxy-rules", version, before + behind)
            self.tell(self.client.text_document_did_open, types.DidOpenTextDocumentParams(item))
        else:
            identifier = types.VersionedTextDocumentIdentifier(version, uri)
            change = types.TextDocumentContentChangeWholeDocument(before + behind)
            self.tell(self.client.text_document_did_change, types.DidChangeTextDocumentParams(identifier, [change]))
        line = before.rpartition("\n")[2]
        return types.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)

    def close(self, name: str) -> None:
        """Close a file."""
        del self._versions[self.uri(name)]
        self.tell(
            self.client.text_document_did_close,
            types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(self.uri(name))),
        )

    def changed_on_disk(self, name: str) -> None:
        """Tell that a file has changed."""
        event = types.FileEvent(self.uri(name), types.FileChangeType.Changed)
        self.tell(self.client.workspace_did_change_watched_files, types.DidChangeWatchedFilesParams([event]))

    def document(self, name: str) -> types.TextDocumentIdentifier:
        """A file as requests name it."""
        return types.TextDocumentIdentifier(self.uri(name))

    def findings(self, name: str, *codes: str) -> list[types.Diagnostic]:
        """What is said of a file, once its codes are these: what comes before that is passed over."""
        return self.wait(self._findings(self.uri(name), sorted(codes)))

    async def _findings(self, uri: str, codes: list[str]) -> list[types.Diagnostic]:
        async with asyncio.timeout(LIMIT):
            while uri not in self.client.diagnostics or self._codes(uri) != codes:
                await self.client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        return list(self.client.diagnostics[uri])

    def _codes(self, uri: str) -> list[str]:
        return sorted(str(each.code) for each in self.client.diagnostics[uri])

    def tell(self, notification: Any, parameters: Any) -> None:
        """Send a notification."""

        async def told() -> None:
            notification(parameters)

        self.wait(told())


@contextlib.contextmanager
def editor(folder: Path, *arguments: str, client: str = "visual-studio-code") -> Iterator[Editor]:
    """An editor that has a folder open, with the capabilities of a real one."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    session = Editor(loop, make_test_lsp_client(), folder)
    try:
        session.wait(_begin(session, arguments, client))
        yield session
        session.wait(_end(session))
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
