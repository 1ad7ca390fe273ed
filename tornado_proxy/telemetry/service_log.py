"""What the operator must know of the service itself: defects with their traceback, reloads and what kept one back."""

from __future__ import annotations

import logging

from tornado_proxy.telemetry.diagnostics import log_diagnostics
from tornado_proxy.telemetry.events import Event, Failed, Reloaded, ReloadFailed, ReloadRefused, Restored, Retired

_LOG = logging.getLogger("tornado_proxy")


def service_log(event: Event) -> None:
    """The listener that logs events of the service; those of requests are the access log's."""
    match event:
        case Failed(asked, error):
            _LOG.error("request `%s` met a defect", asked.request_id, exc_info=error)
        case Reloaded(generation, seconds, rewrites, _, changes, kept_back):
            _LOG.info("generation %d is in force: %d rewrites, built in %.3f s", generation, rewrites, seconds)
            for line in changes:
                _LOG.info("%s", line)
            for name in kept_back:
                _LOG.warning("`%s` has changed, which only a restart puts in force", name)
        case ReloadRefused(generation, diagnostics):
            _LOG.error("an edit was refused, generation %d stays in force", generation)
            log_diagnostics(diagnostics)
        case ReloadFailed(generation, error):
            _LOG.error("a reload met a defect, generation %d stays in force", generation, exc_info=error)
        case Restored(generation):
            _LOG.info("the files say what is in force again, generation %d", generation)
        case Retired(generation):
            _LOG.debug("generation %d has retired", generation)
        case _:
            pass
