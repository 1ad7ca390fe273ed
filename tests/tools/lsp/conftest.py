"""Fixtures for a language client that all tests share, each with files of its own."""

from collections.abc import Iterator
from itertools import count

import pytest
from language_client import Editor, editor

_numbers = count()


@pytest.fixture(scope="session")
def shared_editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """Starts a client with the capabilities of VS Code and an open folder."""
    with editor(tmp_path_factory.mktemp("rules").resolve()) as session:
        yield session


@pytest.fixture
def vscode(shared_editor: Editor) -> Iterator[Editor]:
    """Returns the shared client, with its folder replaced by a new directory."""
    folder = shared_editor.folder
    shared_editor.folder = folder / f"test{next(_numbers)}"
    shared_editor.folder.mkdir()
    yield shared_editor
    shared_editor.folder = folder
