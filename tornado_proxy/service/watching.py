"""Follows edits: reloads shortly after the kernel reports a change, and every few seconds besides.

Notifications miss what happens on network file systems and in bind-mounted files. Directories are watched, not files:
an editor saves by renaming, and a ConfigMap is swapped by moving `..data`. Neither event names the rule file.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from watchdog import events
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from tornado_proxy.service.limits import MOST_LOOKS
from tornado_proxy.service.reloading import Reloader
from tornado_proxy.service.runtime import comes_within

# The events that can change the snapshot. Events of reading are left out, or a reload would cause the next one. So are
# writes without a close, or each line of a log that is kept open would be an event; the slow look finds these.
_CHANGES: list[type[events.FileSystemEvent]] = [
    events.FileClosedEvent,
    events.FileCreatedEvent,
    events.FileDeletedEvent,
    events.FileMovedEvent,
    events.DirCreatedEvent,
    events.DirDeletedEvent,
    events.DirMovedEvent,
]

_LIMITS = {
    errno.ENOSPC: "`fs.inotify.max_user_watches` is too low",
    errno.EMFILE: "`fs.inotify.max_user_instances` is too low",
}

_READ = (".rules", ".html")  # what would be read of directories, of rules and of themes, if it were there

Identity = tuple[int, int]  # device and inode: a directory renamed into place is another one under the same name


class Watch(events.FileSystemEventHandler):
    """Calls `poke` on its own thread after each change that may belong to the snapshot."""

    def __init__(self, poke: Callable[[], None]) -> None:
        self._poke = poke
        self._observer: BaseObserver | None = None  # made at the first look, since inotify may be exhausted
        self._armed: dict[tuple[Path, bool], Identity] = {}  # the directories, each with whether it is recursive
        self._names: frozenset[str] = frozenset()  # of the files, the places, and their link targets
        self.trouble = ""  # why changes may go unnoticed, or empty

    def look_at(self, places: Sequence[Path]) -> None:
        """Watches directories and files; call it again after every change, since directories may have been replaced."""
        for _ in range(MOST_LOOKS):
            try:
                self._look_at([place.absolute() for place in places])
            except (FileNotFoundError, NotADirectoryError) as error:
                # A directory or a link vanished meanwhile, as when a link is swapped: look again.
                self.trouble = error.strerror or str(error)
            except OSError as error:
                self.trouble = _LIMITS.get(error.errno or 0, error.strerror or str(error))
                return
            else:
                self.trouble = ""
                return

    def _look_at(self, places: list[Path]) -> None:
        around = {directory for place in places for directory in _around(place)}
        trees = {path for path, recursive in around if recursive}
        # What is in a tree has its events there, unless a link leads out of it.
        directories = [each for each in around if each[1] or trees.isdisjoint((each[0], *each[0].parents))]
        self._names = frozenset(path.name for place in places for path in (place, place.resolve()))
        observer = self._observer = self._observer or Observer()
        if not observer.is_alive():
            observer.start()
        # Before they are watched: one that is replaced meanwhile is another one at the next look.
        wanted = {(path, recursive): _identity(path) for path, recursive in directories}
        if wanted == self._armed:
            return
        self._armed = {}
        # Events that wait are lost with the watches: the reading that follows each look sees what they were about.
        observer.unschedule_all()
        for path, recursive in wanted:
            observer.schedule(self, str(path), recursive=recursive, event_filter=_CHANGES)
        self._armed = wanted

    def close(self) -> None:
        """Stops watching."""
        if self._observer is not None and self._observer.is_alive():
            self._observer.stop()
            self._observer.join()

    def on_any_event(self, event: events.FileSystemEvent) -> None:
        """Pokes after a change that matters; called by watchdog."""
        for path in map(os.fsdecode, (event.src_path, event.dest_path) if type(event) in _CHANGES else ()):
            name = path.rpartition("/")[2]
            is_read = name.endswith(_READ) and not name.startswith(".")
            # Not a log beside it. A link may be the `..data` of a ConfigMap, through which all its files are read.
            if event.is_directory or is_read or name in self._names or Path(path).is_symlink():
                self._poke()
                return


def _around(place: Path) -> Iterator[tuple[Path, bool]]:
    """Yields the directories to watch for a place, each with whether to watch it recursively."""
    for path in dict.fromkeys((place, place.resolve())):
        if path.is_dir():
            yield path, True
        # A file that is renamed to the place is an event of its parent, or of the next directory that exists.
        yield next(parent for parent in path.parents if parent.is_dir()), False


def _identity(path: Path) -> Identity:
    status = path.stat()
    return status.st_dev, status.st_ino


_LOG = logging.getLogger("tornado_proxy")


class Pace(msgspec.Struct, frozen=True):
    """The delays of following edits, in seconds."""

    quiet: float = 0.05  # without a change, until an edit counts as complete
    patience: float = 0.5  # at most, even if changes go on
    look: float = 10.0  # between looks without a notification
    look_unwatched: float = 1.0  # the same if the kernel does not notify


class Follower:
    """Calls `reload` after every edit around `places`, which it asks for again each time."""

    def __init__(
        self,
        places: Callable[[], tuple[Path, ...]],
        reload: Callable[[], Awaitable[object]],
        pace: Pace | None = None,
        watch: Callable[[Callable[[], None]], Watch] = Watch,
    ) -> None:
        self._places = places
        self._reload = reload
        self._pace = pace or Pace()
        self._poked = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._logged_trouble = ""  # the last one
        self._watch = watch(self.poke)

    def poke(self) -> None:
        """Reports a change; may be called from any thread, and after the event loop has ended."""
        try:
            self._loop.call_soon_threadsafe(self._poked.set)
        except RuntimeError:
            return

    async def run(self) -> None:
        """Follows edits until cancelled; a defect of the watch ends it after one more reload."""
        try:
            while True:
                # Watch first, then read: a change in between is noticed by one of them.
                try:
                    await self._look()
                except Exception:
                    await self._reload()
                    raise
                await self._reload()
                period = self._pace.look_unwatched if self._watch.trouble else self._pace.look
                if await comes_within(self._poked, period):
                    end = self._loop.time() + self._pace.patience
                    while self._loop.time() < end and await comes_within(self._poked, self._pace.quiet):
                        pass
        finally:
            await asyncio.to_thread(self._watch.close)

    async def _look(self) -> None:
        # Large trees and network file systems take a while.
        await asyncio.to_thread(self._watch.look_at, self._places())
        trouble = self._watch.trouble
        if trouble and trouble != self._logged_trouble:
            period = self._pace.look_unwatched
            _LOG.warning("the kernel does not notify of edits: looking for them every %g s (%s)", period, trouble)
        elif self._logged_trouble and not trouble:
            _LOG.info("the kernel notifies of edits again")
        self._logged_trouble = trouble


async def follow(reloader: Reloader) -> None:
    """Reloads when files change, until cancelled."""
    await Follower(reloader.watched, reloader.reload).run()
