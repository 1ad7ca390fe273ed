"""Releases: rule files as they are pushed to a bucket, each time as one object, and the pointer to the one in force.

A release is stored under its digest, so it is complete and never changes. The pointer has the last moves too: one write
puts a release in force and keeps the history.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import msgspec
from msgspec.structs import asdict

from tornado_proxy.rules.loading import LARGEST, RuleFile

LARGEST_RELEASE = 2 * LARGEST  # the most bytes of a release: JSON escapes line ends, quotes and backslashes
LARGEST_POINTER = 256 * 1024  # bytes
MOST_FILES = 10_000
MOST_MOVES = 100
LONGEST_TEXT = 200  # characters of a note or a name
_VERSION = 1  # of both forms
_DIGEST = re.compile(r"[0-9a-f]{64}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_MALFORMED = (ValueError, RecursionError, LookupError, TypeError, AttributeError)


class UnusableRelease(Exception):
    """A release, or a pointer, that cannot be used; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class Release:
    """Rule files in their order, by their names within the directory that was pushed, and the object that has them."""

    files: tuple[RuleFile, ...]
    data: bytes = field(repr=False)
    digest: str

    @classmethod
    def of(cls, files: Iterable[RuleFile]) -> Release:
        """Returns the release of some files; raises `UnusableRelease`."""
        ordered = tuple(sorted(files, key=lambda file: file.name.encode(errors="surrogateescape")))
        try:
            texts = {_line(file.name): file.data.decode() for file in ordered}
            form = {"version": _VERSION, "files": texts}
            data = json.dumps(form, ensure_ascii=False, separators=(",", ":")).encode()
        except UnicodeError as error:
            raise UnusableRelease("names and content of rule files must be UTF-8") from error
        except ValueError as error:
            raise UnusableRelease(f"it is not a release: {error}") from error
        _check_size(ordered, data)
        return cls(ordered, data, sha256(data).hexdigest())

    @classmethod
    def read(cls, data: bytes, digest: str) -> Release:
        """Reads the object of a release; raises `UnusableRelease`."""
        if (actual := sha256(data).hexdigest()) != digest:
            raise UnusableRelease(f"its digest is {actual}")
        try:
            texts: Mapping[str, str] = _versioned(data)["files"]
            files = tuple(RuleFile(_line(name), text.encode()) for name, text in texts.items())
        except _MALFORMED as error:
            raise UnusableRelease(f"it is not a release: {error}") from error
        _check_size(files, data)
        return cls(files, data, digest)

    def below(self, place: str) -> tuple[RuleFile, ...]:
        """Returns the files with a place in front of their names."""
        return tuple(replace(file, name=place + file.name) for file in self.files)


def _check_size(files: tuple[RuleFile, ...], data: bytes) -> None:
    if not files:
        raise UnusableRelease("it has no rule file")
    if len(files) > MOST_FILES:
        raise UnusableRelease(f"it has more than {MOST_FILES:,} rule files")
    if sum(len(file.data) for file in files) > LARGEST or len(data) > LARGEST_RELEASE:
        raise UnusableRelease(f"its rule files have more than {LARGEST // 1024**2} MiB together")


class PointerMove(msgspec.Struct, frozen=True):
    """A change of the pointer to a release: when, by whom, and the release to which a rollback returns."""

    digest: str
    at: str  # as in RFC 3339
    by: str
    note: str = ""
    previous: str | None = None


class Pointer(msgspec.Struct, frozen=True):
    """The last moves, the newest first; its release is in force. There is none before the first push."""

    moves: tuple[PointerMove, ...] = ()

    @property
    def digest(self) -> str | None:
        """The digest of the release in force."""
        return self.moves[0].digest if self.moves else None

    @classmethod
    def read(cls, data: bytes) -> Pointer:
        """Reads the object of a pointer; raises `UnusableRelease`."""
        try:
            moves = tuple(_move(**each) for each in _versioned(data)["moves"])
        except _MALFORMED as error:
            raise UnusableRelease(f"it is not a pointer: {error}") from error
        if not moves:
            raise UnusableRelease("it is not a pointer: it has no move")
        return cls(moves)

    @property
    def data(self) -> bytes:
        """The object of the pointer."""
        return json.dumps({"version": _VERSION, "moves": [asdict(each) for each in self.moves]}, indent=1).encode()

    def pushed(self, digest: str, at: str, by: str, note: str = "") -> Pointer:
        """Returns the pointer after a push."""
        return self._moved(PointerMove(digest, at, by, note, self.digest))

    def rolled_back(self, to: str, at: str, by: str, note: str = "") -> Pointer:
        """Returns the pointer after a rollback to a release of the history; `to` is the start of its digest.

        An empty `to` is the release before the one in force. A further rollback goes on from where that one came.
        Raises `UnusableRelease`.
        """
        target = to or (self.moves[0].previous if self.moves else None)
        if target is None:
            raise UnusableRelease("there is no release before the one in force")
        candidates = [move for move in self.moves if move.digest.startswith(target)]
        if len({move.digest for move in candidates}) != 1:
            raise UnusableRelease(f"the history has {'several releases' if candidates else 'no release'} `{target}`")
        return self._moved(PointerMove(candidates[0].digest, at, by, note, candidates[0].previous))

    def _moved(self, move: PointerMove) -> Pointer:
        move = msgspec.structs.replace(move, by=move.by[:LONGEST_TEXT], note=move.note[:LONGEST_TEXT])
        return Pointer((move, *self.moves)[:MOST_MOVES])


def _move(digest: str, previous: str | None = None, **texts: str) -> PointerMove:
    if not (_DIGEST.fullmatch(digest) and (previous is None or _DIGEST.fullmatch(previous))):
        raise ValueError("a digest has 64 digits")
    return PointerMove(digest, previous=previous, **{name: _line(text) for name, text in texts.items()})


def _line(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("a name has a control character")
    return text


def _versioned(data: bytes) -> Any:
    form = json.loads(data)
    if form["version"] != _VERSION:
        raise UnusableRelease(f"it is of version {form['version']}, which this version of tornado-proxy cannot read")
    return form
