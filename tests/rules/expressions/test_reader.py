import pytest

from tornado_proxy.rules.expressions.errors import PatternError
from tornado_proxy.rules.expressions.properties import members
from tornado_proxy.rules.expressions.ranges import bracketed
from tornado_proxy.rules.expressions.reader import read_expression


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("", ""),
        ("^/a.*$", "^/a.*$"),
        ("a|b|", "a|b|"),
        (r"\A\d+\b\B\s\S\w\W\D\z", r"\A\d+\b\B\s\S\w\W\D\z"),
        (r"\.\/\n\x41é中", r"\x{2e}\x{2f}\x{a}Aé中"),
        ("a{2,3}?b{,2}c{2", r"a{2,3}?b\x{7b},2}c\x{7b}2"),
        ("x{01}", r"x\x{7b}01}"),
        ("]}", "]}"),
        (r"\Qa.b\E*", r"a\x{2e}b*"),
        (r"\Qa", "a"),
        (r"\Q\E", ""),
        (r"\Qa\\E", r"a\x{5c}"),
        ("(?i)k(?-i:k)K", "(?i)k(?-i:k)K"),
        ("(?i:\U00010d50é)\U00010d50", r"(?i:(?-i:[\x{10d50}\x{10d70}])\x{e9})" + "\U00010d50"),
        (r"\x{10d50}(?i)\x{10d50}", r"\x{10d50}(?i)(?-i:[\x{10d50}\x{10d70}])"),
        ("[^/]+", r"[^\x{2f}]+"),
    ],
)
def test_most_of_an_expression_is_given_to_re2_as_it_is(text, program):
    """Characters that an escape stands for are spelled by their numbers; the rest both read alike."""
    assert read_expression(text).program == program


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ()),
        ("(a)(?:b)(c)", ("", "")),
        ("(?P<one>a(?<two>b))(c)", ("one", "two", "")),
        ("(?<n>a)(?<n>b)", ("n", "n")),
        (r"\Q(a)\E[(]\(", ()),
        ("(?i)(a)", ("",)),
    ],
)
def test_groups_are_counted_and_named_in_order(text, names):
    """Groups count from their opening parenthesis; two may have one name, as in Go."""
    assert read_expression(text).names == names


def test_names_are_not_given_to_re2():
    """RE2 would refuse some that Go accepts."""
    assert read_expression("(?P<1>a)(?<n>b)").program == "(a)(b)"


def test_a_property_is_given_as_its_code_points():
    """Its names and members are Go's."""
    assert read_expression(r"\p{greek}+").program == bracketed(members("Greek")) + "+"


@pytest.mark.parametrize(
    ("text", "program"),
    [
        (r"a+\Q\E*", "(?:a+)*"),
        (r"ab+\Q\E?", "a(?:b+)?"),
        (r"a{2}(?i)*", "(?:a{2})(?i)*"),
        (r"(a|b)+?(?U){2}", "(?:(a|b)+?)(?U){2}"),
        ("ab(?U){2}(?s)*", "a(?:b(?U){2})(?U)(?s)*"),
        (r"ab\Q\E{2}", "ab{2}"),
        ("(?:a+)*", "(?:a+)*"),
        ("(?:a+)(?i)*", "(?:a+)(?i)*"),
    ],
)
def test_a_repetition_of_a_repetition_is_put_in_a_group(text, program):
    """Go lets something empty part them; RE2 would read them as one."""
    assert read_expression(text).program == program


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("(?:a*)+?", r"(?:(?:a*)(?:\b|\B))+?"),
        ("(?:|a){2,}", r"(?:(?:|a)(?:\b|\B)){2,}"),
        (r"(?:\b)*", r"(?:(?:\b)(?:\b|\B))*"),
        ("(?:^$)+", r"(?:(?:^$)(?:\b|\B))+"),
        ("(?:(a*)b*)*", r"(?:(?:(a*)b*)(?:\b|\B))*"),
        (r"a*\Q\E*", r"(?:a*(?:\b|\B))*"),
        ("(?:a*b)*", "(?:a*b)*"),
        ("(?:a*)?", "(?:a*)?"),
        ("(a*)*", "(a*)*"),
    ],
)
def test_what_may_match_nothing_is_repeated_at_a_place_that_is_any(text, program):
    """RE2 would go on where Go stops."""
    assert read_expression(text).program == program


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("(?:a{1000}){0}", "(?:a){0}"),
        ("x{9}(?:a{2}b{3}?){0,0}c{4}", "x{9}(?:ab){0,0}c{4}"),
        ("(a{2}){0}?", "(a){0}?"),
        (r"a{2}\Q\E{0}", "(?:a){0}"),
        ("(?:b(?:a{2}){0}){3}", "(?:b(?:a){0}){3}"),
    ],
)
def test_counts_that_apply_to_nothing_are_left_out(text, program):
    """RE2 counts them all the same, and would refuse what Go accepts."""
    assert read_expression(text).program == program


