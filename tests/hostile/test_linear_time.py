"""The measure of linear time tells a quadratic reader from a linear one."""

import re

import pytest
from linear_time import check_linear, texts_of

TEXTS = tuple(texts_of((" ", "a"), ("", "b"), ("", "c")))
LONGEST = 2048


def test_a_quadratic_reader_fails():
    """The text is named whose blanks are read again from each of them."""
    with pytest.raises(pytest.fail.Exception, match=r"^'b? +c': [0-9.]+ ms, 8 times the length [0-9.]+ ms$"):
        check_linear(re.compile(r" +$").search, TEXTS, LONGEST)


def test_a_linear_reader_passes():
    """A reader whose time is long enough to be measured, and grows as its text does."""
    check_linear(lambda text: [hash((each, number)) for number in range(100) for each in text], TEXTS, LONGEST)
