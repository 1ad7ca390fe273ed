"""The process's standard streams: any of them may be closed, and a disk may be full."""

from __future__ import annotations

import errno
import io
import os
import sys

_OF_STREAMS = frozenset({errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})


class _Closed(io.TextIOBase):
    """Stands in for standard input where there is none: whoever reads it hears why."""

    @property
    def buffer(self) -> io.BufferedIOBase:
        """What would be read."""
        raise OSError(errno.EBADF, "standard input is closed")


def fill() -> None:
    """Open what reads and writes nothing where a stream is closed: a service starts without any.

    None of its sockets may get the number of a stream, in which libraries write. Workers inherit what is opened.
    """
    for descriptor, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest number that is free is that of the stream.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - as below


def prepare() -> str | None:
    """Make the streams fit to be used; what is in the way of that, as a fact."""
    if sys.stderr is None:
        # What is printed to no stream at all would go to standard output.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - to the end of the process
    if sys.stdout is None:
        return "standard output is closed"
    if sys.stdin is None:
        sys.stdin = _Closed()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows a question mark, and the command goes on.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    return None


def is_of_a_stream(error: OSError) -> bool:
    """Whether an error tells of a standard stream: where a file fails, its name is told too."""
    return error.filename is None and error.errno in _OF_STREAMS


def give_up_output() -> None:
    """Write no more to standard output; Python would complain again when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
