"""A copy of the last good snapshot, from which a service starts if its files are bad.

Secrets that the configuration only refers to are not copied.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from errno import EPERM
from pathlib import Path

import msgspec

from tornado_proxy.rules.diagnostic import SourceFile
from tornado_proxy.rules.loading import Read, RuleFile
from tornado_proxy.service.limits import LAST_GOOD_AGAIN_AFTER
from tornado_proxy.service.runtime import comes_within
from tornado_proxy.service.snapshot import Snapshot, compile_text

_LOG = logging.getLogger("tornado_proxy")

COPY = "snapshot.json"
_OF_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class NoLastGood(Exception):
    """A copy that cannot be used; the text gives the reason."""


async def keep_each(
    last_good: LastGood, in_force: Callable[[], Snapshot], changed: asyncio.Event, retry: float = LAST_GOOD_AGAIN_AFTER
) -> None:
    """Keeps each snapshot that is put in force, until cancelled; a failure is tried again."""
    while True:
        before = last_good.trouble
        await asyncio.to_thread(last_good.keep, in_force())
        if last_good.trouble and last_good.trouble != before:
            _LOG.warning("the last good snapshot is not kept: %s", last_good.trouble)
        elif before and not last_good.trouble:
            _LOG.info("the last good snapshot is kept again")
        await comes_within(changed, retry if last_good.trouble else None)


class _Copy(msgspec.Struct, frozen=True):
    configuration: str  # its path
    text: str
    rules: tuple[RuleFile, ...]
    templates: tuple[RuleFile, ...]
    lists: tuple[RuleFile, ...] = ()  # that the rules name


class LastGood:
    """A directory that keeps the last good snapshot, of one configuration."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._kept = b""
        self.trouble = ""  # why the last snapshot could not be kept, or empty

    def keep(self, snapshot: Snapshot) -> None:
        """Replaces the copy by a snapshot; sets `trouble` if it cannot."""
        assert snapshot.text is not None, "what is in force could be read"
        try:
            config = _name_of(Path(snapshot.text.name))
        except FileNotFoundError:  # of a relative path, after the working directory was removed
            self.trouble = f"`{snapshot.text.name}` is relative to a directory that was removed"
            return
        rules, templates = snapshot.rules, snapshot.templates
        kept = _Copy(config, snapshot.text.text, rules.files, templates.files, rules.list_files)
        # Not by `msgspec.json`: a name of a file may have bytes that are no text.
        copy = json.dumps(msgspec.to_builtins(kept)).encode()
        if copy == self._kept:
            return
        with suppress(NoLastGood):
            if (owner := self._read()[0].configuration) != config:
                advice = "each configuration needs a directory of its own"
                self.trouble = f"`{self.directory}` has the copy of `{owner}`; {advice}"
                return
        try:
            self._write(copy)
        except OSError as error:
            self.trouble = f"`{self.directory}` cannot be written: {error.strerror or error}"
        else:
            self._kept, self.trouble = copy, ""

    def read(self, config: Path, environment: Mapping[str, str]) -> Snapshot:
        """Reads the copy for a configuration file, and its secrets anew; raises `NoLastGood`."""
        copy, kept = self._read()
        if copy.configuration != _name_of(config):
            raise NoLastGood(f"`{self.directory}` has the copy of `{copy.configuration}`")
        return compile_text(SourceFile(str(config), copy.text), environment, files=kept)

    def _read(self) -> tuple[_Copy, tuple[Read, Read]]:
        """Reads the copy, and its rule files and templates; raises `NoLastGood`."""
        try:
            self._check()
            with open(self.directory / COPY, "rb", opener=_own) as file:
                copy = msgspec.convert(json.loads(file.read()), _Copy)
            lists = {each.name: each.data for each in copy.lists}
            return copy, (Read(copy.rules, lists=lists), Read(copy.templates))
        except (OSError, ValueError, RecursionError, msgspec.ValidationError) as error:  # it may have been edited
            reason = getattr(error, "strerror", None) or error
            raise NoLastGood(f"`{self.directory}` has no copy: {reason}") from error

    def _write(self, copy: bytes) -> None:
        """Writes the copy aside and renames it, so that a full disk or a power failure leaves the one before it."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._check()
        aside = self.directory / f"{COPY}.new"
        aside.unlink(missing_ok=True)
        # Only the owner may read it: a configuration may contain secrets.
        with open(aside, "xb", opener=_own) as file:
            file.write(copy)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(self.directory / COPY)

    def _check(self) -> None:
        """Raises `OSError` if other users can put files into the directory, since a copy decides who may pass.

        The directory itself may be a link, as systemd makes it one.
        """
        status = self.directory.stat()
        if status.st_mode & _OF_OTHERS or status.st_uid not in (0, os.geteuid()):
            raise PermissionError(EPERM, "other users can write to it")


def _own(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _name_of(config: Path) -> str:
    return str(config.absolute())
