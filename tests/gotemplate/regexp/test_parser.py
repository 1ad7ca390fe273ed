import pytest

from gotemplate.regexp.parser import parse
from gotemplate.regexp.syntax import (
    Alternation,
    AnyCharacter,
    Assertion,
    AssertionKind,
    BracketClass,
    CharacterRange,
    Extent,
    FlagChange,
    Group,
    NamedClass,
    PatternError,
    Repeat,
    Sequence,
    Text,
    walk,
)


def _tree(text):
    return parse(text).tree


NOWHERE = Extent(0, 0)
A = Text("a", False, NOWHERE)
B = Text("b", False, NOWHERE)


def _repeat(least, most, *, lazy=False):
    return Repeat(A, least, most, lazy, NOWHERE)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("", Sequence((), NOWHERE)),
        ("a", A),
        ("ab", Text("ab", False, NOWHERE)),
        (
            r"ab\.c",
            Sequence((Text("ab", False, NOWHERE), Text(".", False, NOWHERE), Text("c", False, NOWHERE)), NOWHERE),
        ),
        (
            "abc+",
            Sequence((Text("ab", False, NOWHERE), Repeat(Text("c", False, NOWHERE), 1, None, False, NOWHERE)), NOWHERE),
        ),
        ("a|b", Alternation((A, B), NOWHERE)),
        ("a|", Alternation((A, Sequence((), NOWHERE)), NOWHERE)),
        (".", AnyCharacter(False, NOWHERE)),
        ("(a)", Group(A, 1, None, NOWHERE)),
        ("(?:a)", Group(A, None, None, NOWHERE)),
        ("(?P<name>a)", Group(A, 1, "name", NOWHERE)),
        ("(?<name>a)", Group(A, 1, "name", NOWHERE)),
        ("]}", Text("]}", False, NOWHERE)),
    ],
)
def test_expressions_are_parsed_to_trees(text, tree):
    """Each construct has a node of its own class."""
    assert _tree(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a*", _repeat(0, None)),
        ("a+", _repeat(1, None)),
        ("a?", _repeat(0, 1)),
        ("a*?", _repeat(0, None, lazy=True)),
        ("a{2}", _repeat(2, 2)),
        ("a{2,}", _repeat(2, None)),
        ("a{0,3}?", _repeat(0, 3, lazy=True)),
        ("a{1000}", _repeat(1000, 1000)),
        ("(?U)a*", Sequence((FlagChange(frozenset("U"), frozenset(), NOWHERE), _repeat(0, None, lazy=True)), NOWHERE)),
    ],
)
def test_repetitions_have_bounds(text, tree):
    """A repetition has its least and greatest count, and whether it is lazy."""
    assert _tree(text) == tree


@pytest.mark.parametrize("text", ["a{", "a{,3}", "a{02}", "a{x}", "a{2", "{"])
def test_braces_without_a_count_are_characters(text):
    """Braces that only resemble a count stand for themselves."""
    assert all(isinstance(node, Text | Sequence) for node in walk(_tree(text)))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("^", AssertionKind.TEXT_START),
        (r"\A", AssertionKind.TEXT_START),
        ("$", AssertionKind.TEXT_END),
        (r"\z", AssertionKind.TEXT_END),
        (r"\b", AssertionKind.WORD_BOUNDARY),
        (r"\B", AssertionKind.NO_WORD_BOUNDARY),
    ],
)
def test_assertions_are_distinguished(text, kind):
    """Each assertion has its kind."""
    assert _tree(text) == Assertion(kind, NOWHERE)


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("(?m)^", Assertion(AssertionKind.LINE_START, NOWHERE)),
        ("(?m)$", Assertion(AssertionKind.LINE_END, NOWHERE)),
        (r"(?m)\z", Assertion(AssertionKind.TEXT_END, NOWHERE)),
        ("(?s).", AnyCharacter(True, NOWHERE)),
        ("(?i)a", Text("a", True, NOWHERE)),
        ("(?i)/1", Text("/1", False, NOWHERE)),
        ("(?i)/a", Text("/a", True, NOWHERE)),
        ("(?i)é", Text("é", True, NOWHERE)),
        ("(?i)(?-i)a", A),
        ("(?i:b)a", A),
        ("((?i)b)a", A),
        ("(?i)b|a", Text("a", True, NOWHERE)),
    ],
)
def test_flags_hold_to_the_end_of_their_group(text, last):
    """Flags change the rest of their group, even in other branches, and nothing outside of it."""
    assert [*walk(_tree(text))][-1] == last


def test_a_group_keeps_its_flags():
    """A group with flags has the flags that it sets and clears."""
    assert _tree("(?i-s:a)") == Group(Text("a", True, NOWHERE), None, None, NOWHERE, frozenset("i"), frozenset("s"))


