"""Events are values, and the bus passes them to every listener."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from tornado_proxy.telemetry.events import Bus, RequestRecord, Retired, Served, SignInTried


def test_an_event_cannot_be_changed():
    """Events are frozen."""
    with pytest.raises(FrozenInstanceError):
        Retired(1).generation = 2


def test_events_are_compared_by_value():
    """Two events that say the same are the same."""
    asked = RequestRecord("r1", 0.0, "::1", "GET", "h", "/a", 1)
    assert Served(asked, 200, 3, 0, 0.1) == Served(asked, 200, 3, 0, 0.1)


def _broken(event):
    message = "the listener is broken"
    raise RuntimeError(message)


def test_every_listener_hears_in_order():
    """Listeners hear an event in the order in which they were added."""
    heard = []
    bus = Bus()
    bus.add(lambda event: heard.append(("first", event)), Retired)
    bus.add(lambda event: heard.append(("second", event)), Retired, SignInTried)
    bus.emit(Retired(3))
    assert heard == [("first", Retired(3)), ("second", Retired(3))]


def test_a_failing_listener_stops_no_other(caplog):
    """What a listener raises is logged, and the next one hears all the same."""
    heard = []
    bus = Bus()
    bus.add(_broken, Retired)
    bus.add(heard.append, Retired)
    bus.emit(Retired(3))
    assert heard == [Retired(3)]
    assert "a listener failed on `Retired`" in caplog.text


def test_a_listener_hears_only_what_it_asked_for():
    """An event of another kind does not reach it."""
    heard = []
    bus = Bus()
    bus.add(heard.append, SignInTried)
    bus.emit(Retired(3))
    assert heard == []
