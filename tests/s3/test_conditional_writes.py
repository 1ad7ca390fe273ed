from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tornado_proxy.s3.conditional_writes import Precondition, checked_precondition, immediate_precondition
from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.storage.errors import ObjectExists, PreconditionFailed
from tornado_proxy.storage.store import ObjectInfo, Write

NOW = datetime(2026, 5, 1, tzinfo=UTC)
INFO = ObjectInfo(3, '"1"', NOW)
IF_MISSING = {"IfNoneMatch": "*"}


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (Write(), Precondition()),
        (Write(conditions=Conditions(if_modified_since=NOW)), Precondition()),
        (Write(replace=False), Precondition(IF_MISSING, ObjectExists)),
        (Write(conditions=Conditions(if_none_match=("*",))), Precondition(IF_MISSING)),
        (Write(replace=False, conditions=Conditions(if_none_match=("*",))), Precondition(IF_MISSING)),
        (Write(conditions=Conditions(if_match=('"1"',))), Precondition({"IfMatch": '"1"'})),
    ],
)
def test_a_condition_that_s3_decides_needs_no_head(write, expected):
    """`immediate_precondition` returns the header and the error of a condition that every S3 decides."""
    assert immediate_precondition(write) == expected


@pytest.mark.parametrize(
    "conditions",
    [
        Conditions(if_match=("*",)),
        Conditions(if_match=('W/"1"',)),
        Conditions(if_match=("nonsense",)),
        Conditions(if_match=('"\xa0"',)),
        Conditions(if_match=('"1"', '"2"')),
        Conditions(if_match=('"1"',), if_none_match=("*",)),
        Conditions(if_none_match=('"1"',)),
        Conditions(if_unmodified_since=NOW),
        Conditions(if_none_match=("*",), if_unmodified_since=NOW),
    ],
)
def test_other_conditions_need_a_head(conditions):
    """`immediate_precondition` returns None for conditions that S3 does not decide as HTTP demands."""
    assert immediate_precondition(Write(conditions=conditions)) is None


def test_an_if_match_without_replace_needs_a_head():
    """`immediate_precondition` returns None for `replace=False` with If-Match, whose error depends on the object."""
    assert immediate_precondition(Write(replace=False, conditions=Conditions(if_match=('"1"',)))) is None


@pytest.mark.parametrize(
    ("write", "info", "expected"),
    [
        (Write(conditions=Conditions(if_match=("*",))), INFO, Precondition({"IfMatch": '"1"'})),
        (Write(conditions=Conditions(if_none_match=('"2"',))), INFO, Precondition({"IfMatch": '"1"'})),
        (Write(conditions=Conditions(if_none_match=('"2"',))), None, Precondition(IF_MISSING)),
        (Write(conditions=Conditions(if_unmodified_since=NOW)), ObjectInfo(3), Precondition()),
        (
            Write(replace=False, conditions=Conditions(if_none_match=('"2"',))),
            None,
            Precondition(IF_MISSING, ObjectExists),
        ),
    ],
)
def test_a_write_has_the_etag_of_its_head(write, info, expected):
    """`checked_precondition` demands that the object has not changed since the HEAD."""
    assert checked_precondition(write, info) == expected


@pytest.mark.parametrize(
    ("write", "info", "error"),
    [
        (Write(conditions=Conditions(if_match=("*",))), None, PreconditionFailed),
        (Write(conditions=Conditions(if_match=('"2"', '"3"'))), INFO, PreconditionFailed),
        (Write(replace=False, conditions=Conditions(if_match=('"1"',))), INFO, ObjectExists),
        (Write(replace=False, conditions=Conditions(if_match=('"1"',))), None, PreconditionFailed),
    ],
)
def test_a_write_with_a_failed_condition_is_refused(write, info, error):
    """`checked_precondition` raises if a condition fails or the object exists."""
    with pytest.raises(error):
        checked_precondition(write, info)