@pytest.mark.parametrize(
    ("text", "start", "end", "message", "help"),
    [
        ("*.html", 0, 1, "`*` has nothing before it to repeat", "write `.*` for any text"),
        ("a|+", 2, 3, "`+` has nothing before it to repeat", r"write `\+` for the character itself"),
        ("(?:?)", 3, 4, "`?` has nothing before it to repeat", r"write `\?` for the character itself"),
        ("(?i){2}", 4, 7, "`{2}` has nothing before it to repeat", r"write `\{2}` for the character itself"),
        ("ab**", 2, 4, "`**` repeats a repetition", "put what is repeated in a group: `(?:…)`"),
        ("a{2}{3}", 1, 7, "`{2}{3}` repeats a repetition", "put what is repeated in a group: `(?:…)`"),
        ("a*???", 1, 5, "`*???` repeats a repetition", "put what is repeated in a group: `(?:…)`"),
        (
            "a++b",
            1,
            3,
            "`++` is a possessive quantifier, which Go does not have",
            "leave out the `+`: RE2 never goes back, so there is nothing to forbid",
        ),
        ("a{1001}", 1, 7, "`{1001}` counts further than 1000", None),
        ("a{0,1001}", 1, 9, "`{0,1001}` counts further than 1000", None),
        ("a{3,2}", 1, 6, "`{3,2}` has its greater bound first", "write `{2,3}`"),
        ("(?:a{100}){11}", 10, 14, "repetitions within one another make more than 1000 copies", None),
        ("a)", 1, 2, "`)` closes no group", r"write `\)` for a parenthesis"),
        ("a(b", 1, 2, "the group is never closed", r"write `)` where it ends, or `\(` for a parenthesis"),
        ("a(?=b)", 1, 4, "`(?=` begins a look-ahead, which Go does not have", None),
        ("a[b", 1, 2, "the class is never closed", None),
        ("a\\", 1, 2, "the expression ends in a backslash", None),
        (r"a\C", 1, 3, r"`\C` is no escape that Go knows", None),
        (r"a\p{x}", 1, 6, "there is no class named `x`", None),
        ("a\ud800", 1, 2, "the expression is not valid Unicode", None),
    ],
)
def test_a_refused_expression_says_where_and_what_to_write(text, start, end, message, help):
    """The place is the construct that Go refuses; the cure is Go's way to say it."""
    with pytest.raises(PatternError) as caught:
        read_expression(text)
    assert (str(caught.value), caught.value.offset, caught.value.end) == (message, start, end)
    if help is not None:
        assert caught.value.help == help


@pytest.mark.parametrize(
    ("accepted", "refused"),
    [
        ("(" * 999 + ")" * 999, "(" * 1000 + ")" * 1000),
        ("(" * 998 + "a|" + ")" * 998, "(" * 999 + "a|" + ")" * 999),
        ("(?:" * 999 + ")*" * 999, "(?:" * 1000 + ")*" * 1000),
        ("(?:" * 5000 + "a" + ")" * 5000, "(" * 5000 + "a" + ")" * 5000),
        ("(xx?){1000}" * 500, "(xx?){1000}" * 1000),
        (r"\pL" * 100, r"\pL" * 27000),
        ("[^a-c]" * 5000, r"[\pLa]" * 27000),
    ],
)
def test_what_is_too_deep_or_too_large_is_refused(accepted, refused):
    """Go's limits hold: a thousand levels, and what its program would take of memory."""
    read_expression(accepted)
    with pytest.raises(PatternError, match=r"the expression (is too large|nests deeper than 1000 levels)"):
        read_expression(refused)
