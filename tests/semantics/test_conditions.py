from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tornado_proxy.semantics.conditions import Conditions, Outcome

WHEN = datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)
AT, BEFORE, AFTER = "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:36 GMT", "Sun, 06 Nov 1994 08:49:38 GMT"
GO, SAME, FAIL = Outcome.PROCEED, Outcome.NOT_MODIFIED, Outcome.PRECONDITION_FAILED


def test_no_headers_are_no_conditions():
    """A request without such headers has no conditions."""
    assert Conditions.from_headers({"Host": "example.org", "Accept": "*/*"}) == Conditions()


def test_header_names_are_of_any_case():
    """A condition is found whatever the case of its name."""
    assert Conditions.from_headers({"IF-none-Match": '"a", "b"'}) == Conditions(if_none_match=('"a"', '"b"'))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"If-Modified-Since": AT}, Conditions(if_modified_since=WHEN)),
        ({"If-Unmodified-Since": AT}, Conditions(if_unmodified_since=WHEN)),
        ({"If-Modified-Since": "yesterday"}, Conditions()),
        ({"If-Unmodified-Since": f"{AT}, {AT}"}, Conditions()),
        ({"If-None-Match": '"a"', "If-Modified-Since": AT}, Conditions(if_none_match=('"a"',))),
        ({"If-Match": '"a"', "If-Unmodified-Since": AT}, Conditions(if_match=('"a"',))),
        ({"If-None-Match": "broken", "If-Modified-Since": AT}, Conditions(if_none_match=("broken",))),
        ({"If-Range": '"a"'}, Conditions(if_range='"a"')),
        ({"If-Range": 'W/"a"'}, Conditions(if_range='W/"a"')),
        ({"If-Range": AT}, Conditions(if_range=WHEN)),
        ({"If-Range": "yesterday"}, Conditions(if_range="yesterday")),
    ],
)
def test_headers_are_normalized(headers, expected):
    """A date that is invalid or overridden by an ETag is absent; an If-Range that cannot hold is not."""
    assert Conditions.from_headers(headers) == expected


@pytest.mark.parametrize(
    ("headers", "outcome"),
    [
        ({}, GO),
        ({"If-Match": "*"}, GO),
        ({"If-Match": '"a"'}, GO),
        ({"If-Match": '"x", "a"'}, GO),
        ({"If-Match": '"x"'}, FAIL),
        ({"If-Match": 'W/"a"'}, FAIL),
        ({"If-Match": "a"}, FAIL),
        ({"If-Unmodified-Since": AT}, GO),
        ({"If-Unmodified-Since": AFTER}, GO),
        ({"If-Unmodified-Since": BEFORE}, FAIL),
        ({"If-Match": '"a"', "If-Unmodified-Since": BEFORE}, GO),
        ({"If-None-Match": "*"}, SAME),
        ({"If-None-Match": '"a"'}, SAME),
        ({"If-None-Match": 'W/"a"'}, SAME),
        ({"If-None-Match": '"x", "a"'}, SAME),
        ({"If-None-Match": '"x"'}, GO),
        ({"If-None-Match": "a"}, GO),
        ({"If-Modified-Since": AT}, SAME),
        ({"If-Modified-Since": AFTER}, SAME),
        ({"If-Modified-Since": BEFORE}, GO),
        ({"If-None-Match": '"x"', "If-Modified-Since": AFTER}, GO),
        ({"If-None-Match": '"a"', "If-Modified-Since": BEFORE}, SAME),
        ({"If-Match": '"x"', "If-None-Match": '"a"'}, FAIL),
        ({"If-Match": '"a"', "If-None-Match": '"a"'}, SAME),
        ({"If-Unmodified-Since": BEFORE, "If-Modified-Since": AFTER}, FAIL),
    ],
)
def test_the_decision_table(headers, outcome):
    """Conditions are decided in the order of RFC 9110 13.2.2, with three outcomes."""
    assert Conditions.from_headers(headers).decide('"a"', WHEN + timedelta(microseconds=5)) is outcome


@pytest.mark.parametrize(
    ("headers", "outcome"),
    [
        ({"If-Modified-Since": AFTER}, GO),
        ({"If-Unmodified-Since": BEFORE}, GO),
        ({"If-Match": '"a"'}, FAIL),
        ({"If-Match": "*"}, GO),
        ({"If-None-Match": '"a"'}, GO),
        ({"If-None-Match": "*"}, SAME),
    ],
)
def test_a_representation_without_validators(headers, outcome):
    """Dates say nothing of a representation without one, and no ETag names one without any (RFC 9110 13.1)."""
    assert Conditions.from_headers(headers).decide(None, None) is outcome


@pytest.mark.parametrize(
    ("headers", "etag", "allowed"),
    [
        ({}, None, True),
        ({}, '"a"', True),
        ({"If-None-Match": "*"}, None, True),
        ({"If-None-Match": "*"}, '"a"', False),
        ({"If-None-Match": '"x"'}, '"a"', True),
        ({"If-None-Match": 'W/"a"'}, '"a"', False),
        ({"If-Match": "*"}, None, False),
        ({"If-Match": "*"}, '"a"', True),
        ({"If-Match": '"a"'}, None, False),
        ({"If-Match": '"a"'}, '"a"', True),
        ({"If-Match": '"x"'}, '"a"', False),
        ({"If-Unmodified-Since": BEFORE}, '"a"', False),
        ({"If-Unmodified-Since": BEFORE}, None, True),
        ({"If-Modified-Since": AFTER}, '"a"', True),
    ],
)
def test_conditions_of_a_write(headers, etag, allowed):
    """A write goes ahead or does not; If-Modified-Since has no say in it (RFC 9110 13.1.3)."""
    exists = etag is not None
    conditions = Conditions.from_headers(headers)
    assert conditions.allow_write(etag, WHEN if exists else None, exists=exists) is allowed


@pytest.mark.parametrize(
    ("if_range", "holds"),
    [
        (None, True), ('"a"', True), ('"x"', False), ('W/"a"', False), (AT, True), (BEFORE, False), (AFTER, False),
        ("a", False), ("yesterday", False), ('"a", "b"', False), ("", False), (" ", False),
    ],
)  # fmt: skip
def test_a_range_depends_on_if_range(if_range, holds):
    """A Range is obeyed if If-Range is absent or names this representation, strongly (RFC 9110 13.1.5)."""
    conditions = Conditions.from_headers({} if if_range is None else {"If-Range": if_range})
    assert conditions.range_holds('"a"', WHEN + timedelta(microseconds=5)) is holds


@pytest.mark.parametrize("if_range", ['"a"', AT])
def test_if_range_never_holds_without_a_validator(if_range):
    """A representation without ETag and date is named by no If-Range."""
    assert not Conditions.from_headers({"If-Range": if_range}).range_holds(None, None)
