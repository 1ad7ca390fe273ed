"""A listing's window is what the query says, within bounds."""

from __future__ import annotations

import pytest

from tornado_proxy.gateway.pagination import Window, next_query, read_window


def test_a_token_is_the_stores():
    """The next page's query gives the store its token back."""
    assert read_window(dict(next_query({}, "L2EvYg")), 1000) == Window("L2EvYg", 1000)


def test_no_token_is_the_first_page():
    """Neither an absent nor an empty token is one."""
    assert read_window({}, 1000).token is None
    assert read_window({"after": ""}, 1000).token is None


def test_the_last_page_leads_nowhere():
    """Without a token there is no query."""
    assert next_query({"limit": "5"}, None) == ()


def test_what_the_client_chose_is_kept():
    """The next page has the same limit and form, and nothing else of the query."""
    query = {"limit": "5", "format": "json", "after": "old", "other": "x"}
    assert next_query(query, "t") == (("after", "t"), ("limit", "5"), ("format", "json"))


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        *[("5", 5), ("1", 1), ("999", 999), ("1000", 1000)],
        *[(text, 1000) for text in ("1001", "0", "-1", "x", "", "٣", "9" * 5000, "5.0", "+5", " 5")],
    ],
)
def test_the_limit_is_bounded(limit, expected):
    """A limit between one and the most is obeyed; all else means the most."""
    assert read_window({"limit": limit}, 1000).limit == expected