def test_groups_are_numbered_as_they_open():
    """Groups that capture are numbered from 1 by their opening parentheses."""
    groups = [node for node in walk(_tree("((?:a)(b))(?P<last>c)")) if isinstance(node, Group)]
    assert [(group.number, group.name) for group in groups] == [(1, None), (None, None), (2, None), (3, "last")]


@pytest.mark.parametrize(
    ("text", "character"),
    [
        (r"\.", "."),
        (r"\_", "_"),
        (r"\n", "\n"),
        (r"\a", "\a"),
        (r"\x41", "A"),
        (r"\x{1F600}", "\U0001f600"),
        (r"\101", "A"),
        (r"\0", "\0"),
        (r"\Qa\E", "a"),
        (r"\Q.", "."),
    ],
)
def test_escapes_stand_for_characters(text, character):
    """An escaped or quoted character is the same node as the plain character."""
    assert _tree(text) == Text(character, False, NOWHERE)


def test_only_the_last_character_of_a_quotation_is_repeated():
    r"""The text between `\Q` and `\E` is literal, and a repetition after it applies to its last character."""
    dot = Text(".", False, NOWHERE)
    star = Text("*", False, NOWHERE)
    assert _tree(r"\Q.*\E+") == Sequence((dot, Repeat(star, 1, None, False, NOWHERE)), NOWHERE)


@pytest.mark.parametrize(
    ("text", "members", "negated"),
    [
        ("[ab]", (CharacterRange("a", "a", False, NOWHERE), CharacterRange("b", "b", False, NOWHERE)), False),
        ("[^a]", (CharacterRange("a", "a", False, NOWHERE),), True),
        ("[]a]", (CharacterRange("]", "]", False, NOWHERE), CharacterRange("a", "a", False, NOWHERE)), False),
        ("[^]]", (CharacterRange("]", "]", False, NOWHERE),), True),
        ("[a-]", (CharacterRange("a", "a", False, NOWHERE), CharacterRange("-", "-", False, NOWHERE)), False),
        ("[a-c]", (CharacterRange("a", "c", False, NOWHERE),), False),
        (r"[\d\S]", (NamedClass(r"\d", False, False, NOWHERE), NamedClass(r"\s", True, False, NOWHERE)), False),
        ("[[:alpha:]]", (NamedClass("[:alpha:]", False, False, NOWHERE),), False),
        ("[[:^digit:]]", (NamedClass("[:digit:]", True, False, NOWHERE),), False),
        (
            "[[:a]",
            (
                CharacterRange("[", "[", False, NOWHERE),
                CharacterRange(":", ":", False, NOWHERE),
                CharacterRange("a", "a", False, NOWHERE),
            ),
            False,
        ),
        (r"[\pL]", (NamedClass(r"\p{L}", False, False, NOWHERE),), False),
        (r"[\]\-]", (CharacterRange("]", "]", False, NOWHERE), CharacterRange("-", "-", False, NOWHERE)), False),
    ],
)
def test_classes_have_their_members(text, members, negated):
    """A class in brackets has its members as they are written."""
    assert _tree(text) == BracketClass(members, negated, NOWHERE)


@pytest.mark.parametrize(
    ("text", "name", "negated"),
    [
        (r"\pL", "L", False),
        (r"\PL", "L", True),
        (r"\p{Greek}", "Greek", False),
        (r"\p{^Greek}", "Greek", True),
        (r"\P{^Greek}", "Greek", False),
        (r"\p{greek}", "Greek", False),
        (r"\p{Uppercase_Letter}", "Lu", False),
    ],
)
def test_unicode_classes_have_one_name(text, name, negated):
    """The node of a Unicode class has its official name, in any spelling."""
    assert _tree(text) == NamedClass(f"\\p{{{name}}}", negated, False, NOWHERE)


def test_nodes_have_the_extents_of_their_text():
    """Every node covers its text, in code points."""
    text = r"^é/(?P<n>a{2}|[^\d-])\.$"
    extents = [node.extent for node in walk(_tree(text))]
    assert [text[start:end] for start, end in extents] == [
        *(text, "^", "é/", r"(?P<n>a{2}|[^\d-])", r"a{2}|[^\d-]", "a{2}", "a"),
        *(r"[^\d-]", r"\d", "-", r"\.", "$"),
    ]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        (r"a\Q\E*", _repeat(0, None)),
        (r"a+\Q\E*", Repeat(_repeat(1, None), 0, None, False, NOWHERE)),
        ("a(?s)*", Sequence((_repeat(0, None), FlagChange(frozenset("s"), frozenset(), NOWHERE)), NOWHERE)),
        (
            "ba(?U)*",
            Sequence((B, _repeat(0, None, lazy=True), FlagChange(frozenset("U"), frozenset(), NOWHERE)), NOWHERE),
        ),
    ],
)
def test_an_operator_applies_to_the_operand_before_it(text, tree):
    """Flags and an empty quotation may stand between an operand and its operator, as in Go."""
    assert _tree(text) == tree


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
