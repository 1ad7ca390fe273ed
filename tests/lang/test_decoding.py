from __future__ import annotations

import codecs

from tornado_proxy.lang.decoding import decode
from tornado_proxy.lang.excerpt import render
from tornado_proxy.lang.source import SourceFile


def test_utf8_becomes_a_source_file():
    """Bytes in UTF-8 are the file's text."""
    assert decode("a.rules", "é\n".encode()) == (SourceFile("a.rules", "é\n"), None)


def test_byte_order_mark_is_no_part_of_the_text():
    """A byte order mark is taken off, so that columns count from the first character."""
    assert decode("a.rules", codecs.BOM_UTF8 + b"x") == (SourceFile("a.rules", "x"), None)


def test_other_encoding_is_a_diagnostic_with_its_place():
    """The first byte that is not UTF-8 is named with its offset and line, and shown."""
    source, diagnostic = decode("a.rules", b"# one\n# caf\xe9\n")
    assert source is None
    assert render(diagnostic).splitlines() == [
        "error[not-utf-8]: the file is not UTF-8: byte 0xe9 at offset 11, on line 2",
        " --> a.rules:2:6",
        "  |",
        "2 | # caf\ufffd",
        "  |      ^",
        "  = help: save the file as UTF-8",
    ]


def test_offset_counts_the_byte_order_mark():
    """An offset is one in the file, as other tools count it."""
    _, diagnostic = decode("a.rules", codecs.BOM_UTF8 + b"a\xff")
    assert diagnostic.message == "the file is not UTF-8: byte 0xff at offset 4, on line 1"
    assert diagnostic.place == "a.rules:1:2"


def test_utf16_is_recognised():
    """A file in UTF-16 is called by its name."""
    _, diagnostic = decode("a.rules", "target".encode("utf-16"))
    assert diagnostic.help == "the file seems to be UTF-16; save it as UTF-8"
