from __future__ import annotations

import pytest

from tornado_proxy.tools.convert.plain_targets import Piece, literal, plain_target_here, where_slashes_meet
from tornado_proxy.tools.convert.sources import Here, NotConvertible

ANYTHING = Piece("any", begins_with_slash=True, ends_with_slash=True, empty=True)
SEGMENT = Piece("segment", begins_with_slash=False, ends_with_slash=False, empty=False)
OPTIONAL = Piece("optional", begins_with_slash=False, ends_with_slash=False, empty=True)


@pytest.mark.parametrize(
    ("pieces", "meeting"),
    [
        ([], None),
        ([literal("/a/"), SEGMENT, literal("/b")], None),
        ([literal("/a"), ANYTHING], None),
        ([ANYTHING], None),
        ([literal("/a/"), literal("/b")], ("`/a/`", "`/b`")),
        ([literal("/a/"), OPTIONAL, literal("/b")], ("`/a/`", "`/b`")),
        ([literal("/a/"), OPTIONAL, OPTIONAL, SEGMENT, literal("/b")], None),
        ([literal("a/"), ANYTHING], ("`a/`", "any")),
        ([ANYTHING, literal(""), literal("/")], ("any", "`/`")),
    ],
)
def test_slashes_meet_where_nothing_need_stand_between(pieces, meeting):
    """The first pair is named, and what may be empty keeps nothing apart."""
    assert where_slashes_meet(pieces) == meeting


HERE = {
    ("/new", "^/old$", ""): "/new",
    ("new", "^/old$", ""): "/new",
    ("//new", "^/old$", ""): "/new",
    ("$1", "^/(.*)$", ""): "$1",
    ("new/$1", "^/docs/(.*)$", ""): "/new/$1",
    ("new$1", "^/docs(.*)$", ""): "/new$1",
    ("$two/$one", r"^/(?P<one>\w+)/(?P<two>[^/]+)$", ""): "$two/$one",
    ("a/$none$1", r"^/(\w+)", ""): "/a/$none$1",
    ("a/$x", r"^/(?:(?P<x>a)|(?P<x>b))", ""): "/a/$x",
    ("a$$b", "^/", ""): "/a$$b",
    ("folder1/new/$1", "^/old/([^/]+)", "folder1/"): "/new/$1",
    ("/folder1/new", "^/old", "/folder1"): "/new",
    ("folder1/", "^/old", "folder1"): "/",
}


@pytest.mark.parametrize(("given", "here"), HERE.items())
def test_a_target_is_written_below_the_prefix(given, here):
    """The same key results, and a slash stands where it begins."""
    target, source, prefix = given
    assert plain_target_here(target, Here(source), prefix) == here


UNPROVED = {
    ("other/x", "^/a", "folder1/"): "it may lead outside the prefix `folder1/`, where no rewrite leads here",
    ("$1/x", "^/(a)", "folder1/"): "it may lead outside the prefix `folder1/`, where no rewrite leads here",
    ("folder1", "^/(a)", "folder1/"): "it may lead outside the prefix `folder1/`, where no rewrite leads here",
    ("", "^/a", ""): "it is empty",
    ("a/../b", "^/a", ""): "it contains a `.` or `..` segment, which is refused here",
    ("a//b/$1", "^/(a)", ""): "it holds an empty segment, `//`, which s3-proxy's SDK takes out",
}


@pytest.mark.parametrize(("given", "reason"), UNPROVED.items())
def test_what_is_not_proved_is_not_written(given, reason):
    """The reason says what is in the way."""
    target, source, prefix = given
    with pytest.raises(NotConvertible) as unproved:
        plain_target_here(target, Here(source), prefix)
    assert str(unproved.value) == reason


@pytest.mark.parametrize(
    ("target", "source", "one", "other"),
    [
        ("new/$1", "^/docs(.*)$", "`/new/`", "`$1`"),
        ("$1/x", "^/(.*)$", "`$1`", "`/x`"),
        ("a/$1/b", r"^/(\w*)$", "`/a/`", "`/b`"),
        ("a/$1", r"^/(\w+/)*x$", "`/a/`", "`$1`"),
        ("a/$1/b", r"^/(?:(\w+)|-)$", "`/a/`", "`/b`"),
        ("a/$1", r"^/\Qa\E(x)$", "`/a/`", "`$1`"),
        ("a/$1", r"^/a(/\b)", "`/a/`", "`$1`"),
        ("$1$2", "^/(.*)b(.*)$", "`$1`", "`$2`"),
    ],
)
def test_slashes_that_may_meet_are_no_proof(target, source, one, other):
    """s3-proxy's SDK would take one of them out."""
    with pytest.raises(NotConvertible, match=r"an empty segment, `//`, may result") as unproved:
        plain_target_here(target, Here(source), "")
    assert f"between {one} and {other} " in str(unproved.value)


def test_the_whole_match_is_another_text():
    """`$0` may be used only where the source is as it was."""
    assert plain_target_here("a${0}x", Here("file"), "") == "/a${0}x"
    with pytest.raises(NotConvertible, match="`\\$0` is the whole match"):
        plain_target_here("a${0}x", Here("^/file", whole=False), "")
