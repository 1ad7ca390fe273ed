import pytest

from tornado_proxy.routing.keys import parse_request_path
from tornado_proxy.routing.request import Facts, query_pairs


@pytest.mark.parametrize(("path", "is_directory"), [("/", True), ("/a/", True), ("/a", False), ("/a%2F", True)])
def test_a_path_that_ends_in_a_slash_is_a_directory(path, is_directory):
    """Whether a directory is asked for is decided by the decoded path alone."""
    assert Facts("GET", parse_request_path(path)).is_directory is is_directory


@pytest.mark.parametrize(
    ("raw", "pairs"),
    [
        ("", ()),
        ("a=1&b=2&a=3", (("a", "1"), ("b", "2"), ("a", "3"))),
        ("a&b=", (("a", ""), ("b", ""))),
        ("a=x+y%2Bz", (("a", "x y+z"),)),
        ("%C3%A9=%E6%97%A5", (("é", "日"),)),
        ("a=%ff", (("a", "\ufffd"),)),
        ("a=\xc3\xa9", (("a", "é"),)),
        ("a=%zz", (("a", "%zz"),)),
    ],
)
def test_a_query_is_decoded_in_order(raw, pairs):
    """Names repeat and may have no value; what cannot be decoded is kept visible, never an error."""
    assert query_pairs(raw) == pairs
