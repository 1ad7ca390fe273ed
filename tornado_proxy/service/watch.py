"""Notices that something may have changed at or below a place; what changed, if anything, is for a digest to say.

Directories are watched, never names: an editor saves by rename, a ConfigMap is swapped by moving `..data`, and
neither ever names the file that a rule author has in mind. Nothing is decided here, on watchdog's thread.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator
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
