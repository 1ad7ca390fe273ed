import pytest
import re2

from gotemplate.regexp.classes import members
from gotemplate.regexp.parser import parse
from gotemplate.regexp.program import ProgramRefused, ahead_of, compile_program, leftmost, print_program


def test_re2_writes_nothing_to_standard_error(capfd):
    """The message of RE2 is only in the exception."""
    with pytest.raises(ProgramRefused, match=r"missing \): \(é"):
        compile_program("(é".encode())
    assert capfd.readouterr() == ("", "")


def test_a_program_that_is_too_large_is_refused():
    with pytest.raises(ProgramRefused, match="pattern too large"):
        compile_program(rb".{1000}" * 300, memory=(8 << 20, 16 << 20))


@pytest.mark.parametrize(
    ("pattern", "text", "start", "span"),
    [
        (r"\B", "é", 0, (0, 0)),
        (r"\B", "é", 2, (2, 2)),
        (r"\B", "aé", 1, (3, 3)),
        (r"\Bx?", "aéa", 0, None),
        (r"z|\B", "aéaz", 0, (4, 5)),
        (r"\A(a|b)|\B()", "aéaé中", 1, (6, 6)),
        ("é", "aé", 1, (1, 3)),
    ],
)
def test_no_match_begins_within_a_character(pattern, text, start, span):
    r"""A match of `\B` between two bytes of one character is skipped."""
    ahead = re2.compile(ahead_of(pattern.encode()))
    match = leftmost(re2.compile(pattern.encode()), ahead, text.encode(), start)
    assert (match and match.span()) == span


GREEK, DIGITS = members("Greek"), ((0x30, 0x39),)


@pytest.mark.parametrize(
    ("text", "program"),
    [
        (r"a+\Q\E*", "(?:a+)*"),
        (r"ab+\Q\E?", "a(?:b+)?"),
        (r"a{2}(?i)*", "(?:a{2})*"),
        (r"(a|b)+?(?U){2}", "(?:(a|b)+?){2}?"),
        ("ab(?U){2}(?s)*", "a(?:b{2}?)*?"),
        (r"ab\Q\E{2}", "ab{2}"),
        ("(?:a+)*", "(?:a+)*"),
    ],
)
def test_a_repetition_of_a_repetition_is_put_in_a_group(text, program):
    """Two operators that Go reads as nested repetitions would be one operator for RE2."""
    assert print_program(parse(text).tree) == program
