"""The bus tells everyone."""

from __future__ import annotations

from tornado_proxy.telemetry.bus import Bus
from tornado_proxy.telemetry.events import Retired


def _broken(event):
    message = "the listener is broken"
    raise RuntimeError(message)


def test_every_listener_hears_in_order():
    """Listeners hear an event in the order in which they were added."""
    heard = []
    bus = Bus([lambda event: heard.append(("first", event))])
    bus.add(lambda event: heard.append(("second", event)))
    bus.tell(Retired(3))
    assert heard == [("first", Retired(3)), ("second", Retired(3))]


def test_a_failing_listener_stops_no_other(caplog):
    """What a listener raises is logged, and the next one hears all the same."""
    heard = []
    Bus([_broken, heard.append]).tell(Retired(3))
    assert heard == [Retired(3)]
    assert "a listener failed on `Retired`" in caplog.text
