"""Where the grammar files are: in the package when it was installed from a wheel, beside it in a checkout."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_PACKAGE = Path(__file__).parent.parent
FOLDERS = (_PACKAGE / "grammar", _PACKAGE.parent / "grammar")


def grammar_text(name: str, folders: Iterable[Path] = FOLDERS) -> str:
    """The text of a grammar file, from the first folder that has it; raises FileNotFoundError where none has."""
    for folder in folders:
        if (folder / name).is_file():
            return (folder / name).read_text(encoding="utf-8")
    raise FileNotFoundError(f"the grammar `{name}` is not part of this installation")
