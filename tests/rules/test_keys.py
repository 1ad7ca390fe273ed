import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.rules.keys import LONGEST_OBJECT_KEY, objection, path_objection, segment_objection


@pytest.mark.parametrize(
    "text",
    ["/", "/a", "/a/", "//a", "/a//b", "/...", "/a../b", "/..a", "/.hidden", "/a b+c%d?e#f", "/é中", "/a\u3000b", ""],
)
def test_what_can_be_named_can_be_a_key(text):
    """Slashes in a row, dots within names, spaces and every script are fine."""
    assert objection(text) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("/..", "contains a `.` or `..` segment"),
        ("/.", "contains a `.` or `..` segment"),
        ("/a/../b", "contains a `.` or `..` segment"),
        ("/a/./b", "contains a `.` or `..` segment"),
        ("../a", "contains a `.` or `..` segment"),
        ("/a/..", "contains a `.` or `..` segment"),
        ("/a\nb", "contains a control character"),
        ("/\x00", "contains a control character"),
        ("/\x7f", "contains a control character"),
        ("/\x85", "contains a control character"),
        ("/\udcff", "is not valid Unicode"),
        ("/" + "é" * 513, "is longer than 1024 bytes"),
    ],
)
def test_what_no_key_may_hold_is_named(text, reason):
    """The reason is a fact that a sentence can end with."""
    assert objection(text) == reason


def test_a_key_may_be_as_long_as_s3_takes_it():
    """The leading slash is no part of what S3 counts."""
    assert objection("/" + "a" * LONGEST_OBJECT_KEY) is None
    assert objection("/" + "a" * (LONGEST_OBJECT_KEY + 1)) == "is longer than 1024 bytes"


def test_a_path_may_be_of_any_length():
    """A mount that is taken off may leave a short key."""
    assert path_objection("/" + "a" * 5000) is None
    assert path_objection("/" + "a" * 5000 + "/..") == "contains a `.` or `..` segment"


@given(st.lists(st.sampled_from(["a", ".", "..", "/", "b"])))
def test_no_segment_of_dots_passes(parts):
    """A key without objection has no segment that any file system reads as a step."""
    text = "".join(parts)
    assert (objection(text) is None) is (not {".", ".."} & set(text.split("/")))


@pytest.mark.parametrize(
    ("name", "objection"),
    [
        ("ann", None),
        ("ann@example.com", None),
        ("..ann", None),
        ("a\\b", None),
        ("", "is empty"),
        ("a/b", "contains a `/`"),
        ("/", "contains a `/`"),
        ("..", "contains a `.` or `..` segment"),
        (".", "contains a `.` or `..` segment"),
        ("a\n", "contains a control character"),
    ],
)
def test_a_name_is_one_segment(name, objection):
    """What names a file or a user stands in a key as one segment, whole."""
    assert segment_objection(name) == objection
