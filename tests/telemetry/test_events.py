"""Events are values."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from tornado_proxy.telemetry.events import Asked, Retired, Served


def test_an_event_cannot_be_changed():
    """What happened stays as it was told."""
    with pytest.raises(FrozenInstanceError):
        Retired(1).generation = 2


def test_events_are_compared_by_value():
    """Two events that say the same are the same."""
    asked = Asked("r1", 0.0, "::1", "GET", "h", "/a", 1)
    assert Served(asked, 200, 3, 0, 0.1) == Served(asked, 200, 3, 0, 0.1)
