"""Uploads in parts: each step is planned as the upload itself would be, for the rewritten key."""

from __future__ import annotations

import pytest

from tornado_proxy.config.actions import Actions, DeleteAction, PutAction
from tornado_proxy.config.model import Bucket
from tornado_proxy.routing.uploads import AbortUpload, BeginUpload, CompleteUpload, ListParts, ReceivePart

PUT = Actions(put=PutAction(enabled=True, max_size=10))
FOLDER = Bucket("bucket", prefix="folder1/")


@pytest.fixture(scope="session")
def planned(decided, site):
    """The plan of a PUT of a file with a query."""
    found = site((r"^/in/(.+)$", "/archive/$1"), mount="/m/", bucket=FOLDER, actions=PUT)
    return lambda query, path="/m/in/a b.txt": decided(found, f"PUT {path.replace(' ', '%20')}?{query}").plan


KEY, LOCATION = "folder1/archive/a b.txt", "/m/in/a%20b.txt"


@pytest.mark.parametrize(
    ("query", "step"),
    [
        ("upload=start&size=10", BeginUpload(KEY, LOCATION, 10, replace=False, max_size=10)),
        ("upload=part&id=x%2By&number=10000", ReceivePart(KEY, "x+y", 10_000)),
        ("upload=parts&id=x", ListParts(KEY, "x")),
        ("upload=complete&id=x&size=0", CompleteUpload(KEY, LOCATION, "x", 0, replace=False, max_size=10)),
        ("upload=abort&id=x", AbortUpload(KEY, "x")),
    ],
)
def test_each_step_is_for_the_rewritten_key(planned, query, step):
    """Rules, prefix and limits are those of an upload to the same path."""
    assert planned(query) == (step,)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("upload=start", "the query has no valid `size`"),
        ("upload=start&size=0", "an empty file has no parts"),
        ("upload=part&id=x&number=1&number=2", "the query names a parameter twice"),
        ("upload=start&size=-1", "the query has no valid `size`"),
        ("upload=start&size=1e9", "the query has no valid `size`"),
        ("upload=start&size=%D9%A1", "the query has no valid `size`"),
        ("upload=start&size=" + "9" * 20, "the query has no valid `size`"),
        ("upload=part&id=x", "the query has no valid `number`"),
        ("upload=part&id=x&number=0", "the number of a part is not one of 1 to 10000"),
        ("upload=part&id=x&number=10001", "the number of a part is not one of 1 to 10000"),
        ("upload=part&number=1", "the query has no valid `id` of an upload"),
        ("upload=parts&id=", "the query has no valid `id` of an upload"),
        ("upload=abort&id=%0A", "the query has no valid `id` of an upload"),
        ("upload=complete&size=1&id=" + "x" * 1025, "the query has no valid `id` of an upload"),
        ("upload=complete&id=x", "the query has no valid `size`"),
    ],
)
def test_a_step_without_what_it_needs_is_refused(planned, query, reason):
    """The client and the log read what is wrong in the query."""
    (refused,) = planned(query)
    assert (refused.status, refused.reason) == (400, reason)
    assert refused.message == f"The query of an upload in parts is not valid: {reason}"


@pytest.mark.parametrize("path", ["/m/in/", "/m"])
def test_a_directory_is_not_uploaded_in_parts(planned, path):
    """Neither a directory nor the bare mount names a file."""
    (refused,) = planned("upload=start&size=1", path)
    assert (refused.status, refused.reason) == (400, "an upload in parts needs the path of a file")


@pytest.mark.parametrize("value", ["other", "", "START", "other&upload=start&size=1"])
def test_what_is_not_a_step_is_refused(decided, site, value):
    """A part whose step is misspelt is not stored as the file."""
    raw = site(actions=Actions(put=PutAction(enabled=True, raw_uploads=True)))
    (refused,) = decided(raw, f"PUT /a?upload={value}").plan
    assert (refused.status, refused.reason) == (400, "`?upload=` has a value that is not a step of an upload")


def test_a_delete_takes_no_step(decided, site):
    """Who aborts an upload as S3 does it, by a DELETE, keeps the file that is there."""
    found = site(actions=Actions(delete=DeleteAction(enabled=True)))
    (refused,) = decided(found, "DELETE /a?upload=abort&id=x").plan
    assert (refused.status, refused.reason) == (400, "a step of an upload in parts is a PUT")


def test_a_step_is_planned_where_put_is_enabled(decided, site):
    """A target that takes no uploads takes none in parts."""
    (refused,) = decided(site(actions=Actions()), "PUT /a?upload=start&size=1").plan
    assert refused.status == 405
