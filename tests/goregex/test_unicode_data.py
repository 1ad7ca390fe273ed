import pytest

from tornado_proxy.goregex.codepoints import union
from tornado_proxy.goregex.unicode_data import ADDED_TO_CATEGORIES, ADDED_TO_SCRIPTS, OTHER_CASE, REMOVED


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
