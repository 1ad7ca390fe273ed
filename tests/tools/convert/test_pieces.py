import pytest

from tornado_proxy.tools.convert.pieces import Piece, literal, where_slashes_meet

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
