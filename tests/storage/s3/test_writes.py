from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tornado_proxy.routing.mounts import Properties
from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.storage.errors import ObjectExists, ObjectMissing, PreconditionFailed, Unreachable
from tornado_proxy.storage.s3.writes import Precondition, after_a_look, at_once, parameters_of
from tornado_proxy.storage.store import ObjectInfo, Write

NOW = datetime(2026, 5, 1, tzinfo=UTC)
THERE = ObjectInfo(3, '"1"', NOW)
EMPTY = {"IfNoneMatch": "*"}


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (Write(), Precondition()),
        (Write(conditions=Conditions(if_modified_since=NOW)), Precondition()),
        (Write(replace=False), Precondition(EMPTY, ObjectExists)),
        (Write(conditions=Conditions(if_none_match=("*",))), Precondition(EMPTY)),
        (Write(replace=False, conditions=Conditions(if_none_match=("*",))), Precondition(EMPTY)),
        (Write(conditions=Conditions(if_match=('"1"',))), Precondition({"IfMatch": '"1"'})),
    ],
)
def test_what_s3_decides_alone(write, expected):
    """One condition that every S3 knows is sent with the write; what it raises tells the rule from the client's."""
    assert at_once(write) == expected


@pytest.mark.parametrize(
    "conditions",
    [
        Conditions(if_match=("*",)),
        Conditions(if_match=('W/"1"',)),
        Conditions(if_match=("nonsense",)),
        Conditions(if_match=('"1"', '"2"')),
        Conditions(if_match=('"1"',), if_none_match=("*",)),
        Conditions(if_none_match=('"1"',)),
        Conditions(if_unmodified_since=NOW),
        Conditions(if_none_match=("*",), if_unmodified_since=NOW),
    ],
)
def test_what_needs_a_look(conditions):
    """Conditions that S3 does not decide, or decides in its own way, are decided here."""
    assert at_once(Write(conditions=conditions)) is None


def test_an_if_match_of_a_target_that_does_not_replace_needs_a_look():
    """Such a write can only fail, and how is a question of what is there."""
    assert at_once(Write(replace=False, conditions=Conditions(if_match=('"1"',)))) is None


@pytest.mark.parametrize(
    ("write", "found", "expected"),
    [
        (Write(conditions=Conditions(if_match=("*",))), THERE, Precondition({"IfMatch": '"1"'})),
        (Write(conditions=Conditions(if_none_match=('"2"',))), THERE, Precondition({"IfMatch": '"1"'})),
        (Write(conditions=Conditions(if_none_match=('"2"',))), None, Precondition(EMPTY)),
        (Write(conditions=Conditions(if_unmodified_since=NOW)), ObjectInfo(3), Precondition()),
        (Write(replace=False, conditions=Conditions(if_none_match=('"2"',))), None, Precondition(EMPTY, ObjectExists)),
    ],
)
def test_a_write_is_pinned_to_what_was_found(write, found, expected):
    """A write that may go ahead does so only if nothing has changed since."""
    assert after_a_look(write, found) == expected


@pytest.mark.parametrize(
    ("write", "found", "error"),
    [
        (Write(conditions=Conditions(if_match=("*",))), None, PreconditionFailed),
        (Write(conditions=Conditions(if_match=('"2"', '"3"'))), THERE, PreconditionFailed),
        (Write(replace=False, conditions=Conditions(if_match=('"1"',))), THERE, ObjectExists),
        (Write(replace=False, conditions=Conditions(if_match=('"1"',))), None, PreconditionFailed),
    ],
)
def test_a_write_that_may_not_go_ahead_is_refused(write, found, error):
    """What stands against a write is told before a byte is sent."""
    with pytest.raises(error):
        after_a_look(write, found)


@pytest.mark.parametrize("theirs", [PreconditionFailed, ObjectMissing])
def test_what_s3_finds_is_told_in_the_words_of_the_write(theirs):
    """S3 says 412 of an object in the way and 404 of one that is gone; either is the write's own refusal."""
    with pytest.raises(ObjectExists, match="so it is"), Precondition(EMPTY, ObjectExists).decided():
        raise theirs("so it is")


def test_other_errors_pass():
    """What has nothing to do with the condition is raised as it is."""
    with pytest.raises(Unreachable), Precondition(EMPTY, ObjectExists).decided():
        raise Unreachable("so it is")


def test_properties_are_parameters_of_s3():
    """What is not given is not said, so that the bucket's defaults hold."""
    moment = datetime(2065, 10, 21, tzinfo=UTC)
    properties = Properties(
        {"a": "b"}, cache_control="no-cache", expires=moment, storage_class="GLACIER", canned_acl="private"
    )
    assert parameters_of(Write("text/plain", properties=properties)) == {
        "ContentType": "text/plain",
        "Metadata": {"a": "b"},
        "CacheControl": "no-cache",
        "Expires": moment,
        "StorageClass": "GLACIER",
        "ACL": "private",
    }
    assert parameters_of(Write()) == {}
