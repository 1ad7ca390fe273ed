import unicodedata

import pytest

from gotemplate.regexp.classes import (
    OTHER_CASE,
    cases,
    characters,
    contains,
    difference,
    folded,
    matched,
    members,
    resolve,
)
from gotemplate.regexp.matching import compile_pattern
from gotemplate.regexp.parser import parse
from gotemplate.regexp.syntax import Sequence, Text


def test_every_letter_is_the_other_case_of_its_other_case():
    assert {letter: OTHER_CASE[other] for letter, other in OTHER_CASE.items()} == {
        letter: letter for letter in OTHER_CASE
    }


def _tree(text):
    return parse(text).tree


SAMPLE = [chr(code) for code in (*range(0x250), *range(0x370, 0x400), *range(0x1E00, 0x1E20), 0x2028, 0x212A, 0x212B)]

ONE_CHARACTER = [
    *("a", "k", "S", "é", "/", ".", "[^/]", "[a-z]", "[^a-z]", "[]-]", r"[\d-a]", r"[^\W_]", r"[\x{e0}-\x{ff}]"),
    *(rf"\{letter}" for letter in "dDsSwW"),
    *(
        f"[[:{name}:]]"
        for name in [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper",
            "word",
        ]
    ),
    *("[[:xdigit:]]", "[[:^alpha:]]", "[^[:^space:]]", r"\pL", r"\PL", r"\p{Greek}", r"[^\p{Lu}\d]", r"\p{Nd}"),
]  # fmt: skip


def _ranges(text):
    """Returns the code points that an expression of one character matches, after its flags."""
    tree = _tree(text)
    node = tree.pieces[-1] if isinstance(tree, Sequence) else tree
    return cases(node.characters, folded=node.folded) if isinstance(node, Text) else characters(node)


@pytest.mark.parametrize("flags", ["", "(?i)", "(?s)"])
@pytest.mark.parametrize("text", ONE_CHARACTER)
def test_a_node_has_the_characters_that_the_matcher_finds(text, flags):
    ranges = _ranges(flags + text)
    pattern = compile_pattern(rf"\A{flags}{text}\z")
    wrong = [
        character for character in SAMPLE if contains(ranges, ord(character)) != (pattern.search(character) is not None)
    ]
    assert wrong == []


@pytest.mark.parametrize("text", ["[a-zA-Z]", "[0-9/_-]", "k", "s"])
def test_other_cases_of_ascii_are_those_of_re2(text):
    """The cases that are added by arithmetic are those that RE2 adds, among all code points."""
    assert _ranges(f"(?i){text}") == matched(f"(?i){text}")


def test_classes_have_newer_letters_than_python():
    """A letter of Unicode 16 is in its class, even if Python's tables lack it."""
    garay = "\U00010d50"
    assert unicodedata.category(garay) in {"Cn", "Lu"}
    assert contains(characters(_tree(r"\p{Lu}")), ord(garay))


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("L", "L"),
        ("lu", "Lu"),
        ("Letter", "L"),
        ("upper case-let ter", "Lu"),
        ("Combining_Mark", "M"),
        ("lc", "LC"),
        ("greek", "Greek"),
        ("OLD ITALIC", "Old_Italic"),
        ("olditalic", "Old_Italic"),
        ("signwriting", "SignWriting"),
        ("any", "Any"),
        ("ascii", "ASCII"),
        ("cntrl", "Cc"),
        ("Uppercase", None),
        ("L&", None),
        ("", None),
        ("-", None),
        ("Letteŕ", None),
        ("Gree\u212a", None),
    ],
)
def test_names_are_found_in_any_spelling(spelling, name):
    """Case, spaces, hyphens and underscores do not count, and a long name has the class of a short one."""
    assert resolve(spelling) == name


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("L", "aé中\u088f", "1 \u0301"),
        ("Lu", "AÉ\u1c89", "a1"),
        ("Ll", "a\u1c8a", "A\u0295"),
        ("Lo", "中\u0295", "a"),
        ("Mn", "\u0301", "\U0001171e"),
        ("Mc", "\U0001171e", "\u0301"),
        ("LC", "aAǅ", "中"),
        ("Nd", "1٣\U00010d40", "½"),
        ("C", "\x00\u0378\ue000", "a"),
        ("Cn", "\u0378\U0005ffff", "\x00\ue000"),
        ("Co", "\ue000\U0010fffd", "\U0010ffff"),
        ("Cs", "\ud800\udfff", "\ue000"),
        ("Assigned", "a\x00\ue000\ud800", "\u0378"),
        ("Any", "\x00\U0010ffff", ""),
        ("ASCII", "\x00\x7f", "\x80"),
        ("Greek", "Ωα", "a"),
        ("Garay", "\U00010d50\U00010d70", "a"),
        ("Han", "中\U000323b0", "a"),
    ],
)
def test_classes_have_the_members_of_unicode_17(name, inside, outside):
    """Members are those of RE2 and the additions of Unicode since RE2's tables."""
    ranges = members(name)
    assert [character for character in inside if not contains(ranges, ord(character))] == []
    assert [character for character in outside if contains(ranges, ord(character))] == []


def test_case_is_folded_as_go_folds_it():
    """With `(?i)`, a class has the other cases of its letters, even of new letters."""
    assert difference(members("Lu"), members("Lu", fold=True)) == ()
    assert contains(members("Lu", fold=True), ord("a"))
    assert contains(members("Lu", fold=True), 0x10D70)
    assert folded(((ord("k"), ord("k")),)) == ((0x4B, 0x4B), (0x6B, 0x6B), (0x212A, 0x212A))
