"""Bytes of a file become a source file, or a diagnostic that says where they are not UTF-8."""

from __future__ import annotations

import codecs

from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.source import SourceFile, Span


def decode(name: str, data: bytes) -> tuple[SourceFile | None, Diagnostic | None]:
    """The text of a file without its byte order mark, or else what is wrong: always exactly one of the two."""
    mark = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    try:
        return SourceFile(name, data[mark:].decode()), None
    except UnicodeDecodeError as error:
        return None, _not_utf8(name, data, mark + error.start)


def _not_utf8(name: str, data: bytes, offset: int) -> Diagnostic:
    readable = data[:offset].decode("utf-8-sig")
    source = SourceFile(name, readable + data[offset:].decode(errors="replace"))
    line = source.position(len(readable)).line
    return Diagnostic(
        "not-utf-8",
        f"the file is not UTF-8: byte 0x{data[offset]:02x} at offset {offset}, on line {line}",
        Span(source, len(readable), len(readable) + 1),
        help=_likely_encoding(data),
    )


def _likely_encoding(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "the file seems to be UTF-16; save it as UTF-8"
    return "save the file as UTF-8"
