"""The bytes of a file, and the text that they are: reading is bounded and never waits."""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path

from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.source import SourceFile, Span


class FileTooLargeError(OSError):
    """A file that is larger than is allowed."""


_SHOWN = 200  # bytes after one that cannot be decoded


def read_file(path: Path, largest: int, *, regular: bool) -> bytes:
    """The bytes of a file; raises `OSError`, and `FileTooLargeError` where there are more than `largest`.

    With `regular` it must be a regular file, which can be read again. A pipe would block the reader.
    """
    with open(path, "rb", opener=_at_once if regular else None) as file:
        if regular and not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "it is not a regular file", str(path))
        data = file.read(largest + 1)
    if len(data) > largest:
        raise FileTooLargeError(0, f"it is larger than {largest} bytes", str(path))
    return data


def _at_once(path: str, flags: int) -> int:
    """Open a file without waiting for a writer."""
    return os.open(path, flags | os.O_NONBLOCK)


def decode(name: str, data: bytes) -> tuple[SourceFile | None, Diagnostic | None]:
    """The text of a file without its byte order mark, or a diagnostic of what is wrong: exactly one of the two."""
    mark = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    nul = data.find(b"\0")
    try:
        text = data[mark:].decode()
    except UnicodeDecodeError as error:
        if not 0 <= nul < mark + error.start:
            return None, _undecodable(name, data, mark + error.start)
    return (SourceFile(name, text), None) if nul < 0 else (None, _undecodable(name, data, nul))


def _undecodable(name: str, data: bytes, offset: int) -> Diagnostic:
    """What is wrong with the first byte that text in UTF-8 cannot have."""
    readable = data[:offset].decode("utf-8-sig")
    # The rest of a binary file may be one line of megabytes, which would fill the screen.
    source = SourceFile(name, readable + data[offset : offset + _SHOWN].decode(errors="replace"))
    span = Span(source, len(readable), len(readable) + 1)
    where = f"byte 0x{data[offset]:02x} at offset {offset}, on line {span.first.line}"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or data[:2].count(0) == 1:
        return Diagnostic("not-utf-8", f"invalid UTF-8: {where}", span, "the file seems to be UTF-16; save it as UTF-8")
    if data[offset] == 0:
        return Diagnostic("not-utf-8", f"the file is not text: {where}", span, "remove the file, or restore its text")
    return Diagnostic("not-utf-8", f"invalid UTF-8: {where}", span, "save the file as UTF-8")
