import pytest

from tornado_proxy.templates.golang.clock.layouts import elements, format_moment
from tornado_proxy.templates.golang.clock.moments import Moment

AFTERNOON = Moment.of((2020, 2, 9), (13, 4, 5), 120_000_000)
MORNING = Moment.of((2020, 2, 9), (0, 4, 5))


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("2006-01-02 15:04:05", "2020-02-09 13:04:05"),
        ("06/1/2 3:4:5", "20/2/9 1:4:5"),
        ("Monday Mon January Jan", "Sunday Sun February Feb"),
        ("_2|02|__2|002", " 9|09| 40|040"),
        ("03 PM pm", "01 PM pm"),
        ("05.000 05.999 05,9 05.0000000000", "05.120 05.12 05,1 05.1200000000"),
        ("MST -0700 Z07:00 Z0700", "UTC +0000 Z Z"),
        ("_2006", "_2020"),
        ("Janet Monkey", "Janet Monkey"),
        ("5.05", "5.05"),
        ("", ""),
        ("007 x", "007 x"),
    ],
)
def test_a_moment_is_written_as_the_reference_time_would_be(layout, text):
    """What is no part of that time stands for itself."""
    assert format_moment(AFTERNOON, layout) == text


@pytest.mark.parametrize(("layout", "text"), [("3PM", "12AM"), ("3pm", "12am"), ("05.999", "05"), ("15.00", "00.00")])
def test_midnight_is_twelve_and_nothing_needs_no_decimals(layout, text):
    """Unless they are asked for with zeros."""
    assert format_moment(MORNING, layout) == text


@pytest.mark.parametrize(
    ("offset", "zone", "layout", "text"),
    [
        (-12600, "", "-0700 -07:00 -07 MST", "-0330 -03:30 -03 -0330"),
        (3601, "X", "Z070000 Z07:00:00 Z07 MST", "+010001 +01:00:01 +01 X"),
        (-30, "", "-070000", "+000030"),
    ],
)
def test_zones_are_offsets_or_names(offset, zone, layout, text):
    """An offset without a name is written instead of it."""
    assert format_moment(Moment(0, 0, offset, zone), layout) == text


def test_years_may_have_any_size_and_sign():
    """Four digits at least."""
    assert format_moment(Moment.of((-5, 1, 1)), "2006 06") == "-0005 05"
    assert format_moment(Moment.of((12345, 1, 1)), "2006") == "12345"


def test_a_layout_is_literal_text_and_elements():
    """The last element is an empty one."""
    assert list(elements("on 2006, 15h")) == [("on ", "2006"), (", ", "15"), ("h", "")]
