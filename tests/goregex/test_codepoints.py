from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.goregex.codepoints import (
    ADDED_TO_CATEGORIES,
    ADDED_TO_SCRIPTS,
    EVERYTHING,
    LAST,
    OTHER_CASE,
    REMOVED,
    bracketed,
    complement,
    contains,
    difference,
    spelled,
    union,
)

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
