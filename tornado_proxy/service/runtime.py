"""A process of Python that serves: its event loop, threads, descriptors, log, and end."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import os
import resource
import stat
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

from tornado_proxy.config.server import Log
from tornado_proxy.service import limits
from tornado_proxy.telemetry.events import Served
from tornado_proxy.telemetry.log import Field, Outlet, StreamOutput, access_log, harmless, json_text, moment
from tornado_proxy.wire.shares import in_own_thread


def run_event_loop(main: Coroutine[Any, Any, None], choice: Literal["auto", "asyncio", "uvloop"]) -> None:
    """Runs a coroutine on a new event loop, with the garbage collector on; raises `CannotServe`."""
    gc.freeze()  # nearly all that the start has made stays: a look at it would take 20 ms, and free nothing
    # A look at all objects of ten thousand slow clients stops every request for half a second: rarely, then.
    gc.set_threshold(10_000, 20, 100)
    gc.enable()  # a command starts without it
    # Else glibc keeps memory apart for many threads, also what they have freed: that of a reload, and of slow clients.
    _call_glibc("mallopt", _ARENA_MAX, 1)
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if choice != "asyncio":
        try:
            import uvloop  # noqa: PLC0415 - not installed everywhere, and not wanted by everyone

            factory = uvloop.new_event_loop
        except ImportError as error:
            if choice == "uvloop":
                main.close()
                raise CannotServe("`server.eventLoop` is `uvloop`, which is not installed") from error
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main)


_ARENA_MAX = -8  # M_ARENA_MAX of <malloc.h>


def _call_glibc(name: str, *arguments: int) -> None:
    """Calls a function of glibc's allocator; no other C library has it."""
    with suppress(AttributeError, OSError):
        getattr(ctypes.CDLL(None), name)(*arguments)


class CannotServe(Exception):
    """The event loop is not installed, or a worker ended before it served."""


class DetachedExecutor(ThreadPoolExecutor):
    """Threads for calls that may hang, as in a file system; the end of the event loop does not wait for them."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - the base's signature
        """Ends idle threads; does not wait for the others."""
        super().shutdown(wait=False, cancel_futures=cancel_futures)


def end_process(status: int) -> int:
    """Returns the exit status, or ends the process at once if a thread hangs.

    A thread cannot be stopped, and one that waits for a bucket may do so for minutes after all answers are given.
    """
    others = [each for each in threading.enumerate() if each is not threading.current_thread() and not each.daemon]
    end = time.monotonic() + limits.THREADS_END_WITHIN
    for each in others:
        each.join(max(0.0, end - time.monotonic()))
    if any(each.is_alive() for each in others):
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status


def raise_descriptor_limit() -> None:
    """Raises the soft limit of open descriptors to the hard limit, as programs in Go do.

    The soft limit is often 1024, for the sake of select(2), and a client may need a connection to S3 besides its own.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # the kernel may permit less than the hard limit (fs.nr_open)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def connections_of(configured: int, buckets: int) -> int:
    """Returns how many connections each of some buckets may have: those configured, if there are descriptors."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return configured
    return max(1, min(configured, int(descriptors * limits.SHARE_OF_DESCRIPTORS / max(1, buckets))))


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_LOG = logging.getLogger("tornado_proxy")

_TURN = threading.Lock()


async def in_background(work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
    """Does seconds of Python work on a thread, one task at a time, without much delay for requests.

    A request on the loop takes the interpreter's lock many times, and each time waits for the switch interval while the
    other thread computes: 5 ms each time by default. The collector would stop every thread for a look at all that the
    work makes, 0.1 s for a large set of rules, and find nothing: what it makes and all that serves requests is freed
    when nothing refers to it any more.
    """

    def in_turn() -> Result:
        with _TURN:
            usual, collects = sys.getswitchinterval(), gc.isenabled()
            sys.setswitchinterval(limits.SWITCH_INTERVAL)
            gc.collect(0)
            gc.disable()
            try:
                return work(*args, **kwargs)
            finally:
                if collects:
                    gc.freeze()
                    gc.enable()
                sys.setswitchinterval(usual)

    return await in_own_thread(in_turn)


def free_in_turns(pieces: list[Any]) -> None:
    """Frees what only a list refers to, or soon will, a few pieces at a time: all at once would hold up requests."""

    def free() -> None:
        time.sleep(limits.LAST_USED_WITHIN)
        while pieces:
            del pieces[-limits.FREED_A_TURN :]
            time.sleep(limits.SWITCH_INTERVAL)
        _call_glibc("malloc_trim", 0)

    if len(pieces) > limits.FREED_A_TURN:
        threading.Thread(target=free, name="free", daemon=True).start()


async def comes_within(event: asyncio.Event, seconds: float | None) -> bool:
    """Waits for an event, for some seconds at most; returns whether it came, and clears it."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    event.clear()
    return True


