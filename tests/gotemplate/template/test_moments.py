import pytest

from gotemplate.template.moments import Moment, format_moment, parse_moment
from gotemplate.template.values import ExecutionError

AFTERNOON = Moment.of((2020, 2, 9), (13, 4, 5), 120_000_000)


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("06/1/2 3:4:5", "20/2/9 1:4:5"),
        ("Monday Mon January Jan", "Sunday Sun February Feb"),
        ("_2|02|__2|002", " 9|09| 40|040"),
        ("03 PM pm", "01 PM pm"),
        ("05.000 05.999 05,9 05.0000000000", "05.120 05.12 05,1 05.1200000000"),
        ("MST -0700 Z07:00 Z0700", "UTC +0000 Z Z"),
        ("Janet Monkey", "Janet Monkey"),
    ],
)
def test_a_moment_is_written_in_a_layout(layout, text):
    """A part of the layout that isn't part of the reference time stands for itself."""
    assert format_moment(AFTERNOON, layout) == text


@pytest.mark.parametrize(
    ("offset", "zone", "layout", "text"),
    [
        (-12600, "", "-0700 -07:00 -07 MST", "-0330 -03:30 -03 -0330"),
        (3601, "X", "Z070000 Z07:00:00 Z07 MST", "+010001 +01:00:01 +01 X"),
        (-30, "", "-070000", "+000030"),
    ],
)
def test_zones_are_written_as_offsets_or_names(offset, zone, layout, text):
    """The offset stands for the name of a zone without a name."""
    assert format_moment(Moment(0, 0, offset, zone), layout) == text


def test_years_may_have_any_size_and_sign():
    assert format_moment(Moment.of((-5, 1, 1)), "2006 06") == "-0005 05"
    assert format_moment(Moment.of((12345, 1, 1)), "2006") == "12345"


FULL_LAYOUT = "2006-01-02 15:04:05.999999999 -0700 MST"


@pytest.mark.parametrize(
    ("layout", "text", "full_text"),
    [
        ("06 1 2", "69 3 4", "1969-03-04 00:00:00 +0000 UTC"),
        ("06 Jan _2", "68 feb  1", "2068-02-01 00:00:00 +0000 UTC"),
        ("Monday, January 2", "sunday, MARCH 1", "0000-03-01 00:00:00 +0000 UTC"),
        ("3pm", "12am", "0000-01-01 00:00:00 +0000 UTC"),
        ("3PM", "12PM", "0000-01-01 12:00:00 +0000 UTC"),
        ("05.000", "06.125", "0000-01-01 00:00:06.125 +0000 UTC"),
        ("05,999", "06,5", "0000-01-01 00:00:06.5 +0000 UTC"),
        ("05", "06.1234567891", "0000-01-01 00:00:06.123456789 +0000 UTC"),
        ("2006 002", "2020 060", "2020-02-29 00:00:00 +0000 UTC"),
        ("2006 __2", "2021  60", "2021-03-01 00:00:00 +0000 UTC"),
        ("2006Z07:00", "2020+02:30", "2020-01-01 00:00:00 +0230 +0230"),
        ("2006 MST -07", "2020 UTC +14", "2020-01-01 00:00:00 +0000 UTC"),
        ("2006 -07:00:00", "2020 -00:00:01", "2020-01-01 00:00:00 +0000 UTC"),
        ("2006 MST", "2020 GMT-08", "2019-12-31 16:00:00 -0800 GMT-08"),
        ("2006 -0700 MST", "2020 +0200 EET", "2020-01-01 00:00:00 +0200 EET"),
        ("2006 MST", "2020 WITA", "2020-01-01 00:00:00 +0000 WITA"),
        ("2006 MST", "2020 ChST", "2020-01-01 00:00:00 +0000 ChST"),
        ("2006 MST", "2020 +03", "2020-01-01 00:00:00 +0000 +03"),
        ("2006 ", "2020", "2020-01-01 00:00:00 +0000 UTC"),
    ],
)
def test_a_moment_is_read_in_a_layout(layout, text, full_text):
    """A part that the layout lacks has its first value."""
    assert format_moment(parse_moment(layout, text), FULL_LAYOUT) == full_text


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("2006-01-02", "2021-02-29"),
        ("2006-01-02", "2020-13-01"),
        ("2006-01-02", "2020-01-01x"),
        ("2006", "20x0"),
        ("15", "24"),
        ("Jan", "Jax"),
        ("Jan", "ſep"),
        ("2006 002", "2021 366"),
        ("2006 002", "2021 000"),
        ("2006 002 01", "2021 032 03"),
        ("2006 002 02", "2021 032 03"),
        ("-0700", "+2500"),
        ("-0700", "+0061"),
        ("-0700", "0200"),
        ("MST", "ABCD"),
        ("MST", "ABCDEF"),
        ("MST", "+99"),
        ("MST", "GMT+99"),
        ("2006 x", "2020x"),
    ],
)
def test_a_text_that_does_not_match_its_layout_is_refused(layout, text):
    with pytest.raises(ExecutionError):
        parse_moment(layout, text)
