import pytest

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
        (
            "a++b",
            1,
            3,
            "unsupported possessive quantifier `++`",
            "remove the `+`: RE2 never backtracks, so a possessive quantifier changes nothing",
        ),
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
        (r"a\C", 1, 3, r"invalid escape `\C`", None),
        (r"a\p{x}", 1, 6, "unknown character class `x`", None),
        (r"[\p{Greke}]", 1, 10, "unknown character class `Greke`", "did you mean `Greek`?"),
        ("[[:alpah:]]", 1, 10, "unknown character class `alpah`", "did you mean `alpha`?"),
        ("a\ud800", 1, 2, "the expression is not valid Unicode", None),
    ],
)
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
