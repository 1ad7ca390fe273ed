"""A page of a directory, as values, JSON and text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tornado_proxy.pages.listing import Crumb, Line, Listing, as_json, as_text, timestamp

CHANGED = datetime(2026, 5, 1, 12, 34, 56, tzinfo=UTC)


@pytest.mark.parametrize(
    ("path", "root", "expected"),
    [
        ("/", "/", [("/", "/")]),
        ("/a/b c/", "/", [("/", "/"), ("a", "/a/"), ("b c", "/a/b%20c/")]),
        ("/files/a/", "/files/", [("/files/", "/files/"), ("a", "/files/a/")]),
        ("/a//b/", "/", [("/", "/"), ("a", "/a/"), ("∅", "/a//"), ("b", "/a//b/")]),
        ("//x/", "/", [("/", "/"), ("∅", "/%2F"), ("x", "/%2Fx/")]),
    ],
)
def test_the_way_begins_at_the_mount(path, root, expected):
    """Each directory from the mount's root to the listed one is a link, empty names included."""
    assert Listing(path, root, ()).crumbs == tuple(Crumb(*pair) for pair in expected)


def test_json_has_every_field_of_every_entry():
    """A file has all five facts, a directory only what S3 knows of it, and the end has no next page."""
    listing = Listing("/a/", "/", (Line("b/"), Line("c.txt", 3, CHANGED, '"e"')))
    assert as_json(listing) == {
        "path": "/a/",
        "entries": [
            {"name": "b/", "href": "/a/b/", "type": "directory", "size": None, "lastModified": None, "etag": None},
            {
                "name": "c.txt",
                "href": "/a/c.txt",
                "type": "file",
                "size": 3,
                "lastModified": "2026-05-01T12:34:56Z",
                "etag": '"e"',
            },
        ],
        "next": None,
    }


def test_json_says_where_it_goes_on():
    """A page that is not the last has the link to the next."""
    listing = Listing("/a b/", "/", (), (("after", "t="), ("limit", "5")))
    assert as_json(listing)["next"] == "/a%20b/?after=t%3D&limit=5"


def test_json_keeps_a_name_that_cannot_be_requested():
    """Such an entry has its exact name and no link."""
    entries = as_json(Listing("/", "/", (Line("a\nb", 1),)))["entries"]
    assert [(entry["name"], entry["href"]) for entry in entries] == [("a\nb", None)]


def test_text_is_one_line_an_entry():
    """Names come first, sizes and times follow behind tabs, and no name can break a line."""
    listing = Listing("/", "/", (Line("b/"), Line("a\tb\n", 1), Line("c d.txt", 3, CHANGED)))
    assert as_text(listing) == "b/\na␉b␊\t1\nc d.txt\t3\t2026-05-01T12:34:56Z\n"


def test_moments_are_told_in_utc():
    """A moment of another zone is converted."""
    assert timestamp(datetime(2026, 5, 1, 14, 0, tzinfo=timezone(timedelta(hours=2)))) == "2026-05-01T12:00:00Z"
