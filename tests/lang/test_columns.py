from __future__ import annotations

import pytest

from tornado_proxy.lang.columns import padded, width


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("a\u200db", 2), ("é", 1)])
def test_width_counts_columns_of_a_terminal(text, columns):
    """East Asian characters take two columns, combining and invisible ones none."""
    assert width(text) == columns


def test_padding_counts_columns_too():
    """A padded text takes as many columns as asked for."""
    assert padded("日本", 6) == "日本  "
