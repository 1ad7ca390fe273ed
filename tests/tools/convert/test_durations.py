from decimal import Decimal

import pytest

from tornado_proxy.tools.convert.durations import seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("15m", 900),
        ("1h30m", 5400),
        ("+1.5s", "1.5"),
        ("1.s", 1),
        (".5s", "0.5"),
        ("300ms", "0.3"),
        ("1µs", "0.000001"),
        ("5ns", "0.000000005"),
    ],
)
def test_a_duration_is_read_as_go_reads_it(text, expected):
    """Parts with units, one after another."""
    assert seconds(text) == Decimal(expected)


@pytest.mark.parametrize("text", ["", "5", "1d", "-1s", "1h 2m", "s", "1.5", ".s"])
def test_what_is_no_duration_is_none(text):
    """A number without a unit is none, and neither is a negative one here."""
    assert seconds(text) is None
