import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.goregex.classes import (
    ADDED_TO_CATEGORIES,
    ADDED_TO_SCRIPTS,
    EVERYTHING,
    LAST,
    NAMES,
    OTHER_CASE,
    REMOVED,
    bracketed,
    cases,
    characters,
    complement,
    contains,
    difference,
    folded,
    matched,
    members,
    resolve,
    spelled,
    union,
)
from tornado_proxy.goregex.matching import compile_pattern
from tornado_proxy.goregex.parser import parse
from tornado_proxy.goregex.syntax import Sequence, Text

CODES = st.integers(0, 40)
PAIRS = st.lists(st.tuples(CODES, CODES).map(lambda pair: (min(pair), max(pair))), max_size=6)


def _codes(ranges):
    return {code for low, high in ranges for code in range(low, high + 1)}


@given(PAIRS)
def test_a_union_holds_the_same_code_points_in_separate_ranges(pairs):
    """Ranges that touch or overlap become one; nothing is lost and nothing is added."""
    ranges = union(pairs)
    assert _codes(ranges) == _codes(pairs)
    assert all(left[1] + 1 < right[0] for left, right in pairwise(ranges))


@given(PAIRS)
def test_a_complement_is_undone_by_another(pairs):
    """What is not in what is not in a set is the set."""
    ranges = union(pairs)
    assert complement(complement(ranges)) == ranges


@given(PAIRS, CODES)
def test_a_code_point_is_in_a_set_or_in_its_complement(pairs, code):
    """There is no third."""
    ranges = union(pairs)
    assert contains(ranges, code) is not contains(complement(ranges), code)


@given(PAIRS, PAIRS)
def test_a_difference_leaves_out_what_is_in_the_other(left, right):
    """A difference is that of the sets."""
    assert _codes(difference(union(left), union(right))) == _codes(left) - _codes(right)


@pytest.mark.parametrize(("ranges", "other"), [((), EVERYTHING), (((0, 9),), ((10, LAST),)), (((5, LAST),), ((0, 4),))])
def test_complements_reach_to_the_last_code_point(ranges, other):
    """The first and the last code point belong to one side."""
    assert complement(ranges) == other


def test_ranges_are_spelled_as_a_class_reads_them():
    """One code point stands alone; two bounds have a hyphen between them."""
    assert spelled([(0x41, 0x41), (0x61, 0x10FFFF)]) == r"\x{41}\x{61}-\x{10ffff}"


def test_a_class_of_nothing_matches_nothing():
    """RE2 has no empty class; the opposite of every code point stands for it."""
    assert bracketed(()) == r"[^\x{0}-\x{10ffff}]"


@pytest.mark.parametrize(("character", "held"), [("a", False), ("b", True), ("d", True), ("e", False), ("z", True)])
def test_holding_is_membership(character, held):
    """A character is held where one of the ranges has it."""
    assert contains(((0x62, 0x64), (0x7A, 0x7A)), ord(character)) is held


@pytest.mark.parametrize("table", [ADDED_TO_CATEGORIES, ADDED_TO_SCRIPTS], ids=["categories", "scripts"])
def test_additions_are_written_in_order(table):
    """Ranges of additions are sorted and apart, as all ranges are."""
    assert {name: union(ranges) for name, ranges in table.items()} == table


def test_every_letter_is_the_other_case_of_its_other_case():
    """Pairs are told from both sides."""
    assert {letter: OTHER_CASE[other] for letter, other in OTHER_CASE.items()} == {
        letter: letter for letter in OTHER_CASE
    }


def test_what_left_a_category_has_gone_to_another():
    """A code point that left its category was added to a different one."""
    left = {code for ranges in REMOVED.values() for code, _ in ranges}
    assert left == {
        code
        for code in left
        if any(low <= code <= high for name in ("Lo", "Mc") for low, high in ADDED_TO_CATEGORIES[name])
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


def _read(text):
    """What an expression of one character reads, which may have flags in front."""
    tree = _tree(text)
    node = tree.parts[-1] if isinstance(tree, Sequence) else tree
    return cases(node.characters, folded=node.folded) if isinstance(node, Text) else characters(node)


@pytest.mark.parametrize("flags", ["", "(?i)", "(?s)"])
@pytest.mark.parametrize("text", ONE_CHARACTER)
def test_a_node_reads_what_the_matcher_reads(text, flags):
    """A class, a character or a dot reads exactly the characters that the matcher finds for it."""
    ranges = _read(flags + text)
    pattern = compile_pattern(rf"\A{flags}{text}\z")
    wrong = [each for each in SAMPLE if contains(ranges, ord(each)) != (pattern.search(each) is not None)]
    assert wrong == []


@pytest.mark.parametrize("text", ["[a-zA-Z]", "[0-9/_-]", "k", "s"])
def test_other_cases_of_ascii_are_those_of_re2(text):
    """The cases that are added by arithmetic are those that RE2 adds, among all code points."""
    assert _read(f"(?i){text}") == matched(f"(?i){text}")


def test_classes_follow_the_matcher_beyond_pythons_tables():
    """A letter of Unicode 16 is a letter here, whether Python knows it or not."""
    garay = "\U00010d50"
    assert unicodedata.category(garay) in {"Cn", "Lu"}
    assert contains(characters(_tree(r"\p{Lu}")), ord(garay))


@pytest.mark.parametrize(
    ("written", "name"),
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
def test_names_are_found_in_any_spelling(written, name):
    """Case, spaces, hyphens and underscores do not count; long names stand for short ones."""
    assert resolve(written) == name


@pytest.mark.parametrize("name", NAMES)
def test_every_name_resolves_to_one_that_resolves_to_itself(name):
    """The one name of a class is a name of it."""
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
    """Members come from RE2 and from what Unicode has added since RE2's tables were made."""
    ranges = members(name)
    assert [character for character in inside if not contains(ranges, ord(character))] == []
    assert [character for character in outside if contains(ranges, ord(character))] == []


def test_what_is_assigned_is_what_has_a_category():
    """`Cn` and `Assigned` share out all code points; `C` is what no other letter begins."""
    assert complement(members("Cn")) == members("Assigned")
    others = union(each for letter in "LMNPSZ" for each in members(letter))
    assert complement(others) == members("C")


@pytest.mark.parametrize("letter", "LMNPSZC")
def test_a_letter_stands_for_all_categories_that_begin_with_it(letter):
    r"""`\pL` is what `Ll`, `Lm`, `Lo`, `Lt` and `Lu` are together."""
    parts = [name for name in NAMES if len(name) == 2 and name[0] == letter and name != "LC"]
    assert union(each for part in parts for each in members(part)) == members(letter)


def test_case_is_folded_as_go_folds_it():
    """Under `(?i)` a class has the other case of its letters, for letters that are new as well."""
    assert difference(members("Lu"), members("Lu", fold=True)) == ()
    assert contains(members("Lu", fold=True), ord("a"))
    assert contains(members("Lu", fold=True), 0x10D70)
    assert folded(((ord("k"), ord("k")),)) == ((0x4B, 0x4B), (0x6B, 0x6B), (0x212A, 0x212A))


def test_cased_letters_are_never_folded():
    """Go has no folding table for `LC`: U+0345 folds to a letter, and is none of it."""
    assert contains(members("L", fold=True), 0x345)
    assert not contains(members("LC", fold=True), 0x345)


def test_nothing_and_everything_stay_what_they_are():
    """Folding neither makes something of nothing nor more of all."""
    assert folded(()) == ()
    assert folded(EVERYTHING) == EVERYTHING
