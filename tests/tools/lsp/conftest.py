"""One editor for all tests that need one: each of them works on files of its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from language_client import Editor, editor

_numbers = count()


@pytest.fixture(scope="session")
def shared_editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """An editor as VS Code is one, with a folder open."""
    with editor(tmp_path_factory.mktemp("rules").resolve()) as session:
        yield session


@pytest.fixture
def vscode(shared_editor: Editor) -> Iterator[Editor]:
    """The editor, in a directory that no other test has seen."""
    folder = shared_editor.folder
    shared_editor.folder = folder / f"test{next(_numbers)}"
    shared_editor.folder.mkdir()
    yield shared_editor
    shared_editor.folder = folder
