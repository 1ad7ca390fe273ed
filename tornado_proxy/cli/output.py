"""Output that commands share: exit statuses, the error that ends a command, standard streams, colours, progress."""

from __future__ import annotations

import errno
import io
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import TextIO

from tornado_proxy.rules.diagnostic import Diagnostic, did_you_mean, render, visible

_OF_STREAMS = frozenset({errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})
_CLEAR = "\r\x1b[K"
_DIFF_COLORS = {"---": "\x1b[1m", "+++": "\x1b[1m", "@@": "\x1b[36m", "-": "\x1b[31m", "+": "\x1b[32m"}
_RESET = "\x1b[0m"


class ExitStatus(IntEnum):
    """The exit statuses: a contract with CI, the same for every subcommand."""

    CLEAN = 0
    FINDINGS = 1  # the files are wrong: diagnostics, failed tests, differences
    FAILED = 2  # the tool could not do its work: usage, files that cannot be read, a dead port


def not_a_file(path: Path) -> str:
    """The message that a path which a command needs is missing, or is something else than a file."""
    reason = errno.EISDIR if path.is_dir() else 0 if path.exists() else errno.ENOENT
    return f"`{path}` cannot be read: {os.strerror(reason) if reason else 'it is not a regular file'}"


class CommandError(Exception):
    """A reason to end a command: the lines of its text, the exit status, and diagnostics of files."""

    def __init__(
        self, reason: str = "", status: ExitStatus = ExitStatus.FAILED, diagnostics: Sequence[Diagnostic] = ()
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.diagnostics = diagnostics

    def report(self, command: str) -> ExitStatus:
        """Prints diagnostics and reason to standard error; returns the exit status."""
        show(self.diagnostics)
        for line in str(self).splitlines():
            print(f"tornado-proxy {command}: {line}", file=sys.stderr)
        return self.status


def suggestion(word: str, candidates: Iterable[str]) -> str:
    """Returns the end of a message about an unknown word: the most similar candidate, if there is one."""
    meant = did_you_mean(word, candidates)
    return f"; did you mean `{meant}`?" if meant else ""


class _Closed(io.TextIOBase):
    """A closed standard input; reading it raises `OSError`."""

    @property
    def buffer(self) -> io.BufferedIOBase:
        raise OSError(errno.EBADF, "standard input is closed")


def fill_streams() -> None:
    """Opens the null device in place of each closed stream, for a service.

    Otherwise a socket could get the number of a stream, to which libraries write. Workers inherit what is opened.
    """
    for descriptor, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(descriptor)
        except OSError:
            # The system takes the lowest free number, which is the stream's.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - as below


def prepare_streams() -> str | None:
    """Makes the streams usable; returns the reason if that is impossible, else None."""
    if sys.stderr is None:
        # Python would print errors to standard output.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - to the end of the process
    if sys.stdout is None:
        return "standard output is closed"
    if sys.stdin is None:
        sys.stdin = _Closed()
    for stream in (sys.stdout, sys.stderr):
        # A character that a terminal cannot show becomes a question mark instead of an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    return None


def is_stream_error(error: OSError) -> bool:
    """Returns whether a standard stream failed; the error of a file has a file name."""
    return error.filename is None and error.errno in _OF_STREAMS


def give_up_output() -> None:
    """Discards further output; Python would report the error again when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show(diagnostics: Iterable[Diagnostic]) -> None:
    """Prints diagnostics to standard error, each with its excerpt."""
    color = wants_color(sys.stderr)
    for each in diagnostics:
        print(render(each, color=color), file=sys.stderr)


def wants_color(stream: TextIO) -> bool:
    """Returns whether to print in colour (https://no-color.org, https://force-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_interactive(stream)


def is_interactive(stream: TextIO) -> bool:
    """Returns whether a stream is a terminal that can overwrite a line."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def print_diff(lines: Iterable[str]) -> None:
    """Prints the lines of a difference: in colours and harmless for a terminal, unchanged for a program."""
    is_colored = wants_color(sys.stdout)
    for line in lines:
        color = next((color for start, color in _DIFF_COLORS.items() if line.lstrip().startswith(start)), "")
        shown = f"{color}{visible(line)}{_RESET}" if color else visible(line)
        print(shown if is_colored else line)


def print_bytes(*data: bytes) -> None:
    """Prints the content of files; a terminal's encoding must not change it."""
    sys.stdout.flush()
    sys.stdout.buffer.writelines(data)


def save(files: Mapping[str, str], directory: Path, *, force: bool = False) -> None:
    """Writes new files by their relative names, or replaces all by `force`; raises `CommandError`.

    The files may contain secrets, so only their owner may read them.
    """
    places = {directory / name: text for name, text in files.items()}
    present = [place for place in places if os.path.lexists(place)]
    if present and not force:
        raise CommandError(f"`{present[0]}` exists; `--force` replaces it")
    try:
        for place, text in places.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)  # an existing file may be readable by others, or be a link
            place.touch(0o600)
            place.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise CommandError(f"`{error.filename or directory}` cannot be written: {error.strerror}") from None


@contextmanager
def activity(label: str, soon: float = 1.0) -> Iterator[None]:
    """Shows the elapsed time while the block runs, after `soon` seconds and as often; on a terminal."""
    if not is_interactive(sys.stderr):
        yield
        return
    ended = threading.Event()

    def show() -> None:
        begun, clear = time.monotonic(), ""
        while not ended.wait(soon):
            clear = _CLEAR
            print(f"{clear}{label} … {time.monotonic() - begun:.0f} s", end="", file=sys.stderr, flush=True)
        print(clear, end="", file=sys.stderr, flush=True)

    thread = threading.Thread(target=show, name="activity", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
