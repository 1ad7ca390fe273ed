import pytest
from go_programs import budget, written

from tornado_proxy.templates.golang.printf import sprintf
from tornado_proxy.templates.golang.values import Int64


@pytest.mark.parametrize(
    ("format", "values", "text"),
    [
        (b"", [], ""),
        (b"plain \xc3\xa9", [], "plain é"),
        (b"%d-%s", [1, b"a"], "1-a"),
        (b"%%|%5%", [], "%|%"),
        (b"%5d|%-5d|%05d", [1, 2, 3], "    1|2    |00003"),
        (b"%+d|% d|%#x", [1, 2, 3], "+1| 2|0x3"),
        (b"%6.2f|%.3s", [1.234, b"abcdef"], "  1.23|abc"),
        (b"%*d|%-*d", [4, 1, Int64(3), 2], "   1|2  "),
        (b"%*d", [-4, 1], "1   "),
        (b"%.*f", [1, 1.25], "1.2"),
        (b"%v|%+v|%#v", [b"a", b"a", b"a"], 'a|a|"a"'),
        (b"%[2]d %[1]d", [1, 2], "2 1"),
        (b"%[1]d %d", [1, 2], "1 2"),
        (b"%[2]*[1]d", [7, 3], "  7"),
        (b"%.[2]*[1]f", [1.5, 2], "1.50"),
        (b"%5.d", [3], "    3"),
    ],
)
def test_verbs_take_the_arguments_in_turn(format, values, text):
    """With flags, widths and precisions, which may be arguments, and with numbers of arguments."""
    assert sprintf(budget(), format, *values).decode() == text


@pytest.mark.parametrize(
    ("format", "values", "text"),
    [
        (b"%", [], "%!(NOVERB)"),
        (b"%5", [], "%!(NOVERB)"),
        (b"%d", [], "%!d(MISSING)"),
        (b"%d", [1, b"a", None], "1%!(EXTRA string=a, <nil>)"),
        (b"%[3]d", [1], "%!d(BADINDEX)"),
        (b"%[0]d", [1], "%!d(BADINDEX)"),
        (b"%[x]d", [1], "%!d(BADINDEX)"),
        (b"%[]d", [1], "%!d(BADINDEX)"),
        (b"%[1", [1], "%!(NOVERB)"),
        (b"%[1d", [1], "%!d(BADINDEX)"),
        (b"%[1]2d", [1], "%!d(BADINDEX)"),
        (b"%[1].2d", [1], "%!d(BADINDEX)"),
        (b"%*d", [b"a", 1], "%!(BADWIDTH)1"),
        (b"%*d", [], "%!(BADWIDTH)%!d(MISSING)"),
        (b"%.*d", [-1, 1], "%!(BADPREC)1"),
        (b"%.*d", [True, 1], "%!(BADPREC)1"),
        (b"%*d", [1_000_001, 1], "%!(BADWIDTH)1"),
        (b"%99999999d", [1], "%!(NOVERB)%!(EXTRA int=1)"),
        (b"%00000000002d", [1], "01"),
        (b"%\xc3\xa9|%\xff", [1, 2], "%!é(int=1)|%!\ufffd(int=2)"),
        (b"%.", [1.5], "%!.(float64=1.5)"),
        (b"%\xff", [], "%!\ufffd(MISSING)"),
    ],
)
def test_what_is_wrong_with_a_format_shows_in_the_text(format, values, text):
    """Nothing fails, as in Go."""
    assert sprintf(budget(), format, *values).decode() == text


def test_flags_do_not_reach_the_next_verb():
    """Each begins anew."""
    assert written('{{printf "%+05d|%d" 1 2}}') == "+0001|2"