async def guarded(
    name: str, work: Callable[[], Awaitable[None]], note: Callable[[Exception], None] = lambda _error: None
) -> None:
    """Does work beside the requests to its end; after a defect, which is logged and noted, it is begun again."""
    pause = limits.FIRST_PAUSE
    while True:
        began = time.monotonic()
        try:
            return await work()
        except Exception as error:  # noqa: BLE001 - no defect of ours may end the service
            _LOG.exception("%s failed: it is begun again in %g s", name, pause)
            note(error)
        await asyncio.sleep(pause)
        pause = (
            min(2 * pause, limits.LONGEST_PAUSE)
            if time.monotonic() - began < 2 * limits.LONGEST_PAUSE
            else limits.FIRST_PAUSE
        )


ACCESS = "tornado_proxy.access"

_PRIORITIES = ((logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6), (logging.NOTSET, 7))


class _Lines(logging.Formatter):
    """JSON, or `time level message` with the lines of a traceback indented below.

    For the journal, each line has a priority (sd-daemon(3)), which it takes off, and text no time, which it adds.
    """

    def __init__(self, log_format: str, *, in_journal: bool) -> None:
        super().__init__()
        self._is_text, self._in_journal = log_format == "text", in_journal

    def format(self, record: logging.LogRecord) -> str:
        traceback = self.formatException(record.exc_info) if record.exc_info else ""
        at, level, message = moment(record.created), record.levelname.lower(), record.getMessage()
        if self._is_text:
            head = "" if self._in_journal else f"{at} {level} "
            lines = [
                f"{head}{harmless(message)}",
                *(f"  {harmless(line)}" for line in traceback.split("\n") if traceback),
            ]
        else:
            fields: Mapping[str, Field] = getattr(record, "fields", {})
            added = {"traceback": traceback} if traceback else {}
            lines = [json_text({"time": at, "level": level, "message": message, **fields, **added})]
        priority = next(number for least, number in _PRIORITIES if record.levelno >= least)
        return "\n".join(f"<{priority}>{line}" if self._in_journal else line for line in lines)


def configure_logging(log: Log) -> None:
    """Sends the log to standard error, or to the journal behind it, in the configured format."""
    root, formatter = close_logging(), _Lines(log.format, in_journal=is_journal(os.environ))
    root.addHandler(Outlet(formatter, StreamOutput(STANDARD_ERROR, _LOG_FILE)))
    # Warnings of libraries, such as one about an old Python, are logged too.
    logging.captureWarnings(True)
    set_log_level(log.level)
    logging.getLogger(ACCESS).setLevel(logging.INFO)  # `log.access` alone switches it
    # They warn of each connection that is closed because its pool is full, and of a broken head of S3 with a traceback:
    # that is an error here.
    for name in ("connectionpool", "connection"):
        logging.getLogger(f"urllib3.{name}").setLevel(logging.ERROR)


def set_log_level(level: str) -> None:
    """Logs what is at least as severe as a level; of libraries, only problems."""
    logging.getLogger().setLevel(max(logging.WARNING, logging.getLevelNamesMapping()[level.upper()]))
    logging.getLogger("tornado_proxy").setLevel(level.upper())


def access_listener(log: Log) -> Callable[[Served], None] | None:
    """Returns a listener that logs each request, or None if that is switched off."""
    write = line_writer() if log.access else None
    if write is None:
        return None
    # In JSON, each line has its level already.
    error_mark = "<3>" if is_journal(os.environ) else "level=error " if log.format == "text" else ""
    return access_log(log.format, write, error_mark if log.access_levels else "")


def line_writer() -> Callable[[str], None] | None:
    """Returns a function that writes a line of the access log, or None if it is switched off."""
    if not logging.getLogger(ACCESS).isEnabledFor(logging.INFO):
        return None
    # A record of `logging` for each request would cost it more than making the line.
    outlets = [each for each in logging.getLogger().handlers if isinstance(each, Outlet)]
    return outlets[0].put if outlets else logging.getLogger(ACCESS).info


def close_logging() -> logging.Logger:
    """Writes all waiting lines, and removes the handlers and their threads; returns the root logger."""
    flush_logging()
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
        if isinstance(old, Outlet):
            old.close()
    return root


def flush_logging() -> None:
    """Waits at most a second for unwritten lines."""
    for handler in logging.getLogger().handlers:
        handler.flush()


STANDARD_ERROR = 2  # the descriptor: Python's object for it buffers, and may be replaced


def is_journal(environment: Mapping[str, str]) -> bool:
    """Whether standard error leads to systemd's journal (systemd.exec(5), JOURNAL_STREAM)."""
    try:
        status = os.fstat(STANDARD_ERROR)
    except OSError:
        return False
    return environment.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def _file_behind(descriptor: int) -> Path | None:
    try:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        is_there = stat.S_ISREG(os.fstat(descriptor).st_mode) and path.samefile(f"/proc/self/fd/{descriptor}")
    except OSError:
        return None
    return path if is_there else None


# Looked up at the start, before a rotation renames the file.
_LOG_FILE = _file_behind(STANDARD_ERROR)
