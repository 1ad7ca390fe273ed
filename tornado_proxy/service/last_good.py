"""A copy of the last good snapshot: what a service starts from if an edit has made the real ones unusable.

A directory holds one folder with the copy, and the link `current` to it. A copy is written aside and put in place by
one rename, so that a full disk or a power failure leaves the copy before it. Secrets that the configuration only refers
to are not copied.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from tornado_proxy.lang.diagnostic import SourceFile
from tornado_proxy.rules.loading import Read, RuleFile
from tornado_proxy.service.snapshot import Snapshot, compile_text

_LOG = logging.getLogger("tornado_proxy")

CURRENT = "current"
RETRY = 60.0  # seconds after which a failed copy is tried again
_SET = "set-"
_INDEX = "index.json"
_CONFIGURATION = "configuration.yaml"
_TEMPLATE = ".tpl"
_RULES = "rules"


class NoLastGood(Exception):
    """There is no copy to start from; the text gives the reason."""


class _Taken(Exception):
    """The directory belongs to another configuration."""


async def keep_each(
    last_good: LastGood, in_force: Callable[[], Snapshot], changed: asyncio.Event, retry: float = RETRY
) -> None:
    """Keeps every snapshot that is put in force, until cancelled; a failure is a warning, and tried again."""
    logged = ""
    while True:
        changed.clear()
        await asyncio.to_thread(last_good.keep, in_force())
        if last_good.trouble and last_good.trouble != logged:
            _LOG.warning("the last good snapshot is not kept: %s", last_good.trouble)
        elif logged and not last_good.trouble:
            _LOG.info("the last good snapshot is kept again")
        logged = last_good.trouble
        try:
            async with asyncio.timeout(retry if logged else None):
                await changed.wait()
        except TimeoutError:
            continue


class LastGood:
    """A directory that keeps the last good snapshot, of one configuration."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._kept: tuple[SourceFile, Read, Read] | None = None
        self.trouble = ""  # why the last snapshot could not be kept, or empty

    def __repr__(self) -> str:
        return f"<LastGood in {self.directory}>"

    def keep(self, snapshot: Snapshot) -> None:
        """Keeps a snapshot in place of the one before; sets `trouble` if it cannot."""
        if snapshot.text is None or self._kept == (snapshot.text, snapshot.rules, snapshot.templates):
            return
        try:
            self._require_ours(snapshot.text)
            self._replace(snapshot.text, snapshot)
        except OSError as error:
            self.trouble = f"`{self.directory}` cannot keep it: {error.strerror or error}"
        except _Taken as taken:
            self.trouble = f"`{self.directory}` {taken}; each configuration needs a directory of its own"
        else:
            self._kept, self.trouble = (snapshot.text, snapshot.rules, snapshot.templates), ""

    def read(self, config: Path, environment: Mapping[str, str]) -> Snapshot:
        """The copy of a configuration file's snapshot, with its secrets fetched again; raises `NoLastGood`."""
        folder = self.directory / CURRENT
        try:
            original, names = _read_index(folder / _INDEX)
            text = (folder / _CONFIGURATION).read_bytes().decode()
            files = {kept: RuleFile(name, (folder / _RULES / kept).read_bytes()) for kept, name in names.items()}
        except (OSError, ValueError, RecursionError) as error:
            raise NoLastGood(f"`{folder}` holds no copy: {error}") from error
        if original != _name_of(config):
            raise NoLastGood(f"`{folder}` is a copy of `{original}`")
        rules = Read(tuple(file for kept, file in files.items() if not kept.endswith(_TEMPLATE)))
        templates = Read(tuple(file for kept, file in files.items() if kept.endswith(_TEMPLATE)))
        return compile_text(SourceFile(str(config), text), environment, (rules, templates))

    def _require_ours(self, text: SourceFile) -> None:
        """Raise `_Taken` where the copy of another configuration is there, which a service may depend on."""
        try:
            original, _ = _read_index(self.directory / CURRENT / _INDEX)
        except (OSError, ValueError, RecursionError):
            return
        if original != _name_of(Path(text.name)):
            raise _Taken(f"holds the copy of `{original}`")

    def _replace(self, text: SourceFile, snapshot: Snapshot) -> None:
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Made by mkdtemp for its owner's eyes only: a configuration may hold secrets by value.
        aside = Path(tempfile.mkdtemp(prefix=_SET, dir=self.directory))
        try:
            _write_set(aside, text, snapshot)
            # A link cannot be replaced but by another: it is made in the folder that it leads to.
            link = aside / CURRENT
            link.symlink_to(aside.name)
            link.replace(self.directory / CURRENT)
            _sync(self.directory)
        except OSError:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        for other in self.directory.glob(f"{_SET}*"):
            if other != aside:
                shutil.rmtree(other, ignore_errors=True)


def _name_of(config: Path) -> str:
    """What a configuration is known by."""
    return str(config.absolute())


def _read_index(path: Path) -> tuple[str, Mapping[str, str]]:
    """Of what it is a copy, and the names of rule files by those that they are kept under; raises `ValueError`."""
    match json.loads(path.read_bytes()):
        case {"configuration": str(original), "rules": dict(names)} if all(
            isinstance(each, str) for each in names.values()
        ):
            return original, names
        case _:
            raise ValueError(f"`{path.name}` was not written here")


def _write_set(folder: Path, text: SourceFile, snapshot: Snapshot) -> None:
    (folder / _RULES).mkdir(mode=0o700)
    names = {f"{number:04}.rules": file for number, file in enumerate(snapshot.rules.files, start=1)}
    names |= {f"{number:04}{_TEMPLATE}": file for number, file in enumerate(snapshot.templates.files, start=1)}
    for kept, file in names.items():
        _write(folder / _RULES / kept, file.data)
    _write(folder / _CONFIGURATION, text.text.encode())
    index = {
        "configuration": _name_of(Path(text.name)),
        "rules": {kept: file.name for kept, file in names.items()},
    }
    _write(folder / _INDEX, json.dumps(index, indent=2).encode())
    _sync(folder / _RULES)
    _sync(folder)


def _write(path: Path, content: bytes) -> None:
    with open(path, "wb", opener=_privately) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _privately(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
