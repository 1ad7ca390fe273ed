import pytest

from gotemplate.regexp import parser
from gotemplate.regexp.parser import parse
from gotemplate.regexp.syntax import Extent, PatternError, Repeat, Sequence, Text, walk


def _tree(text):
    return parse(text).tree


NOWHERE = Extent(0, 0)


@pytest.mark.parametrize("text", ["a{", "a{,3}", "a{02}", "a{x}", "a{2", "{"])
def test_braces_without_a_count_are_characters(text):
    """Braces that only resemble a count stand for themselves."""
    assert all(isinstance(node, Text | Sequence) for node in walk(_tree(text)))


def test_only_the_last_character_of_a_quotation_is_repeated():
    r"""The text between `\Q` and `\E` is literal, and a repetition after it applies to its last character."""
    dot = Text(".", False, NOWHERE)
    star = Text("*", False, NOWHERE)
    assert _tree(r"\Q.*\E+") == Sequence((dot, Repeat(star, 1, None, False, NOWHERE)), NOWHERE)


def test_nodes_have_the_extents_of_their_text():
    text = r"^é/(?P<n>a{2}|[^\d-])\.$"
    extents = [node.extent for node in walk(_tree(text))]
    assert [text[start:end] for start, end in extents] == [
        *(text, "^", "é/", r"(?P<n>a{2}|[^\d-])", r"a{2}|[^\d-]", "a{2}", "a"),
        *(r"[^\d-]", r"\d", "-", r"\.", "$"),
    ]


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
def test_groups_are_named_in_order(text, names):
    """Groups are in the order of their opening parentheses, and two may have one name, as in Go."""
    assert parse(text).names == names


@pytest.mark.parametrize(
    ("text", "start", "end", "message", "help"),
    [
        ("*.html", 0, 1, "nothing to repeat before `*`", "write `.*` for any text"),
        ("a|+", 2, 3, "nothing to repeat before `+`", r"write `\+` for the character itself"),
        ("(?:?)", 3, 4, "nothing to repeat before `?`", r"write `\?` for the character itself"),
        ("(?i){2}", 4, 7, "nothing to repeat before `{2}`", r"write `\{2}` for the character itself"),
        ("ab**", 2, 4, "invalid nested repetition `**`", "write `.*` for any text"),
        ("a{2}{3}", 1, 7, "invalid nested repetition `{2}{3}`", "put the repeated part in a group: `(?:…)`"),
        ("a*???", 1, 5, "invalid nested repetition `*???`", "put the repeated part in a group: `(?:…)`"),
        ("a++b", 1, 3, "unsupported possessive quantifier `++`", "remove the `+`: RE2 never backtracks, so a possessive quantifier changes nothing"),
        ("a)", 1, 2, "unmatched `)`", r"write `\)` for a parenthesis"),
        ("a(b", 1, 2, "unclosed group", r"close it with `)`, or write `\(` for a parenthesis"),
        ("[a", 0, 1, "unclosed class", r"close it with `]`, or write `\[` for a bracket"),
        ("[]", 0, 1, "unclosed class", None),
        ("[a-", 0, 1, "unclosed class", None),
        (r"[a\]", 0, 1, "unclosed class", None),
        ("[", 0, 1, "unclosed class", None),
        ("[z-a]", 1, 4, "reversed range `z-a`", r"write the lower character first, or `\-` for a hyphen"),
        (r"[\x41-\n]", 1, 8, r"reversed range `\x41-\n`", None),
        (r"[a-\d]", 3, 5, r"invalid range end `\d`", r"write `\-` for the hyphen"),
        ("a(?=b)", 1, 4, "unsupported look-ahead `(?=`", None),
        ("a\\", 1, 2, "trailing backslash", None),
        ("\\", 0, 1, "trailing backslash", "write `\\\\` for the character itself"),
        (r"\1", 0, 2, r"unsupported back-reference `\1`", "an expression cannot require the same text twice; match both, and use one in the template"),
        (r"\18", 0, 2, r"unsupported back-reference `\1`", None),
        (r"\8", 0, 2, r"unsupported back-reference `\8`", None),
        (r"\x", 0, 2, r"invalid escape `\x`", r"write two hexadecimal digits, `\x41`, or a code point in braces, `\x{1F600}`"),
        (r"\xa", 0, 2, r"invalid escape `\x`", None),
        (r"\x{}", 0, 2, r"invalid escape `\x`", None),
        (r"\x{110000}", 0, 10, r"code point out of range `\x{110000}`", r"the greatest is `\x{10FFFF}`"),
        (r"\x{41", 0, 2, r"invalid escape `\x`", None),
        (r"\Z", 0, 2, r"invalid escape `\Z`", r"write `\z` for the end of the text"),
        (r"\h", 0, 2, r"invalid escape `\h`", r"write `[ \t]`"),
        (r"\q", 0, 2, r"invalid escape `\q`", r"write `q` for the character itself, `\\q` with a backslash before it"),
        ("\\é", 0, 2, "invalid escape `\\é`", None),
        (r"[\b]", 1, 3, r"invalid escape `\b` in a class", r"write `\x08` for a backspace"),
        (r"[\A]", 1, 3, r"invalid escape `\A` in a class", "an assertion is not allowed in a class"),
        (r"[\Q]", 1, 3, r"invalid escape `\Q` in a class", "escape each character with a backslash"),
        (r"[\8]", 1, 3, r"invalid escape `\8`", None),
        (r"\p", 0, 2, "missing character class name", None),
        (r"\p{", 0, 3, r"unclosed `\p{`", None),
        (r"\P{Lu", 0, 3, r"unclosed `\P{`", None),
        (r"\p^", 0, 3, "unknown character class `^`", None),
        (r"\p{^^L}", 0, 7, "unknown character class `^L`", None),
        (r"\p{}", 0, 4, "missing character class name", None),
        (r"a\C", 1, 3, r"invalid escape `\C`", None),
        (r"a\p{x}", 1, 6, "unknown character class `x`", None),
        (r"[\p{Greke}]", 1, 10, "unknown character class `Greke`", "did you mean `Greek`?"),
        ("[[:alpah:]]", 1, 10, "unknown character class `alpah`", "did you mean `alpha`?"),
        ("a\ud800", 1, 2, "the expression is not valid Unicode", None),
    ],
)  # fmt: skip
def test_a_refused_expression_has_a_place_and_help(text, start, end, message, help):
    """The place is the construct that Go refuses, and the help shows the equivalent in Go."""
    with pytest.raises(PatternError) as caught:
        parse(text)
    assert (str(caught.value), caught.value.offset, caught.value.end) == (message, start, end)
    if help is not None:
        assert caught.value.help == help


