"""The service's own log: defects with their traceback, reloads, diagnostics, shortages of system resources."""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterable, Iterator
from typing import get_args

from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.storage.probe import ProbeResult
from tornado_proxy.telemetry.access_log import Field
from tornado_proxy.telemetry.events import (
    Bus,
    Failed,
    Probed,
    Reloaded,
    ReloadFailed,
    ReloadRefused,
    Restored,
    Retired,
)

EVENTS = "tornado_proxy.events"
_LOG = logging.getLogger(EVENTS)

_LEVELS = {Severity.ERROR: logging.ERROR, Severity.WARNING: logging.WARNING, Severity.INFO: logging.INFO}
_NUMBERS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


ServiceEvent = Failed | Probed | Reloaded | ReloadFailed | ReloadRefused | Restored | Retired


def log_service_events(bus: Bus) -> None:
    """Logs the events of the service on a bus; those of requests go to the access log."""
    bus.add(service_log, *get_args(ServiceEvent))


def service_log(event: ServiceEvent) -> None:
    """Logs an event of the service."""
    match event:
        case Failed(request, error):
            _LOG.error("request `%s` failed", request.request_id, exc_info=error)
        case Reloaded():
            _log_reload(event)
        case ReloadRefused(generation, diagnostics):
            _LOG.error("an edit was refused: generation %d stays in force", generation)
            log_diagnostics(diagnostics)
        case ReloadFailed(generation, error):
            _LOG.error("a reload failed: generation %d stays in force", generation, exc_info=error)
        case Restored(generation):
            _LOG.info("the bad edit was reverted: generation %d is in force", generation)
        case Retired(generation):
            _LOG.debug("generation %d has retired", generation)
        case Probed(result, is_news):
            if is_news:
                _log_probe(result)


def _log_reload(event: Reloaded) -> None:
    noun = "rewrite" if event.rewrites == 1 else "rewrites"
    _LOG.info(
        "generation %d is in force: %d %s, built in %.3f s", event.generation, event.rewrites, noun, event.seconds
    )
    for line in event.changes:
        _LOG.info("%s", line)
    for name in event.kept_back:
        _LOG.warning("`%s` changed, and needs a restart to take effect", name)
    if event.diagnostics:
        log_diagnostics(event.diagnostics)


def _log_probe(result: ProbeResult) -> None:
    if (problem := result.problem) is None:
        _LOG.info("target `%s`: the bucket `%s` can be used", result.target, result.bucket)
    else:
        text = "target `%s`: the bucket `%s` cannot be used: %s (help: %s)"
        _LOG.error(text, result.target, result.bucket, problem.message, problem.help)


def log_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Logs each at its severity, with its fields in the record's `fields`."""
    for each in diagnostics:
        advice = f" (help: {' '.join(each.help.split())})" if each.help else ""
        _LOG.log(_LEVELS[each.severity], "%s%s", each.line, advice, extra={"fields": diagnostic_fields(each)})


def diagnostic_fields(diagnostic: Diagnostic) -> dict[str, Field]:
    """The fields of a diagnostic, fit for JSON; line and column count from 1."""
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


def shortage(error: BaseException | None) -> str | None:
    """The system's message if an error was raised for lack of descriptors or memory, else None."""
    return next((each.strerror for each in _chain(error) if isinstance(each, OSError) and each.errno in _NUMBERS), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and its causes."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        yield error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
