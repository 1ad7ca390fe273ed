import pytest

from tornado_proxy.goregex.classes import folded, members
from tornado_proxy.goregex.codepoints import bracketed, complement, union
from tornado_proxy.goregex.parser import parse
from tornado_proxy.goregex.printer import print_program

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
        ("(?:ab)+(?:c)+", "(?:ab)+c+"),
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
        ("(?i)k(?-i:k)/K", "(?i:k)k(?i:/K)"),
        ("(?i:\U00010d50é)\U00010d50", r"(?i:[\x{10d50}\x{10d70}]é)" + "\U00010d50"),
        ("(?P<1>a)(?<n>b)", "(a)(b)"),
    ],
)
def test_a_program_is_what_re2_reads_alike(text, program):
    """Flags stand where they matter, special characters are numbers, names of groups are left out."""
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
    """Go lets something empty part them; RE2 would read them as one."""
    assert _program(text) == program


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("(?:a*)+?", r"(?:a*(?:\b|\B))+?"),
        ("(?:|a){2,}", r"(?:(?:|a)(?:\b|\B)){2,}"),
        (r"(?:\b)*", r"(?:\b(?:\b|\B))*"),
        ("(?:^$)+", r"(?:\A\z(?:\b|\B))+"),
        ("(?:(a*)b*)*", r"(?:(a*)b*(?:\b|\B))*"),
        (r"a*\Q\E*", r"(?:a*(?:\b|\B))*"),
        ("(?:a*b)*", "(?:a*b)*"),
        ("(?:a*)?", "(?:a*)?"),
        ("(a*)*", "(a*)*"),
        (r"\b*", r"\b*"),
    ],
)
def test_what_may_match_nothing_is_repeated_at_a_place_that_is_any(text, program):
    """RE2 would go on where Go stops."""
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
def test_what_is_repeated_no_times_keeps_its_groups_only(text, program):
    """RE2 would count the copies within it, and refuse what Go accepts."""
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
def test_a_class_is_given_to_re2_member_by_member(text, program):
    """Every character is spelled by its number, so that RE2 reads what Go reads."""
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
def test_a_class_that_re2_knows_otherwise_is_given_by_its_code_points(text, ranges):
    """RE2 knows Unicode classes and other cases by older tables; the numbers are the same for both."""
    assert _program(text) == bracketed(ranges)
