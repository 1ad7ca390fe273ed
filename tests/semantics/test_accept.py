from __future__ import annotations

import pytest

from tornado_proxy.semantics.accept import negotiate, negotiate_coding

HTML, JSON, TEXT = "text/html", "application/json", "text/plain"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, HTML),
        ("", HTML),
        ("*/*", HTML),
        ("application/json", JSON),
        ("APPLICATION/JSON", JSON),
        ("application/json; charset=utf-8", JSON),
        ("text/plain", TEXT),
        ("text/*", HTML),
        ("application/*", JSON),
        ("text/html;q=0.5, application/json;q=0.9", JSON),
        ("text/html, application/json", HTML),
        ("*/*;q=0.1, text/plain", TEXT),
        ("text/*, text/html;q=0.1", TEXT),
        ("text/html;q=0, */*", JSON),
        ("text/html;level=1;q=0.3, application/json;q=0.2", HTML),
        ('text/html;note="a, b;q=0";q=0.1, application/json', JSON),
        ("application/json;Q=0.9, text/html;q=0.8", JSON),
        ("text/html ; q=0.1 , application/json ; q=1.000", JSON),
        ("image/png", HTML),
        ("text/html;q=0, application/json;q=0, text/plain;q=0", HTML),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8", HTML),
    ],
)
def test_the_best_offer_is_chosen(accept, expected):
    """The highest weight wins, the most specific range gives it, and of equals the first offer stands."""
    assert negotiate(accept, (HTML, JSON, TEXT)) == expected


@pytest.mark.parametrize(
    "broken",
    [
        "json",
        "text/html/x",
        "text/plain;q=2",
        "text/plain;q=high",
        "text/plain;q=",
        ";;",
        "text/plain;q=0.1234",
        "/",
    ],
)
def test_a_broken_member_is_passed_over(broken):
    """A member that is ill-formed says nothing; the others count."""
    assert negotiate(f"{broken}, application/json;q=0.1", (HTML, JSON, TEXT)) == JSON


@pytest.mark.parametrize("unclosed", ['"', '"\\', 'text/html;a="b, text/html', '"\\"'])
def test_a_quote_that_is_not_closed_takes_the_rest(unclosed):
    """What stands before the member with the quote counts; what follows it belongs to the member."""
    assert negotiate(f"application/json;q=0.1, {unclosed}, text/plain", (HTML, JSON, TEXT)) == JSON


def test_long_runs_of_blanks_are_read_in_time():
    """A header full of blanks, as large as a server takes, is passed over without trying every split of them."""
    assert negotiate("text/plain" + f"; {' ' * 30000}" * 2 + "?", (HTML, JSON, TEXT)) == HTML


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", None),
        ("gzip", "gzip"),
        ("GZip", "gzip"),
        ("x-gzip", "gzip"),
        ("deflate", "deflate"),
        ("gzip, deflate, br, zstd", "gzip"),
        ("deflate, gzip", "gzip"),
        ("gzip;q=0.5, deflate;q=0.8", "deflate"),
        ("gzip ; Q=0.1", "gzip"),
        ("*", "gzip"),
        ("gzip;q=0, *", "deflate"),
        ("*;q=0", None),
        ("gzip;q=0", None),
        ("br", None),
        ("identity", None),
        ("identity, gzip;q=0.5", None),
        ("identity;q=0.5, gzip;q=0.5", "gzip"),
        ("gzip;q=2, deflate;q=0.1", "deflate"),
        ("gzip;q=high, gzip/1, ;;", None),
    ],
)
def test_a_coding_is_used_only_where_the_client_wants_it(accept, expected):
    """What is not named is not accepted, and no coding stays the choice unless one weighs as much."""
    assert negotiate_coding(accept, ("gzip", "deflate")) == expected
