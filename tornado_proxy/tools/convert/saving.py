"""Files written into a directory: all of them or none, as far as a file system goes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


class Unsaved(Exception):
    """Files that were not written; the text says why."""


def save(files: Mapping[str, str], directory: Path, *, force: bool = False) -> None:
    """Write files by their relative names; raises `Unsaved`, before anything has changed but for missing directories.

    Every file is written beside its place first, and put there when all have been. They may hold secrets, so only
    their owner may read them.
    """
    places = {directory / name: text for name, text in files.items()}
    present = [place for place in places if os.path.lexists(place)]
    if present and not force:
        raise Unsaved(f"`{present[0]}` exists; `--force` replaces it")
    staged: dict[Path, Path] = {}
    try:
        for place, text in places.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            staged[_staged(place, text)] = place
        for name, place in staged.items():
            name.replace(place)
    except OSError as error:
        raise Unsaved(f"`{error.filename or directory}` cannot be written: {error.strerror}") from None
    finally:
        for name in staged:
            name.unlink(missing_ok=True)


def _staged(place: Path, text: str) -> Path:
    """The text in a new file beside its place, whose name no reader of rules takes for a rule file."""
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(handle)
    return Path(name)
