"""Follows edits: the kernel's notifications, a moment of quiet, a reload; and a slow look beside them.

Notifications miss what happens on network file systems, in bind-mounted files and behind links that lead out of the
places. Directories are watched, never names: an editor saves by rename, a ConfigMap is swapped by moving `..data`, and
neither ever names the file that a rule author has in mind.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

# Reading a file makes events too (`opened`, `closed_no_write`): with those, a reload would cause the next one.
_CHANGES = frozenset({"created", "modified", "attrib", "moved", "deleted", "closed"})

_LIMITS = {
    errno.ENOSPC: "`fs.inotify.max_user_watches` is too low",
    errno.EMFILE: "`fs.inotify.max_user_instances` is too low",
}

Identity = tuple[int, int]  # device and inode: a directory renamed into place is another one under the same name


class Watch(FileSystemEventHandler):
    """Calls `poke`, on a thread of its own, whenever something changes around the places it looks at."""

    def __init__(self, poke: Callable[[], None]) -> None:
        self._poke = poke
        self._observer: BaseObserver | None = None  # made at the first look: it takes what the kernel may not have
        self._armed: dict[tuple[Path, bool], tuple[ObservedWatch, Identity]] = {}
        self.trouble = ""  # why changes may go unnoticed; empty while all is well

    def look_at(self, places: Iterable[Path]) -> None:
        """Watch around these places from now on; call it again after every change, for what was renamed into place."""
        try:
            wanted = dict.fromkeys(directory for place in places for directory in _around(place))
            observer = self._observer = self._observer or Observer()
            if not observer.is_alive():
                observer.start()
            self._disarm(observer, wanted)
            for directory in wanted:
                self._arm(observer, *directory)
        except OSError as error:
            self.trouble = _LIMITS.get(error.errno or 0, error.strerror or str(error))
        else:
            self.trouble = ""

    def close(self) -> None:
        """Stop watching."""
        if self._observer is not None and self._observer.is_alive():
            self._observer.stop()
            self._observer.join()

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Poke for a change; called by watchdog."""
        if event.event_type in _CHANGES:
            self._poke()

    def _disarm(self, observer: BaseObserver, wanted: Iterable[tuple[Path, bool]]) -> None:
        for directory, (watch, identity) in list(self._armed.items()):
            if directory not in wanted or _identity(directory[0]) != identity:
                del self._armed[directory]
                observer.unschedule(watch)

    def _arm(self, observer: BaseObserver, path: Path, recursive: bool) -> None:  # noqa: FBT001 - half of a key
        identity = _identity(path)
        if (path, recursive) in self._armed or identity is None:
            return
        watch = observer.schedule(self, str(path), recursive=recursive)
        self._armed[path, recursive] = (watch, identity)


def _around(place: Path) -> Iterator[tuple[Path, bool]]:
    """The directories in which a change to a place shows, each with whether all below it counts."""
    for path in dict.fromkeys((place.absolute(), place.resolve())):
        if path.is_dir():
            yield path, True
        # The parent sees what is renamed into the place; where it is missing too, the next that exists does.
        yield next(parent for parent in path.parents if parent.is_dir()), False


def _identity(path: Path) -> Identity | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


_LOG = logging.getLogger("tornado_proxy")


@dataclass(frozen=True, slots=True)
class Pace:
    """How soon an edit is taken up, in seconds."""

    quiet: float = 0.05  # without a further change, before an edit counts as done
    patience: float = 0.5  # at most, however long changes go on
    look: float = 10.0  # between looks that nothing asked for
    look_unwatched: float = 1.0  # the same, where the kernel does not notify


class Follower:
    """Calls `reload` after every edit around `places`, which may differ after each."""

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
        self._told = ""  # the trouble that was logged last
        self._watch = watch(self.poke)

    def __repr__(self) -> str:
        return f"<Follower of {len(self._places())} places>"

    def poke(self) -> None:
        """Say that something may have changed; from any thread, also after the loop has ended."""
        try:
            self._loop.call_soon_threadsafe(self._poked.set)
        except RuntimeError:
            return

    async def run(self) -> None:
        """Follow edits until cancelled; whatever goes wrong, the next look is taken."""
        try:
            while True:
                try:
                    # Watched first, read then: what changes in between is seen by one or the other.
                    await self._look()
                    await self._reload()
                except Exception:  # noqa: BLE001 - whatever it is, the next look may go well
                    _LOG.exception("following edits failed")
                await self._next_poke()
        finally:
            await asyncio.to_thread(self._watch.close)

    async def _look(self) -> None:
        # Walking a large tree takes a while, and so does a network file system.
        await asyncio.to_thread(self._watch.look_at, self._places())
        trouble = self._watch.trouble
        if trouble and trouble != self._told:
            period = self._pace.look_unwatched
            _LOG.warning("the kernel does not notify of edits: looking for them every %g s (%s)", period, trouble)
        elif self._told and not trouble:
            _LOG.info("the kernel notifies of edits again")
        self._told = trouble

    async def _next_poke(self) -> None:
        """Wait for a change and for the quiet after it, or for the time of a look."""
        period = self._pace.look_unwatched if self._watch.trouble else self._pace.look
        if await self._poked_within(period):
            end = self._loop.time() + self._pace.patience
            while self._loop.time() < end and await self._poked_within(self._pace.quiet):
                pass

    async def _poked_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._poked.wait()
        except TimeoutError:
            return False
        self._poked.clear()
        return True
