"""A log file that is rotated, and what a log writes to sockets and pipes."""

import errno
import os
import select
import socket
from contextlib import contextmanager

import pytest

from tornado_proxy.config.server import Log
from tornado_proxy.service import runtime
from tornado_proxy.telemetry.events import RequestRecord, Served
from tornado_proxy.telemetry.log import StreamOutput


@contextmanager
def _opened(path, flags=os.O_WRONLY | os.O_CREAT | os.O_APPEND):
    descriptor = os.open(path, flags, 0o640)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def test_a_renamed_file_is_followed_by_a_new_one(tmp_path):
    """After a rotation, lines go to a new file of the old name and mode, also what others write to the descriptor."""
    file = tmp_path / "log"
    with _opened(file) as descriptor:
        output = StreamOutput(descriptor, file)
        output.write([b"first\n"])
        file.rename(tmp_path / "log.1")
        output.write([b"second\n", b"third\n"])
        os.write(descriptor, b"fourth\n")
    assert (tmp_path / "log.1").read_text() == "first\n"
    assert file.read_text() == "second\nthird\nfourth\n"
    assert file.stat().st_mode == (tmp_path / "log.1").stat().st_mode


def test_a_file_that_cannot_be_opened_again_is_kept(tmp_path, caplog):
    """Lines go on in the file that was renamed, and one line says so."""
    folder = tmp_path / "folder"
    folder.mkdir()
    with _opened(folder / "log") as descriptor:
        output = StreamOutput(descriptor, folder / "log")
        folder.rename(tmp_path / "renamed")
        output.write([b"first\n"])
        folder.write_text("not a folder any more")
        for line in (b"second\n", b"third\n"):
            output.write([line])
    assert (tmp_path / "renamed" / "log").read_text() == "first\nsecond\nthird\n"
    assert len(caplog.records) == 1


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path, caplog):
    """Whoever may write to the folder cannot have the service write to another file."""
    file, other = tmp_path / "log", tmp_path / "other"
    other.write_text("theirs\n")
    with _opened(file) as descriptor:
        output = StreamOutput(descriptor, file)
        file.rename(tmp_path / "log.1")
        file.symlink_to(other)
        output.write([b"a line\n"])
    assert ((tmp_path / "log.1").read_text(), other.read_text()) == ("a line\n", "theirs\n")
    assert len(caplog.records) == 1


LINES = [b"%03d%b\n" % (number, b"." * 500) for number in range(300)]


def test_many_lines_take_few_writes():
    """A write to a socket has as many whole lines as come to it as one piece."""
    reading, writing = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with reading, writing:
        StreamOutput(writing.fileno()).write(LINES)
        writing.close()
        pieces = list(iter(lambda: reading.recv(1_000_000), b""))
    assert b"".join(pieces) == b"".join(LINES)
    assert all(piece.endswith(b"\n") for piece in pieces)
    assert all(16_000 < len(piece) <= 32_768 for piece in pieces[:-1])


def test_a_pipe_takes_no_more_than_it_does_at_once(monkeypatch):
    """The lines of several processes do not come between each other's."""
    reading, writing = os.pipe()
    sizes, write = [], os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: sizes.append(len(data)) or write(descriptor, data))
    StreamOutput(writing).write(LINES[:50])
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b"".join(LINES[:50])
    assert max(sizes) <= select.PIPE_BUF


def test_a_line_that_a_full_disk_cut_is_ended(tmp_path, monkeypatch):
    """The next line after a full disk is a line of its own, and lines that were dropped are counted."""
    room, write = [10], os.write

    def write_if_there_is_room(descriptor, data):
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        size = write(descriptor, bytes(data)[: room[0]])
        room[0] -= size
        return size

    monkeypatch.setattr(os, "write", write_if_there_is_room)
    with (tmp_path / "log").open("wb", buffering=0) as file:
        output = StreamOutput(file.fileno())
        dropped = [output.write(lines) for lines in ([b"first\n", b"second\n", b"third\n"], [b"fourth\n"])]
        room[0] = 1000
        dropped.append(output.write([b"fifth\n", b"sixth\n"]))
    assert (dropped, (tmp_path / "log").read_bytes()) == ([2, 1, 0], b"first\nseco\nfifth\nsixth\n")


RECORD = RequestRecord(
    "4f2a", 0.0, "127.0.0.1", "GET", "h", "/ä\n", 7, "site", facts={"userAgent": "curl/8", "s3RequestId": "9C"}
)


@pytest.mark.parametrize(("is_journal", "mark"), [(True, "<3>"), (False, "level=error ")])
def test_text_lines_of_a_5xx_have_a_level_where_asked(monkeypatch, is_journal, mark):
    """A line begins with its level, which the journal reads, and which a search in a file finds."""
    lines = []
    monkeypatch.setattr(runtime, "is_journal", lambda _: is_journal)
    monkeypatch.setattr(runtime, "line_writer", lambda: lines.append)
    for levels in (True, False):
        listener = runtime.access_listener(Log(access_levels=levels))
        for status in (404, 502):
            listener(Served(RECORD, status, 0, 0, 0.0, reason="x", is_error=True))
    assert [line[: line.index("time=")] for line in lines] == ["", mark, "", ""]
