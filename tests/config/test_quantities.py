import re
from contextlib import suppress

import pytest
from config_schema import bounds_schema
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.config.values import DAY, GIB, KIB, MIB, Duration, InvalidValue, Size


@pytest.mark.parametrize(
    ("value", "size"),
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
def test_a_size_is_read_as_bytes(value, size):
    assert Size(0).read(value) == size


@pytest.mark.parametrize("value", ["5", "5G", "5gib", "GiB", "-1KB", "1e3B", "", True, 1.5, None, [], "9" * 16 + "B"])
def test_an_invalid_size_is_refused(value):
    with pytest.raises(InvalidValue, match="is not a size"):
        Size(0).read(value)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(30, 30.0), (0.5, 0.5), ("30s", 30.0), ("500ms", 0.5), ("5m", 300.0), ("1h30m", 5400.0), ("1.5h", 5400.0), ("7d", 604800.0)],
)  # fmt: skip
def test_a_duration_is_read_as_seconds(value, seconds):
    assert Duration(0).read(value) == seconds


@pytest.mark.parametrize("value", ["30", "soon", "5 m", "-5s", "1w", "", True, None, {}])
def test_an_invalid_duration_is_refused(value):
    with pytest.raises(InvalidValue, match="is not a duration"):
        Duration(0).read(value)


@pytest.mark.parametrize(
    ("bounds", "value", "message"),
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
def test_bounds_are_reported_with_units(bounds, value, message):
    with pytest.raises(InvalidValue) as caught:
        bounds.read(value)
    assert caught.value.message == message


@given(st.text(max_size=12))
def test_any_text_is_a_quantity_or_an_invalid_value(text):
    for quantity in (Size(0), Duration(0)):
        with suppress(InvalidValue):
            assert quantity.read(text) >= 0


def test_the_json_schema_has_bounds_and_units():
    assert bounds_schema(Size(1, 2))["anyOf"][0] == {"type": "integer", "minimum": 1, "maximum": 2}
    assert bounds_schema(Size(1))["anyOf"][0] == {"type": "integer", "minimum": 1}
    assert bounds_schema(Duration(0.5, 2))["anyOf"][0] == {"type": "number", "minimum": 0.5, "maximum": 2}
    assert re.search(bounds_schema(Size(1))["anyOf"][1]["pattern"], "5GiB")
