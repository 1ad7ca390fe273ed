"""Tests of events and of the bus."""

from __future__ import annotations

import asyncio

from tornado_proxy.telemetry.events import Bus, RequestRecord, Retired, Served, SignInTried


def _fail(event):
    message = "the listener is broken"
    raise RuntimeError(message)


def test_listeners_are_called_in_order():
    """Listeners receive an event in the order in which they were added."""
    received = []
    bus = Bus()
    bus.add(lambda event: received.append(("first", event)), Retired)
    bus.add(lambda event: received.append(("second", event)), Retired, SignInTried)
    bus.emit(Retired(3))
    assert received == [("first", Retired(3)), ("second", Retired(3))]


def test_a_failing_listener_does_not_stop_the_next(caplog):
    """An exception of a listener is logged, and the next listener still receives the event."""
    received = []
    bus = Bus()
    bus.add(_fail, Retired)
    bus.add(received.append, Retired)
    bus.emit(Retired(3))
    assert received == [Retired(3)]
    assert "a listener failed on `Retired`" in caplog.text


def test_a_listener_receives_its_kinds_of_events_only():
    """A listener doesn't receive an event of another kind."""
    received = []
    bus = Bus()
    bus.add(received.append, SignInTried)
    bus.emit(Retired(3))
    assert received == []


SERVED = [Served(RequestRecord(f"r{number}", 0.0, "::1", "GET", "h", "/a", 1), 200, 3, 0, 0.1) for number in range(3)]


async def test_the_requests_of_a_turn_are_passed_on_together():
    """Each listener gets all of them in order, then the next listener does."""
    received = []
    bus = Bus()
    bus.add(lambda event: received.append(("first", event)), Served)
    bus.add(lambda event: received.append(("second", event)), Served)
    for each in SERVED:
        bus.emit_soon(each)
    assert received == []
    await asyncio.sleep(0)
    assert received == [(listener, each) for listener in ("first", "second") for each in SERVED]


async def test_what_waits_comes_before_any_other_event():
    """A generation has retired after its last request."""
    received = []
    bus = Bus()
    bus.add(received.append, Served, Retired)
    bus.emit_soon(SERVED[0])
    bus.emit_soon(Retired(3))
    assert received == [SERVED[0], Retired(3)]
    bus.emit_soon(SERVED[1])
    bus.flush()
    await asyncio.sleep(0)
    assert received == [SERVED[0], Retired(3), SERVED[1]]


async def test_a_listener_that_fails_gets_the_other_requests_of_the_turn():
    """Nothing is lost with the event that it fails on."""
    received = []
    bus = Bus()
    bus.add(lambda event: _fail(event) if event == SERVED[0] else received.append(event), Served)
    for each in SERVED:
        bus.emit_soon(each)
    await asyncio.sleep(0)
    assert received == SERVED[1:]
