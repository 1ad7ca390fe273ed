"""Which rule files are read together, with what editors have open laid over what is on disk."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tornado_proxy.lang.decoding import decode
from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.source import SourceFile
from tornado_proxy.rules.loading import Read, find_rule_files, read_rule_files


@dataclass(frozen=True, slots=True)
class Sources:
    """The rule files that are read together, in order, and what was in the way of reading them."""

    files: tuple[SourceFile, ...]
    mistakes: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folders that a client has open, the places that belong together, and the texts of open files by their names.

    A file's name is its path with all links resolved; what has no path has the name that the client gives it. Without
    `places`, the files below one directory belong together: the highest one, within the client's folder, that holds a
    rule file and is reached from the file through directories that each lie in the next.
    """

    folders: tuple[Path, ...] = ()
    places: tuple[Path, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)

    def with_text(self, name: str, text: str) -> Workspace:
        """The same with a file open, or changed."""
        return replace(self, texts={**self.texts, name: text})

    def without(self, name: str) -> Workspace:
        """The same with a file closed."""
        return replace(self, texts={each: text for each, text in self.texts.items() if each != name})

    def together_with(self, name: str) -> tuple[Path, ...]:
        """The places that a file is read together with; none where it stands alone."""
        path = Path(name)
        if not path.is_absolute():
            return ()
        if any(path == place or place in path.parents for place in self.places):
            return self.places
        return (_highest(path.parent, self.folders),) if path.suffix == ".rules" else ()

    def sources(self, name: str) -> Sources:
        """The files that are read together with one, itself among them, as editors show them or as they are on disk."""
        names = list(dict.fromkeys(self._names(self.together_with(name))))
        if name not in names:
            names = [name]
        files: list[SourceFile] = []
        mistakes: list[Diagnostic] = []
        for each in names:
            if each in self.texts:
                files.append(SourceFile(each, self.texts[each]))
                continue
            source, found = _read(each)
            files += [source] if source else []
            mistakes += found
        return Sources(tuple(files), tuple(mistakes))

    def _names(self, places: Iterable[Path]) -> Iterator[str]:
        """The files of the places in the order in which the daemon reads them, those too that are not saved yet."""
        for place in places:
            found = {path: os.path.realpath(path) for path in find_rule_files(place, lambda _: None)}
            unsaved = (Path(name) for name in self.texts if name not in found.values())
            found.update({path: str(path) for path in unsaved if path.suffix == ".rules" and place in path.parents})
            for path in sorted(found, key=lambda path: os.fsencode(os.path.relpath(path, place))):
                yield found[path]


def resolved(path: str) -> str:
    """The name of the file at a path."""
    return os.path.realpath(path)


def _read(name: str) -> tuple[SourceFile | None, Sequence[Diagnostic]]:
    # One that is named itself may be a pipe, which would be waited for.
    read = read_rule_files([Path(name)]) if Path(name).is_file() else Read(())
    if not read.files:
        return None, read.diagnostics
    source, mistake = decode(name, read.files[0].data)
    return source, [mistake] if mistake else []


def _highest(folder: Path, folders: Iterable[Path]) -> Path:
    highest = folder
    if not any(each == folder or each in folder.parents for each in folders):
        return folder
    for parent in folder.parents:
        if not any(each == parent or each in parent.parents for each in folders):
            break
        if _holds_rules(parent):
            highest = parent
    return highest


def _holds_rules(folder: Path) -> bool:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return any(entry.name.endswith(".rules") and not entry.name.startswith(".") for entry in entries)
    return False
