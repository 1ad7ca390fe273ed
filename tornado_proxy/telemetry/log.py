"""The lines of the log, of requests and of events, and the thread that writes them, so that nobody waits.

`logging.handlers.QueueListener` would do that too, but its end waits for a stuck reader for ever.
"""

from __future__ import annotations

import json
import logging
import os
import re
import select
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

import msgspec

from tornado_proxy.rules.diagnostic import Diagnostic, Severity, counted
from tornado_proxy.storage.probe import BucketProblem, ProbeResult
from tornado_proxy.telemetry import events
from tornado_proxy.telemetry.limits import LOG_GATHERED_FOR, LOG_ROOM

Field = str | int | float | bool | None


def moment(seconds: float) -> str:
    """Writes a Unix time as in RFC 3339, in UTC, with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def harmless(text: str) -> str:
    """Escapes every character that could end the line or control a terminal; letters of all scripts stay readable."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)


def json_text(value: str | Mapping[str, Field]) -> str:
    """Returns a string or an object as JSON that is safe in a line."""
    try:
        return harmless(msgspec.json.encode(value).decode())
    except UnicodeEncodeError:  # a lone surrogate
        return harmless(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _escaped(character: str) -> str:
    """Returns JSON's escape: the long one, which is the same for all characters."""
    return f"\\u{ord(character):04x}" if character < "\U00010000" else json.dumps(character)[1:-1]


# In an address that a library's error names (RFC 3986 3.2.1).
_USER_INFORMATION = re.compile(r"//[^/?#\s@]*@")
_BARE = re.compile(r'[^\s"=\\]+')


Form = Literal["text", "json"]


def access_log(form: Form, write: Callable[[str], None], error_mark: str = "") -> Callable[[events.Served], None]:
    """Returns a listener that writes a line for each request, with a mark before that of a 5xx."""
    render = _text_line if form == "text" else lambda event: json_text(_fields(event))
    return lambda event: write(f"{error_mark if event.status >= 500 else ''}{render(event)}")


def _text_line(event: events.Served) -> str:
    """`key=value` pairs in a fixed order; unknown ones are left out."""
    request = event.request
    named, client, method, host = request.request_id, request.client, request.method, request.host
    path, protocol = request.path, request.protocol
    target, key, rule, user = request.target, request.key, request.rule, request.user
    # Nearly no request has anything to quote: one look at all its texts says so.
    if not _is_bare(f"{named}{client}{method}{host}{path}{protocol}{target}{key}{rule}{user}"):
        texts = (named, client, method, host, path, protocol)
        named, client, method, host, path, protocol = map(_safe, texts)
        target, key, rule, user = (each and _safe(each) for each in (target, key, rule, user))
    line = (
        f"time={moment(request.at)} id={named}{client and f' client={client}'}"
        f"{method and f' method={method}'}{host and f' host={host}'}{path and f' path={path}'}"
        f"{protocol and f' protocol={protocol}'}"
        f" status={event.status} sent={event.sent} received={event.received} ms={event.seconds * 1000:.1f}"
        f"{f' target={target}' if target else ''}{f' key={key}' if key else ''}{f' rule={rule}' if rule else ''}"
        f"{f' user={user}' if user else ''} generation={request.generation}"
    )
    broken, reason = "" if event.complete else " complete=false", _reason(event)
    return f"{line}{broken} reason={_safe(reason)}" if reason else f"{line}{broken}"


def _fields(event: events.Served) -> dict[str, Field]:
    """Returns a request as the members of an object, without those that are empty or zero, except the counts."""
    request = event.request
    fields: dict[str, Field] = {
        "time": moment(request.at),
        "level": "info" if event.status < 500 else "error",
        "type": "request",
        "message": f"{request.method} {request.path} {event.status}",
        "id": request.request_id,
        "client": request.client,
        "method": request.method,
        "host": request.host,
        "path": request.path,
        "protocol": request.protocol,
        "status": event.status,
        "target": request.target,
        "key": request.key,
        "rule": request.rule,
        "user": request.user,
        "generation": request.generation,
        **request.facts,
    }
    fields = {name: value for name, value in fields.items() if value}
    fields["sent"], fields["received"], fields["ms"] = event.sent, event.received, round(event.seconds * 1000, 1)
    if not event.complete:
        fields["complete"] = False
    if event.reason:
        fields["reason"] = _reason(event)
    return fields


def _reason(event: events.Served) -> str | None:
    return event.reason and _USER_INFORMATION.sub("//", event.reason)


def _safe(text: str) -> str:
    return text if not text or _is_bare(text) else json_text(text)


def _is_bare(text: str) -> bool:
    return _BARE.fullmatch(text) is not None and text.isprintable()


EVENTS = "tornado_proxy.events"
_LOG = logging.getLogger(EVENTS)

_LEVELS = {Severity.ERROR: logging.ERROR, Severity.WARNING: logging.WARNING, Severity.INFO: logging.INFO}


ServiceEvent = events.Failed | events.Probed | events.ReadResumed | events.ReloadReport | events.Retired


def log_service_events(bus: events.Bus) -> None:
    """Logs the events of the service on a bus; requests go to the access log."""
    bus.add(service_log, *get_args(ServiceEvent))


def service_log(event: ServiceEvent) -> None:
    """Logs an event of the service."""
    match event:
        case events.Failed(request, error):
            _LOG.error("request `%s` failed", request.request_id, exc_info=error)
        case events.ReloadReport():
            text = _RELOADS[event.outcome].format(event, rewrites=counted(event.rewrites, "rewrite"))
            worst = max((_LEVELS[each.severity] for each in event.diagnostics), default=logging.ERROR)
            _LOG.log(worst if event.is_failure else logging.INFO, "%s", text, exc_info=event.error)
            if event.error is not None:
                return  # with its traceback, all is said
            for line in event.changes:
                _LOG.info("%s", line)
            for name in event.kept_back:
                _LOG.warning("`%s` changed, and needs a restart to take effect", name)
            log_diagnostics(event.news)
        case events.Retired(generation):
            _LOG.debug("generation %d has retired", generation)
        case events.ReadResumed(target, cause, outcome, key, received):
            # A slow client is no news, and while S3 is down there may be thousands of tries.
            is_news = outcome != "failed" and (cause, outcome) != ("slow", "ok")
            level = logging.INFO if is_news else logging.DEBUG
            text = "target `%s`: the read of `%s` was resumed after %d bytes: %s, %s"
            _LOG.log(level, text, target, key, received, cause, outcome)
        case events.Probed(ProbeResult(target, bucket, problem=None), True):
            _LOG.info("target `%s`: the bucket `%s` can be used", target, bucket)
        case events.Probed(ProbeResult(target, bucket, problem=BucketProblem(_, message, advice)), True):
            _LOG.error("target `%s`: the bucket `%s` cannot be used: %s (help: %s)", target, bucket, message, advice)


_RELOADS = {
    events.ReloadOutcome.LOADED: "generation {0.generation} is in force: {rewrites}, built in {0.seconds:.3f} s",
    events.ReloadOutcome.REVERTED: "the bad edit was reverted: generation {0.generation} is in force",
    events.ReloadOutcome.RENEWED: "secrets or certificates changed: generation {0.generation} has them",
    events.ReloadOutcome.REFUSED: "an edit was refused: generation {0.generation} stays in force",
    events.ReloadOutcome.FAILED: "a reload failed: generation {0.generation} stays in force",
}


def log_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Logs each diagnostic at its severity; the record's `fields` has its members."""
    for each in diagnostics:
        advice = f" (help: {' '.join(each.help.split())})" if each.help else ""
        _LOG.log(_LEVELS[each.severity], "%s%s", each.line, advice, extra={"fields": diagnostic_fields(each)})


def diagnostic_fields(diagnostic: Diagnostic) -> dict[str, Field]:
    """Returns a diagnostic as JSON; line and column count from 1."""
    line, column = diagnostic.span.first if diagnostic.span else (None, None)
    return {
        "file": diagnostic.span.source.name if diagnostic.span else None,
        "line": line,
        "column": column,
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "help": diagnostic.help,
    }


def probe_fields(result: ProbeResult) -> dict[str, object]:
    """Returns the result of a probe as JSON."""
    problem = result.problem
    return {
        "up": result.is_up,
        "at": moment(result.at),
        "seconds": round(result.seconds, 6),
        "granted": list(result.granted),
        "notes": list(result.notes),
        "problem": problem and {"code": problem.code, "message": problem.message, "help": problem.help},
    }


def _lost(count: int, reason: str) -> logging.LogRecord:
    return logging.LogRecord("tornado_proxy", logging.WARNING, "", 0, f"lost %d log lines: {reason}", (count,), None)


class Outlet(logging.Handler):
    """Writes lines to an output in order, on a daemon thread, so that nobody waits for a stuck reader.

    At most `room` bytes wait, and as many are being written. Further lines are dropped; a line with their number stands
    in their place.
    """

    patience = 1.0  # seconds that the end of the process waits for a reader

    def __init__(self, formatter: logging.Formatter, output: StreamOutput, room: int = LOG_ROOM) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self._output = output
        self._room = room
        self._queue_lock = threading.Lock()
        self._changed = threading.Condition(self._queue_lock)
        self._waiting: list[bytes] = []
        self._size = 0  # bytes that wait
        self._lost = 0  # lines dropped after those that wait
        self._unwritten = 0  # lines that nothing took, as while the disk is full
        self._writing = False
        self._ends = False
        self._hurry = threading.Event()  # the next lines are not gathered
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queues a record, which is written at once: what it tells may come before the end of the process."""
        try:
            self.put(self.format(record))
            self._hurry.set()
        except Exception:  # noqa: BLE001 - as logging.Handler does: report it, and go on
            self.handleError(record)

    def put(self, line: str) -> None:
        """Queues a line, or drops it if there is no room."""
        data = f"{line}\n".encode(errors="backslashreplace")
        with self._queue_lock:  # not by way of the condition, whose methods are Python's
            if self._ends:
                return
            if self._waiting and self._size + len(data) > self._room:
                self._lost += 1
                return
            self._waiting.append(data)
            self._size += len(data)
            if not self._writing:
                self._changed.notify_all()

    def drain(self, patience: float) -> bool:
        """Waits at most `patience` seconds until everything is written; returns whether it is."""
        self._hurry.set()
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._writing, patience)

    def flush(self) -> None:
        """Waits for unwritten lines, for a second at most; `logging.shutdown` calls this at the end."""
        self.drain(self.patience)

    def close(self) -> None:
        """Takes no more lines; flush first, as `logging.shutdown` does, or unwritten ones are lost."""
        is_written = self.drain(0)
        with self._changed:
            self._ends = True
            self._changed.notify_all()
        if is_written:
            self._thread.join(1.0)  # it has nothing left to do
        super().close()

    def _run(self) -> None:
        while lines := self._next():
            self._write(lines)
            # Lines that arrive meanwhile are written together, and do not wake the thread one by one.
            self._hurry.wait(LOG_GATHERED_FOR)
            self._hurry.clear()

    def _write(self, lines: Sequence[bytes]) -> None:
        before = self._unwritten
        lines = [self._report(before, "nothing took them, as on a full disk"), *lines] if before else lines
        self._unwritten = self._output.write(lines)
        if before and self._unwritten == len(lines):
            self._unwritten += before - 1  # the report itself is no loss

    def _report(self, count: int, reason: str) -> bytes:
        return f"{self.format(_lost(count, reason))}\n".encode()

    def _next(self) -> Sequence[bytes]:
        with self._changed:
            self._writing = False
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._waiting or self._ends)
            self._writing = bool(self._waiting)
            lines, self._waiting, self._size = self._waiting, [], 0
            if self._lost:
                lines.append(self._report(self._lost, "they came faster than they were read"))
                self._lost = 0
            return lines


class StreamOutput:
    """Writes to a descriptor; if its file was renamed or removed, as logrotate does, to a new one of the same name."""

    def __init__(self, descriptor: int, file: Path | None = None) -> None:
        self._descriptor = descriptor
        self._file = file
        self._writable = select.poll()
        self._writable.register(descriptor, select.POLLOUT)
        try:
            is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
        except OSError:  # it is closed
            is_pipe = True
        # What one write can take without another process's lines in between: a file is locked, and Linux takes so much
        # as one piece for a socket; for a pipe see POSIX, `write`.
        self._most = select.PIPE_BUF if is_pipe else 32 * 1024
        self._is_cut = False  # whether a part of a line was written last

    def write(self, lines: Sequence[bytes]) -> int:
        """Writes lines; waits while the reader is slow. Returns how many a full disk, or no reader, did not take."""
        if self._file is not None:
            self._follow(self._file)
        return sum(self._write(piece) for piece in _pieces(lines, self._most))

    def _follow(self, file: Path) -> None:
        before = os.fstat(self._descriptor)
        try:
            with suppress(FileNotFoundError):
                if os.path.samestat(file.stat(), before):
                    return
            # No link: whoever may write to the folder must not choose another file for it.
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            opened = os.open(file, flags, stat.S_IMODE(before.st_mode))
        except OSError as error:
            self._file = None
            _LOG.error("the log goes on in the file that was renamed: `%s` cannot be opened: %s", file, error.strerror)
            return
        # What writes by itself, such as a traceback at the end of the process, follows too.
        os.dup2(opened, self._descriptor)
        os.close(opened)

    def _write(self, piece: bytes) -> int:
        piece = b"\n" + piece if self._is_cut else piece
        left = memoryview(piece)
        while left:
            try:
                left = left[os.write(self._descriptor, left) :]
            except BlockingIOError:
                # Another process that shares the descriptor may have made it non-blocking.
                self._writable.poll()
            except OSError:
                # What follows a line that was cut must not be read as its end.
                if 0 < len(left) < len(piece):
                    self._is_cut = piece[-len(left) - 1] != ord("\n")
                return bytes(left).count(b"\n") - (self._is_cut and len(left) == len(piece))
        self._is_cut = False
        return 0


def _pieces(lines: Sequence[bytes], most: int) -> Iterator[bytes]:
    """Joins lines up to a size."""
    piece: list[bytes] = []
    size = 0
    for line in lines:
        if piece and size + len(line) > most:
            yield b"".join(piece)
            piece, size = [], 0
        piece.append(line)
        size += len(line)
    if piece:
        yield b"".join(piece)
