import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.goregex.alphabet import LONGEST, is_real
from tornado_proxy.rules.keys import LONGEST_OBJECT_KEY, host_objection, objection, path_objection, segment_objection


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
    """The leading slash is not part of what S3 counts."""
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


@pytest.mark.parametrize("host", ["", "www.example.com", "WWW.example.com:8080", "[::1]:80", "192.0.2.1", "a_b", "%41"])
def test_what_a_host_header_may_hold_is_a_host(host):
    """With its port, or as an address."""
    assert host_objection(host) is None


@pytest.mark.parametrize(
    ("host", "objection"),
    [
        ("a/b", "contains `/`"),
        ("http://a", "contains `/`"),
        ("a b", "contains ` `"),
        ("a,b", "contains `,`"),
        ("100%", "contains `%`"),
        ("ä.example", "contains `ä`"),
        ("a\n", "contains a control character"),
    ],
)
def test_what_the_service_refuses_is_none(host, objection):
    """The reason is a fact that a sentence can end with."""
    assert host_objection(host) == objection


@given(st.text("/.ab\x85\n\x7f\ud800é", max_size=8))
def test_proofs_know_the_same_keys(text):
    """What proofs take for a real key is what rules let through, where it starts with a slash."""
    assert is_real(text) == (text.startswith("/") and objection(text) is None)


@pytest.mark.parametrize(("text", "real"), [("/" + "a" * (LONGEST - 1), True), ("/" + "a" * LONGEST, False)])
def test_proofs_know_the_longest_key(text, real):
    """The greatest length is the same for proofs and for rules."""
    assert ((objection(text) is None), is_real(text)) == (real, real)
