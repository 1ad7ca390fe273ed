from __future__ import annotations

import codecs
import os

import pytest

from tornado_proxy.lang.excerpt import render
from tornado_proxy.lang.files import decode, read_file
from tornado_proxy.lang.source import SourceFile


@pytest.mark.parametrize("regular", [True, False])
def test_a_file_is_read_whole(tmp_path, regular):
    """Up to the last byte that is allowed."""
    (tmp_path / "a").write_bytes(b"12345")
    assert read_file(tmp_path / "a", 5, regular=regular) == b"12345"


@pytest.mark.parametrize("regular", [True, False])
def test_a_file_that_is_too_large_is_an_error(tmp_path, regular):
    """It is not read to its end."""
    (tmp_path / "a").write_bytes(b"12345")
    with pytest.raises(OSError, match="it is larger than 4 bytes"):
        read_file(tmp_path / "a", 4, regular=regular)


def test_a_pipe_is_not_waited_for(tmp_path):
    """Nobody may ever write into it."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is not a regular file") as caught:
        read_file(tmp_path / "pipe", 5, regular=True)
    assert caught.value.filename == str(tmp_path / "pipe")


def test_a_pipe_can_be_asked_for():
    """A command's output may stand where a file's name is asked for."""
    reading, writing = os.pipe()
    os.write(writing, b"12345")
    os.close(writing)
    assert read_file(f"/dev/fd/{reading}", 5, regular=False) == b"12345"
    os.close(reading)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    """The system's own."""
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "a", 4, regular=True)


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
        "error[not-utf-8]: invalid UTF-8: byte 0xe9 at offset 11, on line 2",
        " --> a.rules:2:6",
        "  |",
        "2 | # caf\ufffd",
        "  |      ^",
        "  = help: save the file as UTF-8",
    ]


def test_offset_counts_the_byte_order_mark():
    """An offset is one in the file, as other tools count it."""
    _, diagnostic = decode("a.rules", codecs.BOM_UTF8 + b"a\xff")
    assert diagnostic.message == "invalid UTF-8: byte 0xff at offset 4, on line 1"
    assert diagnostic.place == "a.rules:1:2"


def test_utf16_is_recognised():
    """A file in UTF-16 is called by its name."""
    _, diagnostic = decode("a.rules", "target".encode("utf-16"))
    assert diagnostic.help == "the file seems to be UTF-16; save it as UTF-8"


@pytest.mark.parametrize(
    ("data", "message", "help"),
    [
        (
            b"\0\0\0",
            "the file is not text: byte 0x00 at offset 0, on line 1",
            "remove the file, or restore its text",
        ),
        (
            b"target a {}\n\0",
            "the file is not text: byte 0x00 at offset 12, on line 2",
            "remove the file, or restore its text",
        ),
        (
            b"a\0\xff",
            "invalid UTF-8: byte 0x00 at offset 1, on line 1",
            "the file seems to be UTF-16; save it as UTF-8",
        ),
        (b"abc\xff\0", "invalid UTF-8: byte 0xff at offset 3, on line 1", "save the file as UTF-8"),
        (
            b"abc\0\xff",
            "the file is not text: byte 0x00 at offset 3, on line 1",
            "remove the file, or restore its text",
        ),
    ],
)
def test_binary_file_is_one_diagnostic(data, message, help):
    """A NUL byte is not text: the parser never sees it."""
    source, diagnostic = decode("a.rules", data)
    assert source is None
    assert (diagnostic.message, diagnostic.help) == (message, help)


def test_diagnostic_of_a_binary_file_is_small():
    """Only what stands around the first wrong byte is kept."""
    _, diagnostic = decode("a.rules", b"ab" + b"\0" * 5_000_000)
    assert len(diagnostic.span.source.text) < 300
