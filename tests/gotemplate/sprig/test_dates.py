import pytest
from go_programs import failure, rendered
from hypothesis import given
from hypothesis import strategies as st

from gotemplate.sprig.dates import TIME, format_duration, parse_duration, time_since
from gotemplate.template.moments import ZERO, Moment
from gotemplate.template.values import ExecutionError, Struct

DAY = '(toDate "2006-01-02" "2020-02-29")'


def test_months_and_durations_have_types_of_their_own():
    assert rendered(f'{{{{ printf "%d %T" {DAY}.Month {DAY}.Month }}}}') == "2 time.Month"
    assert rendered(f'{{{{ printf "%T" ({DAY}.Sub {DAY}) }}}}') == "time.Duration"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('date "2006" nil', "the present time is not available"),
        ('date "2006" "x"', "the present time is not available"),
        (f"durationRound {DAY}", "the present time is not available"),
        ('dateInZone "2006" 0 "Europe/Berlin"', "the time zone `Europe/Berlin` is not supported, only UTC"),
        ('mustToDate "2006" "x"', "`x` does not match its layout"),
        (f'mustDateModify "x" {DAY}', "invalid duration `x`"),
        ("htmlDate 9223372036854775807", "the time 9223372036854775807 is out of range"),
        ('unixEpoch "x"', "expected `time.Time`, found a string"),
        ("unixEpoch .Missing", "expected `time.Time`, found no value"),
    ],
)
def test_the_present_time_and_other_zones_are_refused(call, message):
    """A key must not depend on the clock or on the time zones of a machine."""
    assert failure(f"{{{{ {call} }}}}").startswith(message)


SECOND = 10**9


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("1h30m", 5400 * SECOND),
        ("-1.5s", -1_500_000_000),
        ("+1m", 60 * SECOND),
        ("1.s", SECOND),
        ("3μs", 3000),
        ("2us1ns", 2001),
        ("1.99999999999999999999999s", 2 * SECOND),
        ("-9223372036854775808ns", -(2**63)),
    ],
)
def test_durations_are_read(text, nanoseconds):
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    "text",
    [
        "", "-", "1", "x", "1d", ".s", "1h-1m", "1 h", "9999999h", "9223372036854775808ns", "9" * 50 + "s",
        "9000000000s9000000000s",
    ],
)  # fmt: skip
def test_invalid_durations_are_refused(text):
    with pytest.raises(ExecutionError):
        parse_duration(text)


@pytest.mark.parametrize(
    ("nanoseconds", "text"), [(0, "0s"), (3661 * SECOND + 1, "1h1m1.000000001s"), (-5400 * SECOND, "-1h30m0s")]
)
def test_durations_are_written(nanoseconds, text):
    assert format_duration(nanoseconds) == text


@given(st.integers(-(2**53), 2**53))
def test_written_durations_are_read_as_the_same(nanoseconds):
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds


_AT = '{{ $t := toDate "2006-01-02 15:04:05" "2020-02-29 13:47:31" }}'


@pytest.mark.parametrize("literal", ['"1h"', "1.5", "nil"])
def test_a_duration_is_not_any_literal(literal):
    """Only a whole number is a duration, in nanoseconds."""
    assert "expected `time.Duration`" in failure(f"{_AT}{{{{ $t.Add {literal} }}}}")


@pytest.mark.parametrize(
    ("value", "since"),
    [
        (Struct(TIME, Moment(100, 400_000_000)), b"1h0m0s"),
        (3_600, b"1m40s"),
        (3_800, b"-1m40s"),
        (Struct(TIME, ZERO), b"2562047h47m16.854775807s"),
    ],
)
def test_the_time_since_a_moment_is_rounded_to_seconds(value, since):
    """As in Go, a time that does not fit into a duration is the longest one, without rounding."""
    assert time_since(value, Moment(3_700)) == since
