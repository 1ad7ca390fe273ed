import pytest

from tornado_proxy.rules.expressions.additions import CATEGORIES, LEFT, OTHER_CASE, SCRIPTS
from tornado_proxy.rules.expressions.ranges import union


@pytest.mark.parametrize("table", [CATEGORIES, SCRIPTS], ids=["categories", "scripts"])
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
    left = {code for ranges in LEFT.values() for code, _ in ranges}
    assert left == {
        code for code in left if any(low <= code <= high for name in ("Lo", "Mc") for low, high in CATEGORIES[name])
    }
