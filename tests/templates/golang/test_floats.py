import math

import pytest

from tornado_proxy.templates.golang.floats import format_float, shortest_digits


@pytest.mark.parametrize(
    ("value", "verb", "precision", "text"),
    [
        (0.0, "g", -1, "0"),
        (-0.0, "g", -1, "-0"),
        (1.5, "g", -1, "1.5"),
        (100000.0, "g", -1, "100000"),
        (1e6, "g", -1, "1e+06"),
        (123456789.0, "g", -1, "1.23456789e+08"),
        (0.0001, "g", -1, "0.0001"),
        (0.00001, "g", -1, "1e-05"),
        (1e100, "g", -1, "1e+100"),
        (1e21, "f", -1, "1" + "0" * 21),
        (0.25, "f", -1, "0.25"),
        (12.5, "e", -1, "1.25e+01"),
        (0.0, "e", -1, "0e+00"),
        (3.0, "e", -1, "3e+00"),
        (2.5, "f", 0, "2"),
        (3.14159, "f", 2, "3.14"),
        (1234.5, "e", 3, "1.234e+03"),
        (1234.5, "E", 1, "1.2E+03"),
        (1234.5, "g", 3, "1.23e+03"),
        (1234.5, "G", 2, "1.2E+03"),
        (100.0, "g", 3, "100"),
        (1.0, "b", -1, "4503599627370496p-52"),
        (0.0, "b", -1, "0p-1074"),
        (1.0, "x", -1, "0x1p+00"),
        (2.5, "X", -1, "0X1.4P+01"),
        (0.0, "x", 2, "0x0.00p+00"),
        (0.1, "x", 3, "0x1.99ap-04"),
        (1.9999, "x", 0, "0x1p+01"),
        (1.5, "x", 0, "0x1p+01"),
        (2.0**-1074, "x", -1, "0x1p-1074"),
        (1.0, "x", 15, "0x1." + "0" * 15 + "p+00"),
        (math.inf, "g", -1, "+Inf"),
        (-math.inf, "f", 2, "-Inf"),
        (math.nan, "e", 3, "NaN"),
    ],
)
def test_floats_are_written_in_each_of_go_s_forms(value, verb, precision, text):
    """With as many digits as asked for, or as few as read back as the same number."""
    assert format_float(value, verb, precision) == text


def test_the_fewest_digits_say_where_the_point_is():
    """Before them, after them, or in them."""
    assert shortest_digits(0.001) == ("1", -2)
    assert shortest_digits(12.5) == ("125", 2)
    assert shortest_digits(1500.0) == ("15", 4)
    assert shortest_digits(0.0) == ("", 1)
