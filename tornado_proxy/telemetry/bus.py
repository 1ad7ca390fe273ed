"""The bus: every event to every listener, and one that fails stops no other."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from tornado_proxy.telemetry.events import Event

Listener = Callable[[Event], None]
"""Something that wants to know; it runs on the event loop, so it must not block."""

_LOG = logging.getLogger(__name__)


class Bus:
    """Who listens, in order."""

    def __init__(self, listeners: Iterable[Listener] = ()) -> None:
        self._listeners = list(listeners)

    def add(self, listener: Listener) -> None:
        """Tell one more from now on."""
        self._listeners.append(listener)

    def tell(self, event: Event) -> None:
        """Tell everyone what happened; never raises."""
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:  # noqa: BLE001 - whatever a listener does wrong, the request and the others go on
                _LOG.exception("a listener failed on `%s`", type(event).__name__)
