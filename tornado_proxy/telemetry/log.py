"""The lines of the log: one for each request, as `key=value` pairs or JSON, and one for each event of the service."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Literal, get_args

import msgspec

from tornado_proxy.rules.diagnostic import Diagnostic, Severity, counted
from tornado_proxy.storage.probe import BucketProblem, ProbeResult
from tornado_proxy.telemetry.events import (
    Bus,
    ErrorServed,
    Failed,
    Probed,
    ReadResumed,
    ReloadOutcome,
    ReloadReport,
    Retired,
    Served,
)

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


def access_log(
    form: Form, write: Callable[[str], None], error_mark: str = ""
) -> Callable[[Served | ErrorServed], None]:
    """Returns a listener that writes a line for each request, with a mark before that of a 5xx."""
    render = _text_line if form == "text" else lambda event: json_text(_fields(event))
    return lambda event: write(f"{error_mark if event.status >= 500 else ''}{render(event)}")


def _text_line(event: Served | ErrorServed) -> str:
    """`key=value` pairs in a fixed order; unknown ones are left out."""
    request = event.request
    asked = ("client", "method", "host", "path", "protocol")
    found = ("target", "key", "rule", "user")
    pairs = [
        ("time", moment(request.at)),
        ("id", request.request_id),
        *((name, getattr(request, name)) for name in asked),
        ("status", str(event.status)),
        ("sent", str(event.sent)),
        ("received", str(event.received)),
        ("ms", f"{event.seconds * 1000:.1f}"),
        *((name, getattr(request, name)) for name in found),
        ("generation", str(request.generation)),
        ("complete", "false" if _is_broken(event) else ""),
        ("reason", _reason(event)),
    ]
    return " ".join(f"{name}={_safe(text)}" for name, text in pairs if text)


def _fields(event: Served | ErrorServed) -> dict[str, Field]:
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
    if _is_broken(event):
        fields["complete"] = False
    if event.reason:
        fields["reason"] = _reason(event)
    return fields


def _is_broken(event: Served | ErrorServed) -> bool:
    return isinstance(event, Served) and not event.complete


def _reason(event: Served | ErrorServed) -> str | None:
    return event.reason and _USER_INFORMATION.sub("//", event.reason)


def _safe(text: str) -> str:
    return text if _BARE.fullmatch(text) and text.isprintable() else json_text(text)


EVENTS = "tornado_proxy.events"
_LOG = logging.getLogger(EVENTS)

_LEVELS = {Severity.ERROR: logging.ERROR, Severity.WARNING: logging.WARNING, Severity.INFO: logging.INFO}


ServiceEvent = Failed | Probed | ReadResumed | ReloadReport | Retired


def log_service_events(bus: Bus) -> None:
    """Logs the events of the service on a bus; requests go to the access log."""
    bus.add(service_log, *get_args(ServiceEvent))


def service_log(event: ServiceEvent) -> None:
    """Logs an event of the service."""
    match event:
        case Failed(request, error):
            _LOG.error("request `%s` failed", request.request_id, exc_info=error)
        case ReloadReport():
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
        case Retired(generation):
            _LOG.debug("generation %d has retired", generation)
        case ReadResumed(target, cause, outcome, key, received):
            # A slow client is no news, and while S3 is down there may be thousands of tries.
            is_news = outcome != "failed" and (cause, outcome) != ("slow", "ok")
            level = logging.INFO if is_news else logging.DEBUG
            text = "target `%s`: the read of `%s` was resumed after %d bytes: %s, %s"
            _LOG.log(level, text, target, key, received, cause, outcome)
        case Probed(ProbeResult(target, bucket, problem=None), True):
            _LOG.info("target `%s`: the bucket `%s` can be used", target, bucket)
        case Probed(ProbeResult(target, bucket, problem=BucketProblem(_, message, advice)), True):
            _LOG.error("target `%s`: the bucket `%s` cannot be used: %s (help: %s)", target, bucket, message, advice)


_RELOADS = {
    ReloadOutcome.LOADED: "generation {0.generation} is in force: {rewrites}, built in {0.seconds:.3f} s",
    ReloadOutcome.REVERTED: "the bad edit was reverted: generation {0.generation} is in force",
    ReloadOutcome.RENEWED: "secrets or certificates changed: generation {0.generation} has them",
    ReloadOutcome.REFUSED: "an edit was refused: generation {0.generation} stays in force",
    ReloadOutcome.FAILED: "a reload failed: generation {0.generation} stays in force",
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
