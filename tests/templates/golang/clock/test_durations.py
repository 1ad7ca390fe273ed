import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.templates.golang.clock.durations import DurationError, format_duration, parse_duration

SECOND = 10**9


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("1h30m", 5400 * SECOND),
        ("-1.5s", -1_500_000_000),
        ("+1m", 60 * SECOND),
        (".5m", 30 * SECOND),
        ("1.s", SECOND),
        ("1h1h", 7200 * SECOND),
        ("3µs", 3000),
        ("3μs", 3000),
        ("2us1ns", 2001),
        ("0.000000000000000000001h", 0),
        ("1.99999999999999999999999s", 2 * SECOND),
        ("-9223372036854775808ns", -(2**63)),
    ],
)
def test_durations_are_read(text, nanoseconds):
    """Numbers with units, one after the other."""
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "1",
        "x",
        "1d",
        ".s",
        "1h-1m",
        "1 h",
        "9999999h",
        "9223372036854775808ns",
        "9" * 50 + "s",
        "9000000000s9000000000s",
    ],
)
def test_what_is_no_duration_is_refused(text):
    """Or too long a one."""
    with pytest.raises(DurationError):
        parse_duration(text)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1100, "1.1µs"),
        (2_200_000, "2.2ms"),
        (1_500_000_000, "1.5s"),
        (60 * SECOND, "1m0s"),
        (3661 * SECOND + 1, "1h1m1.000000001s"),
        (-5400 * SECOND, "-1h30m0s"),
    ],
)
def test_durations_are_written(nanoseconds, text):
    """Below a second in a smaller unit."""
    assert format_duration(nanoseconds) == text


@given(st.integers(-(2**53), 2**53))
def test_what_is_written_is_read_again(nanoseconds):
    """Whatever it is."""
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds
