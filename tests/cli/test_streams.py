"""The process's standard streams, some of them closed."""

from __future__ import annotations

import errno
import subprocess
import sys

import pytest

from tornado_proxy.cli.streams import is_of_a_stream

FILL = """
import os, sys
from tornado_proxy.cli.streams import fill
fill()
with open(sys.argv[1], "w") as told:
    where = [os.path.realpath(f"/proc/self/fd/{number}") == "/dev/null" for number in range(3)]
    print(where, [os.get_inheritable(number) for number in range(3)], file=told)
print(sys.stdin.read(0), "out")
print("err", file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("closed", "empty"),
    [
        ("", [False, False, False]),
        ("2>&-", [False, False, True]),
        ("<&-", [True, False, False]),
        ("<&- >&- 2>&-", [True, True, True]),
    ],
)
def test_closed_streams_are_filled(tmp_path, closed, empty):
    """What is closed, and nothing else, reads and writes nothing from then on, in workers too."""
    words = ["sh", "-c", f'exec "$0" -c "$1" "$2" {closed}', sys.executable, FILL, str(tmp_path / "told")]
    done = subprocess.run(words, capture_output=True, text=True, check=True, input="")
    assert (tmp_path / "told").read_text() == f"{empty} [True, True, True]\n"
    assert (done.stdout == "", done.stderr == "") == (empty[1], empty[2])


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (OSError(errno.ENOSPC, "No space left on device", "a.rules"), False),
        (OSError(errno.ENOENT, "No such file or directory"), False),
    ],
)
def test_an_error_of_a_stream_names_no_file(error, expected):
    """What fails in a file tells its name."""
    assert is_of_a_stream(error) is expected
