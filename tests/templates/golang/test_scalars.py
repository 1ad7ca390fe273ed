import math

import pytest
from go_programs import budget

from tornado_proxy.templates.golang.scalars import Layout, format_float, shortest_digits


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


def _laid_out(method, *arguments, **flags):
    layout = Layout(budget())
    for name, value in flags.items():
        setattr(layout, name, value)
    getattr(layout, method)(*arguments)
    return b"".join(layout.buffer).decode()


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ({}, "42"),
        ({"width": 5}, "   42"),
        ({"width": 5, "minus": True}, "42   "),
        ({"width": 5, "zero": True}, "00042"),
        ({"width": 5, "zero": True, "minus": True}, "42   "),
        ({"plus": True}, "+42"),
        ({"space": True}, " 42"),
        ({"width": 5, "zero": True, "plus": True}, "+0042"),
        ({"precision": 4}, "0042"),
        ({"precision": 4, "width": 6}, "  0042"),
    ],
)
def test_integers_are_padded_and_signed(flags, text):
    """A precision is a least number of digits; zeros pad on the left only."""
    assert _laid_out("integer", 42, 10, "d", **flags) == text


@pytest.mark.parametrize(
    ("value", "base", "verb", "flags", "text"),
    [
        (-42, 16, "x", {}, "-2a"),
        (42, 16, "X", {"sharp": True}, "0X2A"),
        (5, 2, "b", {"sharp": True}, "0b101"),
        (8, 8, "o", {"sharp": True}, "010"),
        (8, 8, "o", {"sharp": True, "precision": 3}, "010"),
        (8, 8, "O", {}, "0o10"),
        (42, 10, "d", {"sharp": True}, "42"),
        (0, 10, "d", {"precision": 0, "width": 3, "zero": True}, "   "),
        (-5, 10, "d", {"width": 5, "zero": True}, "-0005"),
    ],
)
def test_integers_have_bases(value, base, verb, flags, text):
    """Their prefix shows with `#`."""
    assert _laid_out("integer", value, base, verb, **flags) == text


@pytest.mark.parametrize(
    ("value", "flags", "text"),
    [
        (42, {}, "U+002A"),
        (0x1F600, {"sharp": True}, "U+1F600 '😀'"),
        (10, {"sharp": True}, "U+000A"),
        (0xD800, {"sharp": True}, "U+D800"),
        (-1, {}, "U+FFFFFFFFFFFFFFFF"),
        (42, {"precision": 6, "width": 10, "zero": True}, "  U+00002A"),
    ],
)
def test_integers_are_code_points(value, flags, text):
    """With the character itself where it can be printed."""
    assert _laid_out("unicode", value, **flags) == text


@pytest.mark.parametrize(("value", "text"), [(65, "A"), (0x110000, "\ufffd"), (-1, "\ufffd"), (0xDC00, "\ufffd")])
def test_integers_are_characters(value, text):
    """U+FFFD where there is none."""
    assert _laid_out("character", value) == text
    assert _laid_out("quoted_character", value) == f"'{text}'"


def test_quoted_characters_can_be_ascii():
    """With a plus sign."""
    assert _laid_out("quoted_character", 0xE9, plus=True) == r"'\u00e9'"


@pytest.mark.parametrize(
    ("value", "flags", "text"),
    [
        ("héllo", {"precision": 2}, "hé"),
        ("hé", {"precision": 2}, "hé"),
        ("hé", {"width": 4}, "  hé"),
        ("a", {"width": 3, "zero": True}, "00a"),
        ("a", {"width": 3, "minus": True}, "a  "),
    ],
)
def test_strings_are_cut_and_padded_by_runes(value, flags, text):
    """Not by bytes."""
    assert _laid_out("string", value.encode(), **flags) == text


@pytest.mark.parametrize(
    ("flags", "text"),
    [({}, '"é`"'), ({"plus": True}, r'"\u00e9`"'), ({"sharp": True}, '"é`"'), ({"precision": 1, "sharp": True}, "`é`")],
)
def test_strings_are_quoted(flags, text):
    """Between backticks if that is asked for and possible."""
    assert _laid_out("quoted", "é`".encode(), **flags) == text


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ({}, "61ff"),
        ({"space": True}, "61 ff"),
        ({"space": True, "sharp": True}, "0x61 0xff"),
        ({"sharp": True}, "0x61ff"),
        ({"precision": 1}, "61"),
        ({"precision": 0, "width": 3, "sharp": True}, "   "),
        ({"width": 6}, "  61ff"),
    ],
)
def test_bytes_are_written_in_hexadecimal(flags, text):
    """A space parts them, and each has a prefix with `#`."""
    layout = Layout(budget())
    for name, value in flags.items():
        setattr(layout, name, value)
    layout.hexadecimal(b"a\xff", large=False)
    assert b"".join(layout.buffer).decode() == text


def test_hexadecimal_may_be_large():
    """The prefix too."""
    layout = Layout(budget())
    layout.sharp = True
    layout.hexadecimal(b"\xab", large=True)
    assert layout.buffer == [b"0XAB"]


@pytest.mark.parametrize(
    ("value", "verb", "precision", "flags", "text"),
    [
        (2.5, "f", 6, {}, "2.500000"),
        (2.5, "f", 6, {"precision": 1}, "2.5"),
        (2.5, "g", -1, {"plus": True}, "+2.5"),
        (2.5, "g", -1, {"space": True}, " 2.5"),
        (-2.5, "g", -1, {"width": 7, "zero": True}, "-0002.5"),
        (2.5, "g", -1, {"width": 7, "zero": True}, "00002.5"),
        (2.5, "g", -1, {"width": 7, "zero": True, "plus": True}, "+0002.5"),
        (2.5, "g", -1, {"width": 7, "minus": True, "plus": True}, "+2.5   "),
        (math.inf, "g", -1, {"width": 6, "zero": True}, "  +Inf"),
        (math.inf, "g", -1, {"space": True}, " Inf"),
        (-math.inf, "g", -1, {}, "-Inf"),
        (math.nan, "g", -1, {}, "NaN"),
        (math.nan, "g", -1, {"plus": True}, "+NaN"),
        (math.nan, "g", -1, {"space": True}, " NaN"),
        (2.5, "g", -1, {"sharp": True}, "2.50000"),
        (100.0, "g", -1, {"sharp": True}, "100.000"),
        (0.0, "g", -1, {"sharp": True}, "0.00000"),
        (1e21, "g", -1, {"sharp": True}, "1.00000e+21"),
        (2.0, "g", -1, {"sharp": True, "precision": 3}, "2.00"),
        (2.0, "f", 6, {"sharp": True, "precision": 0}, "2."),
        (1.0, "x", -1, {"sharp": True}, "0x1.0000p+00"),
        (1.0, "b", -1, {"sharp": True}, "4503599627370496p-52"),
    ],
)
def test_floats_are_padded_and_signed(value, verb, precision, flags, text):
    """What is not finite is padded with spaces; `#` keeps the zeros that %g drops."""
    assert _laid_out("floating", value, verb, precision, **flags) == text


def test_bools_are_words():
    """Padded as strings are."""
    assert _laid_out("boolean", True, width=6) == "  true"
    assert _laid_out("boolean", False) == "false"
