import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gotemplate.regexp.classes import (
    EVERYTHING,
    LAST,
    OTHER_CASE,
    bracketed,
    cases,
    characters,
    complement,
    contains,
    difference,
    folded,
    matched,
    members,
    ranges_of,
    resolve,
    spelled,
    unicode_tables,
    union,
)
from gotemplate.regexp.matching import compile_pattern
from gotemplate.regexp.parser import parse
from gotemplate.regexp.syntax import Sequence, Text

TABLES = unicode_tables()
CODES = st.integers(0, 40)
PAIRS = st.lists(st.tuples(CODES, CODES).map(lambda pair: (min(pair), max(pair))), max_size=6)


def _codes(ranges):
    return {code for low, high in ranges for code in range(low, high + 1)}


@given(PAIRS)
def test_a_union_holds_the_same_code_points_in_separate_ranges(pairs):
    """Ranges that touch or overlap become one, without adding or losing code points."""
    ranges = union(pairs)
    assert _codes(ranges) == _codes(pairs)
    assert all(left[1] + 1 < right[0] for left, right in pairwise(ranges))


@given(PAIRS)
def test_the_complement_of_a_complement_is_the_set(pairs):
    """Two complements in a row return the same ranges."""
    ranges = union(pairs)
    assert complement(complement(ranges)) == ranges


@given(PAIRS, CODES)
def test_a_code_point_is_in_a_set_or_in_its_complement(pairs, code):
    """Every code point is in exactly one of a set and its complement."""
    ranges = union(pairs)
    assert contains(ranges, code) is not contains(complement(ranges), code)


@given(PAIRS, PAIRS)
def test_a_difference_leaves_out_the_code_points_of_the_other_set(one, other):
    """The difference of ranges has the code points of the difference of sets."""
    assert _codes(difference(union(one), union(other))) == _codes(one) - _codes(other)


@pytest.mark.parametrize(("ranges", "other"), [((), EVERYTHING), (((0, 9),), ((10, LAST),)), (((5, LAST),), ((0, 4),))])
def test_complements_reach_to_the_last_code_point(ranges, other):
    """A complement has all code points that the set lacks, from the first to the last code point of Unicode."""
    assert complement(ranges) == other


def test_ranges_are_spelled_as_a_class_reads_them():
    """A range of one code point is one number, and another range is two numbers with a hyphen."""
    assert spelled([(0x41, 0x41), (0x61, 0x10FFFF)]) == r"\x{41}\x{61}-\x{10ffff}"


def test_an_empty_class_is_a_negated_full_class():
    """RE2 has no empty class, so the negation of all code points stands for it."""
    assert bracketed(()) == r"[^\x{0}-\x{10ffff}]"


@pytest.mark.parametrize(
    ("character", "contained"), [("a", False), ("b", True), ("d", True), ("e", False), ("z", True)]
)
def test_ranges_contain_their_code_points(character, contained):
    """A set contains the code points from the start to the end of each range."""
    assert contains(((0x62, 0x64), (0x7A, 0x7A)), ord(character)) is contained


@pytest.mark.parametrize("table", [TABLES.added_to_categories, TABLES.added_to_scripts], ids=["categories", "scripts"])
def test_added_ranges_are_sorted(table):
    """The ranges in the tables of additions are sorted and separate, as all ranges are."""
    tables = {name: ranges_of(text) for name, text in table.items()}
    assert {name: union(ranges) for name, ranges in tables.items()} == tables


def test_every_letter_is_the_other_case_of_its_other_case():
    """Pairs in the table of cases are symmetric."""
    assert {letter: OTHER_CASE[other] for letter, other in OTHER_CASE.items()} == {
        letter: letter for letter in OTHER_CASE
    }


def test_a_removed_code_point_is_added_to_another_category():
    """A code point that was removed from a category is in the additions of another one."""
    removed = {code for text in TABLES.removed_from_categories.values() for code, _ in ranges_of(text)}
    assert removed == {
        code
        for code in removed
        if any(
            low <= code <= high for name in ("Lo", "Mc") for low, high in ranges_of(TABLES.added_to_categories[name])
        )
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
            "alnum",
            "alpha",
            "ascii",
            "blank",
            "cntrl",
            "digit",
            "graph",
            "lower",
            "print",
            "punct",
            "space",
            "upper",
            "word",
        ]
    ),
    *("[[:xdigit:]]", "[[:^alpha:]]", "[^[:^space:]]", r"\pL", r"\PL", r"\p{Greek}", r"[^\p{Lu}\d]", r"\p{Nd}"),
]


def _ranges(text):
    """Returns the code points that an expression of one character matches, after its flags."""
    tree = _tree(text)
    node = tree.pieces[-1] if isinstance(tree, Sequence) else tree
    return cases(node.characters, folded=node.folded) if isinstance(node, Text) else characters(node)


@pytest.mark.parametrize("flags", ["", "(?i)", "(?s)"])
@pytest.mark.parametrize("text", ONE_CHARACTER)
def test_a_node_has_the_characters_that_the_matcher_finds(text, flags):
    """A class, a character or a dot has exactly the characters that the matcher finds for it."""
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


@pytest.mark.parametrize("name", TABLES.names)
def test_every_name_has_an_official_name(name):
    """Every name resolves to an official name, which resolves to itself."""
    official = resolve(name)
    assert official is not None
    assert resolve(official) == official


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


def test_assigned_code_points_are_those_with_a_category():
    """`Cn` is the complement of `Assigned`, and `C` is the complement of all other categories."""
    assert complement(members("Cn")) == members("Assigned")
    other_categories = union(ranges for letter in "LMNPSZ" for ranges in members(letter))
    assert complement(other_categories) == members("C")


@pytest.mark.parametrize("letter", "LMNPSZC")
def test_a_letter_stands_for_all_categories_that_begin_with_it(letter):
    r"""The members of `\pL` are those of `Ll`, `Lm`, `Lo`, `Lt` and `Lu` together."""
    parts = [name for name in TABLES.names if len(name) == 2 and name[0] == letter and name != "LC"]
    assert union(ranges for part in parts for ranges in members(part)) == members(letter)


def test_case_is_folded_as_go_folds_it():
    """With `(?i)`, a class has the other cases of its letters, even of new letters."""
    assert difference(members("Lu"), members("Lu", fold=True)) == ()
    assert contains(members("Lu", fold=True), ord("a"))
    assert contains(members("Lu", fold=True), 0x10D70)
    assert folded(((ord("k"), ord("k")),)) == ((0x4B, 0x4B), (0x6B, 0x6B), (0x212A, 0x212A))


def test_cased_letters_are_never_folded():
    """`LC` stays the same with `(?i)`, because Go has no folding table for it."""
    assert contains(members("L", fold=True), 0x345)
    assert not contains(members("LC", fold=True), 0x345)


def test_folding_keeps_the_empty_and_the_full_set():
    """Folding adds nothing to the set of no code points and the set of all."""
    assert folded(()) == ()
    assert folded(EVERYTHING) == EVERYTHING