def test_deep_nesting_does_not_exhaust_pythons_stack():
    """Groups that capture nothing may nest to any depth, as in Go."""
    assert len([*walk(_tree("(?:" * 5000 + "a" + ")" * 5000))]) == 5001


@pytest.mark.parametrize(
    ("text", "start", "end", "message"),
    [
        ("(?=a)", 0, 3, "unsupported look-ahead `(?=`"),
        ("(?!a)", 0, 3, "unsupported look-ahead `(?!`"),
        ("(?<=a)", 0, 4, "unsupported look-behind `(?<=`"),
        ("(?<!a>b)", 0, 4, "unsupported look-behind `(?<!`"),
        ("(?>a)", 0, 3, "unsupported atomic group `(?>`"),
        ("(?P=n)", 0, 4, "unsupported back-reference `(?P=`"),
        ("(?1)", 0, 3, "unsupported recursion `(?1`"),
        ("(?#a)", 0, 3, "unsupported comment `(?#`"),
        ("(?'n'a)", 0, 3, "unsupported group name in quotes `(?'`"),
        ("(?P<n.1>a)", 4, 7, "invalid group name `n.1`"),
        ("(?<é>a)", 3, 4, "invalid group name `é`"),
        ("(?<>a)", 3, 3, "missing group name"),
        ("(?P<n", 0, 4, "unclosed group name"),
        ("(?<n", 0, 3, "unclosed group name"),
        ("(?x)a", 2, 3, "unknown flag `x`"),
        ("(?iL)a", 3, 4, "unknown flag `L`"),
        ("(?i", 0, 3, "unclosed group"),
        ("(?-)a", 2, 3, "missing flag after `-`"),
        ("(?i-:a)", 3, 4, "missing flag after `-`"),
        ("(?i--s)", 4, 5, "unknown flag `-`"),
        ("(?Px)", 2, 3, "unknown flag `P`"),
    ],
)
def test_a_refused_group_has_a_message_and_a_place(text, start, end, message):
    """The message has the name of the construct in other dialects, at the characters that begin it."""
    with pytest.raises(PatternError) as caught:
        parse(text)
    assert (str(caught.value), caught.value.offset, caught.value.end) == (message, start, end)
    assert caught.value.help


def test_a_very_long_class_name_has_no_suggestion():
    """A very long name is not compared with all others, which would take too long."""
    with pytest.raises(PatternError) as caught:
        parse(rf"\p{{{'Greek' * 20}}}")
    assert caught.value.help is None


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        ("{1001}", "repeat count too large `{1001}`", "the limit is 1000"),
        ("{0,1001}", "repeat count too large `{0,1001}`", "the limit is 1000"),
        ("{1001,}", "repeat count too large `{1001,}`", "the limit is 1000"),
        pytest.param("{" + "9" * 9999 + "}", None, "the limit is 1000", id="thousands of digits"),
        ("{3,2}", "invalid repeat count `{3,2}`", "write `{2,3}`"),
    ],
)
def test_a_refused_count_has_help(text, message, help):
    """As in Go, a count is at most a thousand, and the lower bound comes first."""
    with pytest.raises(PatternError) as caught:
        parse(f"a{text}")
    assert message in (None, str(caught.value))
    assert (caught.value.offset, caught.value.end, caught.value.help) == (1, 1 + len(text), help)


def test_longer_group_openings_come_first():
    """No entry of the table is a prefix of a later entry, which it would hide."""
    openings = [opening for opening, _, _ in parser._GROUPS]
    hidden = [
        (first, later)
        for number, first in enumerate(openings)
        for later in openings[number + 1 :]
        if later.startswith(first)
    ]
    assert hidden == []


@pytest.mark.parametrize(
    "table", [parser._FLAGS_ELSEWHERE, parser._ESCAPES, parser._ESCAPES_IN_CLASS], ids=["flags", "escapes", "in class"]
)
def test_help_has_no_full_stop(table):
    assert [text for text in table.values() if text.endswith(".")] == []


def test_escapes_and_flags_of_go_have_no_help():
    assert not set(parser._ESCAPES) & set("AbBzQdDsSwWpPafnrtvx01234567")
    assert not set(parser._FLAGS_ELSEWHERE) & set("imsU")
