from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.config.quantities import DAY, GIB, KIB, MIB, Duration, Size
from tornado_proxy.config.values import InvalidValue


@pytest.mark.parametrize(
    ("written", "size"),
    [
        (0, 0),
        (1234, 1234),
        ("512B", 512),
        ("1KB", 1000),
        ("1KiB", KIB),
        ("100MB", 100_000_000),
        ("64 MiB", 64 * MIB),
        ("1.5GiB", 3 * GIB // 2),
        ("2TB", 2 * 10**12),
        ("1TiB", 1024 * GIB),
    ],
)
def test_size_is_read_as_bytes(written, size):
    """A number is bytes; units are decimal, or binary with an `i`."""
    assert Size(0).read(written) == size


@pytest.mark.parametrize("written", ["5", "5G", "5gib", "GiB", "-1KB", "1e3B", "", True, 1.5, None, [], "9" * 16 + "B"])
def test_what_is_no_size_is_refused(written):
    """Any other notation is refused, with examples of the right one."""
    with pytest.raises(InvalidValue, match="is not a size"):
        Size(0).read(written)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [(30, 30.0), (0.5, 0.5), ("30s", 30.0), ("500ms", 0.5), ("5m", 300.0), ("1h30m", 5400.0), ("1.5h", 5400.0), ("7d", 604800.0)],
)  # fmt: skip
def test_duration_is_read_as_seconds(written, seconds):
    """A number is seconds; units follow one another, as Go's durations are written."""
    assert Duration(0).read(written) == seconds


@pytest.mark.parametrize("written", ["30", "soon", "5 m", "-5s", "1w", "", True, None, {}])
def test_what_is_no_duration_is_refused(written):
    """Any other notation is refused, with examples of the right one."""
    with pytest.raises(InvalidValue, match="is not a duration"):
        Duration(0).read(written)


@pytest.mark.parametrize(
    ("bounds", "written", "message"),
    [
        (Size(5 * MIB, 5 * GIB), "1MB", "is less than 5MiB"),
        (Size(5 * MIB, 5 * GIB), 6 * GIB, "is more than 5GiB"),
        (Size(0), -1, "is less than 0"),
        (Size(1500), 1, "is less than 1500B"),
        (Duration(1, 7 * DAY), 0, "is less than 1s"),
        (Duration(0.1, DAY), "1ms", "is less than 100ms"),
        (Duration(1, 7 * DAY), "8d", "is more than 7d"),
        (Duration(1, 90), 91, "is more than 90s"),
    ],
)
def test_bounds_are_told_in_units(bounds, written, message):
    """A quantity out of bounds is refused with the bound as people write it."""
    with pytest.raises(InvalidValue) as caught:
        bounds.read(written)
    assert caught.value.message == message


@pytest.mark.parametrize("written", [5 * MIB, "5MiB", 5 * GIB, "5GiB"])
def test_bounds_belong_to_what_is_allowed(written):
    """The bounds themselves are within."""
    assert Size(5 * MIB, 5 * GIB).read(written) in (5 * MIB, 5 * GIB)


def test_large_durations_keep_their_fraction():
    """Decimal arithmetic adds no error of its own."""
    assert Duration(0).read("100d0.1s") == 8640000.1


@given(st.text(max_size=12))
def test_no_string_makes_it_raise_anything_else(text):
    """Whatever a string says, it is a quantity or a misfit."""
    for kind in (Size(0), Duration(0)):
        with suppress(InvalidValue):
            assert kind.read(text) >= 0


def test_json_schema_has_bounds_and_units():
    """An editor knows the bounds of a plain number, and how units are written."""
    assert Size(1, 2).json_schema()["anyOf"][0] == {"type": "integer", "minimum": 1, "maximum": 2}
    assert Size(1).json_schema()["anyOf"][0] == {"type": "integer", "minimum": 1}
    assert Duration(0.5, 2).json_schema()["anyOf"][0] == {"type": "number", "minimum": 0.5, "maximum": 2}
    assert re.search(Size(1).json_schema()["anyOf"][1]["pattern"], "5GiB")
