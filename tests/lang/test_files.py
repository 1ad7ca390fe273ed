import os

import pytest

from tornado_proxy.lang.files import read_file


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
    with pytest.raises(OSError, match="it is no regular file") as caught:
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
