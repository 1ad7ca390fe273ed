import pytest

from tornado_proxy.rules.expressions.brackets import Property, read_bracket, read_property
from tornado_proxy.rules.expressions.errors import PatternError
from tornado_proxy.rules.expressions.properties import folded, members
from tornado_proxy.rules.expressions.ranges import bracketed, complement, union


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("[a]", r"[\x{61}]"),
        ("[^/]", r"[^\x{2f}]"),
        ("[a-z0]", r"[\x{61}-\x{7a}\x{30}]"),
        ("[]a]", r"[\x{5d}\x{61}]"),
        ("[^]a]", r"[^\x{5d}\x{61}]"),
        ("[a-]", r"[\x{61}\x{2d}]"),
        ("[-a]", r"[\x{2d}\x{61}]"),
        ("[a-b-c]", r"[\x{61}-\x{62}\x{2d}\x{63}]"),
        (r"[\d\W.]", r"[\d\W\x{2e}]"),
        (r"[\]\-\n\x41]", r"[\x{5d}\x{2d}\x{a}\x{41}]"),
        (r"[\x{e9}-\x{ff}]", r"[\x{e9}-\x{ff}]"),
        ("[[:alpha:][:^digit:]_]", r"[[:alpha:][:^digit:]\x{5f}]"),
        ("[[:a]", r"[\x{5b}\x{3a}\x{61}]"),
        ("[[a]", r"[\x{5b}\x{61}]"),
        ("[中\U0001f600]", r"[\x{4e2d}\x{1f600}]"),
    ],
)
def test_a_class_is_given_to_re2_character_by_character(text, program):
    """Every character is spelled by its number, so that RE2 reads what Go reads."""
    read, end = read_bracket(f"x{text}*", 1, fold=False)
    assert (read.text, end) == (program, 1 + len(text))


GREEK, DIGITS = members("Greek"), ((0x30, 0x39),)
WORD = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        (r"[\p{Greek}]", GREEK),
        (r"[^\p{Greek}]", complement(GREEK)),
        (r"[\P{Greek}]", complement(GREEK)),
        (r"[\p{^Greek}]", complement(GREEK)),
        (r"[\p{greek}\d]", union((*GREEK, *DIGITS))),
        (r"[^\P{Greek}α]", complement(union((*complement(GREEK), (0x3B1, 0x3B1))))),
        (r"[\pL\D]", union((*members("L"), *complement(DIGITS)))),
        (r"[[:word:]\pZ]", union((*WORD, *members("Z")))),
        (r"[[:^word:]\pZ]", union((*complement(WORD), *members("Z")))),
    ],
)
def test_a_class_with_properties_is_given_as_its_code_points(text, ranges):
    """RE2 knows properties by older tables and fewer names; the numbers are the same for both."""
    read, end = read_bracket(text, 0, fold=False)
    assert (read.text, read.bounds, end) == (bracketed(ranges), 2 * len(ranges), len(text))


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("[\U00010d50]", ((0x10D50, 0x10D50), (0x10D70, 0x10D70))),
        ("[^\u019b]", complement(((0x19B, 0x19B), (0xA7DC, 0xA7DC)))),
        (r"[\pNk]", union((*members("N"), *folded(((0x6B, 0x6B),))))),
        (r"[\p{Lu}]", members("Lu", fold=True)),
        (r"[\P{Lu}]", complement(members("Lu", fold=True))),
        (r"[\w\pN]", union((*WORD, (0x17F, 0x17F), (0x212A, 0x212A), *members("N")))),
    ],
)
def test_case_is_folded_where_re2_would_fold_less(text, ranges):
    """Letters whose other case is new to Unicode, and properties, are folded here."""
    assert read_bracket(text, 0, fold=True)[0].text == bracketed(ranges)


def test_other_classes_are_left_to_re2_to_fold():
    """What both fold alike stays as it is written."""
    assert read_bracket("[a-zé]", 0, fold=True)[0].text == r"[\x{61}-\x{7a}\x{e9}]"


@pytest.mark.parametrize(
    ("text", "start", "end", "message", "help"),
    [
        ("[a", 0, 1, "the class is never closed", r"write `]` where it ends, or `\[` for a bracket"),
        ("[]", 0, 1, "the class is never closed", None),
        ("[a-", 0, 1, "the class is never closed", None),
        (r"[a\]", 0, 1, "the class is never closed", None),
        ("[z-a]", 1, 4, "the range `z-a` runs backwards", r"write the lower character first, or `\-` for a hyphen"),
        (r"[a-\d]", 3, 5, r"`\d` is a class, not the end of a range", r"write `\-` for the hyphen"),
        (r"[\b]", 1, 3, r"`\b` means nothing in a class", r"write `\x08` for a backspace"),
        ("[[:alpah:]]", 1, 10, "there is no class named `alpah`", "did you mean `alpha`?"),
        ("[[:^foo:]]", 1, 9, "there is no class named `foo`", None),
        (r"[\p{Greke}]", 1, 10, "there is no class named `Greke`", "did you mean `Greek`?"),
    ],
)
def test_a_refused_class_says_what_is_wrong_in_it(text, start, end, message, help):
    """The place is the item that is wrong, or the bracket that nothing closes."""
    with pytest.raises(PatternError) as caught:
        read_bracket(text, 0, fold=False)
    assert (str(caught.value), caught.value.offset, caught.value.end) == (message, start, end)
    if help is not None:
        assert caught.value.help == help


@pytest.mark.parametrize(
    ("text", "found", "end"),
    [
        (r"\pLx", Property("L", negated=False), 3),
        (r"\PLx", Property("L", negated=True), 3),
        (r"\pl", Property("L", negated=False), 3),
        (r"\p{Old Italic}", Property("Old_Italic", negated=False), 14),
        (r"\P{^Lu}", Property("Lu", negated=False), 7),
        (r"\p{^Lu}", Property("Lu", negated=True), 7),
    ],
)
def test_a_property_is_one_letter_or_a_name_in_braces(text, found, end):
    """`P` and `^` each turn it round."""
    assert read_property(text, 0) == (found, end)


@pytest.mark.parametrize(
    ("text", "end", "message"),
    [
        (r"\p", 2, "there is no class named ``"),
        (r"\p{", 3, r"`\p{` is never closed"),
        (r"\P{Lu", 3, r"`\P{` is never closed"),
        (r"\p^", 3, "there is no class named `^`"),
        (r"\p{^^L}", 7, "there is no class named `^L`"),
        (r"\p{}", 4, "there is no class named ``"),
    ],
)
def test_a_refused_property_says_its_name(text, end, message):
    """A property that Go does not know is refused with its place."""
    with pytest.raises(PatternError) as caught:
        read_property(text, 0)
    assert (str(caught.value), caught.value.offset, caught.value.end) == (message, 0, end)
