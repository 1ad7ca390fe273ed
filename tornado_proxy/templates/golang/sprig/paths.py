"""Paths with slashes, taken apart and made plain (package path; its twin for files is the same here)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tornado_proxy.templates.golang.calling import STRING, Function, function


def clean(path: bytes) -> bytes:
    """path.Clean: no empty and no `.` element, no `..` but at the start; never empty."""
    rooted = path.startswith(b"/")
    kept: list[bytes] = []
    for element in path.split(b"/"):
        if element in (b"", b"."):
            continue
        if element != b"..":
            kept.append(element)
        elif kept and kept[-1] != b"..":
            kept.pop()
        elif not rooted:
            kept.append(element)
    cleaned = b"/".join(kept)
    return b"/" + cleaned if rooted else cleaned or b"."


def _base(path: bytes) -> bytes:
    if not path:
        return b"."
    return path.rstrip(b"/").rpartition(b"/")[2] or b"/"


def _dir(path: bytes) -> bytes:
    directory, slash, _ = path.rpartition(b"/")
    return clean(directory + slash)


def _ext(path: bytes) -> bytes:
    stem, dot, extension = path.rpartition(b"/")[2].rpartition(b".")
    return dot + extension if dot or stem else b""


_FUNCTIONS = {
    "base": function(_base, STRING),
    "clean": function(clean, STRING),
    "dir": function(_dir, STRING),
    "ext": function(_ext, STRING),
    "isAbs": function(lambda path: path.startswith(b"/"), STRING),
}

FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    _FUNCTIONS | {f"os{name[0].upper()}{name[1:]}": entry for name, entry in _FUNCTIONS.items()}
)
