import pytest
import re2

from gotemplate.regexp.classes import bracketed, complement, folded, members, union
from gotemplate.regexp.parser import parse
from gotemplate.regexp.program import (
    ProgramRefused,
    ahead_of,
    compile_program,
    is_within,
    leftmost,
    options,
    print_program,
)


def test_re2_writes_nothing_to_standard_error(capfd):
    """The message of RE2 is only in the exception."""
    with pytest.raises(ProgramRefused, match=r"missing \): \(é"):
        compile_program("(é".encode())
    assert capfd.readouterr() == ("", "")


def test_options_have_the_given_memory():
    """The options of RE2 have the memory in bytes, and turn off its log."""
    re2_options = options(1 << 20)
    assert (re2_options.max_mem, re2_options.log_errors) == (1 << 20, False)


def test_a_large_program_gets_the_memory_that_it_needs():
    """A program that does not fit into RE2's 8 MiB is compiled with more memory."""
    assert compile_program(rb".{1000}" * 300).options.max_mem > 8 << 20
    assert compile_program(rb"a").options.max_mem == 8 << 20


def test_a_program_that_is_too_large_is_refused():
    """A program that does not fit into the largest memory raises the error of RE2."""
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


def test_a_character_begins_with_its_first_byte():
    """An offset is within a character only behind its first byte, and the end of the text is not."""
    assert [is_within("aé".encode(), offset) for offset in range(4)] == [False, False, True, False]


GREEK, DIGITS = members("Greek"), ((0x30, 0x39),)
WORD = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))


def _program(text):
    return print_program(parse(text).tree)


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("", ""),
        ("^/a.*$", r"\A/a.*\z"),
        ("a|b|", "a|b|"),
        ("x(?:a|b)|c", "x(?:a|b)|c"),
        ("(?:ab)+(?:c)+", "(?:ab)+(?:c)+"),
        (r"\A\d+\b\B\s\S\w\W\D\z", r"\A\d+\b\B\s\S\w\W\D\z"),
        (r"\.\/\n\x41é中", r"\x{2e}/\x{a}Aé中"),
        ("a{2,3}?b{,2}c{2", r"a{2,3}?b\x{7b},2\x{7d}c\x{7b}2"),
        ("a{2,}", "a{2,}"),
        ("x{01}", r"x\x{7b}01\x{7d}"),
        (r"\Qa.b\E*", r"a\x{2e}b*"),
        (r"\Qa\\E", r"a\x{5c}"),
        (r"\x{d800}", r"\x{d800}"),
        ("(?s).(?-s).", "(?s:.)."),
        ("(?m)^$", "(?m:^)(?m:$)"),
        ("(?U)a*b*?", "a*?b*"),
        ("(?i)k(?-i:k)/K", "(?i:k)(?:k)(?i:/K)"),
        ("(?i:\U00010d50é)\U00010d50", r"(?:(?i:[\x{10d50}\x{10d70}]é))" + "\U00010d50"),
        ("(?P<1>a)(?<n>b)", "(a)(b)"),
    ],
)
def test_a_program_is_equivalent_for_re2(text, program):
    """Flags stand where they matter, special characters are numbers, and names of groups are left out."""
    assert _program(text) == program


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
    assert _program(text) == program


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("(?:a*)+?", r"(?:(?:a*)(?:\b|\B))+?"),
        ("(?:|a){2,}", r"(?:(?:|a)(?:\b|\B)){2,}"),
        (r"(?:\b)*", r"(?:(?:\b)(?:\b|\B))*"),
        ("(?:^$)+", r"(?:(?:\A\z)(?:\b|\B))+"),
        ("(?:(a*)b*)*", r"(?:(?:(a*)b*)(?:\b|\B))*"),
        (r"a*\Q\E*", r"(?:a*(?:\b|\B))*"),
        ("(?:a*b)*", "(?:a*b)*"),
        ("(?:a*)?", "(?:a*)?"),
        ("(a*)*", "(a*)*"),
        (r"\b*", r"\b*"),
    ],
)
def test_a_repeated_part_that_may_be_empty_ends_with_an_assertion(text, program):
    """An assertion that holds everywhere makes RE2 stop repeating where Go stops."""
    assert _program(text) == program


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("(?:a{1000}){0}", "(?:){0}"),
        ("x{9}(?:a{2}b{3}?){0,0}c{4}", "x{9}(?:){0}c{4}"),
        ("(a(b|(c){2})){0}?", "(?:()()()){0}"),
        (r"a{2}\Q\E{0}", "(?:){0}"),
    ],
)
def test_a_part_that_is_repeated_zero_times_keeps_its_groups_only(text, program):
    """RE2 would count the copies within the part, and refuse an expression that Go accepts."""
    assert _program(text) == program


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("[a]", r"[\x{61}]"),
        ("[^/]", r"[^\x{2f}]"),
        ("[a-z0]", r"[\x{61}-\x{7a}\x{30}]"),
        ("[^]a]", r"[^\x{5d}\x{61}]"),
        (r"[\d\W.]", r"[\d\W\x{2e}]"),
        ("[[:alpha:][:^digit:]_]", r"[[:alpha:][:^digit:]\x{5f}]"),
        ("[中\U0001f600]", r"[\x{4e2d}\x{1f600}]"),
    ],
)
def test_the_members_of_a_class_are_printed_as_numbers(text, program):
    """Every character of a class is printed as its code point, so that RE2 and Go agree."""
    assert _program(text) == program


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        (r"\p{greek}", GREEK),
        (r"[\p{Greek}]", GREEK),
        (r"[^\p{Greek}]", complement(GREEK)),
        (r"[\P{Greek}]", complement(GREEK)),
        (r"[\p{^Greek}]", complement(GREEK)),
        (r"[\p{greek}\d]", union((*GREEK, *DIGITS))),
        (r"[^\P{Greek}α]", complement(union((*complement(GREEK), (0x3B1, 0x3B1))))),
        (r"[\pL\D]", union((*members("L"), *complement(DIGITS)))),
        (r"[[:word:]\pZ]", union((*WORD, *members("Z")))),
        (r"[[:^word:]\pZ]", union((*complement(WORD), *members("Z")))),
        ("(?i)[\U00010d50]", ((0x10D50, 0x10D50), (0x10D70, 0x10D70))),
        ("(?i)[^\u019b]", complement(((0x19B, 0x19B), (0xA7DC, 0xA7DC)))),
        (r"(?i)[\pNk]", union((*members("N"), *folded(((0x6B, 0x6B),))))),
        (r"(?i)[\P{Lu}]", complement(members("Lu", fold=True))),
        (r"(?i)\w", union((*WORD, (0x17F, 0x17F), (0x212A, 0x212A)))),
        (r"(?i)[\w\pN]", union((*WORD, (0x17F, 0x17F), (0x212A, 0x212A), *members("N")))),
    ],
)
def test_a_class_with_other_members_in_re2_is_printed_as_ranges(text, ranges):
    """Unicode classes and cases are printed as ranges, because RE2 has older tables than Go."""
    assert _program(text) == bracketed(ranges)
