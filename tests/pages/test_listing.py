"""A page of a directory, as values, JSON and text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.pages.listing import (
    Crumb,
    Line,
    Listing,
    Order,
    as_json,
    as_text,
    human_size,
    link,
    link_to,
    timestamp,
    visible,
)
from tornado_proxy.rules.model import path_objection

NAMES = st.text(min_size=1, max_size=20)


@given(NAMES)
def test_a_link_decodes_to_the_path_that_it_was_made_from(name):
    """The link of an entry requests that entry, on this host."""
    reference = link_to("/a/", name)
    if reference is not None:
        parts = urlsplit(reference)
        assert (parts.netloc, parts.query, parts.fragment) == ("", "", "")
        assert unquote(parts.path, errors="strict") == "/a/" + name


@given(NAMES)
def test_only_what_can_be_requested_has_a_link(name):
    """A name has a link if and only if its path is valid."""
    assert (link_to("/a/", name) is None) == (path_objection("/a/" + name) is not None)


@pytest.mark.parametrize("name", ["..", ".", "../", "a\n", "\x7f", "\ud800"])
def test_a_name_that_no_request_can_name_has_no_link(name):
    """A path cannot contain dot segments, control characters or surrogates."""
    assert link_to("/", name) is None


def test_a_link_never_names_another_host():
    """A path that begins with two slashes keeps them, one of them encoded."""
    assert link("//evil.test/x") == "/%2Fevil.test/x"


def test_a_query_is_encoded():
    """A link's query may contain any text."""
    assert link("/a/", [("after", "a&b"), ("limit", "2")]) == "/a/?after=a%26b&limit=2"


@pytest.mark.parametrize(
    ("name", "shown"),
    [("a\tb", "a␉b"), ("\x00", "␀"), ("\x7f", "␡"), ("\x85", "�"), ("\ud800", "�"), ("größe 日本", "größe 日本")],
)
def test_control_characters_are_shown_as_pictures(name, shown):
    """A shown name has no invisible characters; letters of all scripts stay."""
    assert visible(name) == shown


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (1024**2 - 1, "1.0 MiB"),
        (1024**2 - 52, "1023.9 KiB"),
        (1024**2, "1.0 MiB"),
        (5 * 1024**3, "5.0 GiB"),
        (5 * 1024**4, "5.0 TiB"),
        (2**63 - 1, "8.0 EiB"),
        (2**80, "1048576.0 EiB"),
    ],
)
def test_a_size_is_shown_in_the_unit_that_suits_it(size, expected):
    """A size has one decimal and the largest unit in which it is at least 1."""
    assert human_size(size) == expected


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
    """A file has all five fields, a directory its name and link; the last page has no next page."""
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
    """Every page but the last has the link to the next."""
    listing = Listing("/a b/", "/", (), {"limit": "5", "other": "1"}, "t=")
    assert as_json(listing)["next"] == "/a%20b/?after=t%3D&limit=5"


FILES = (Line("a10", 3, CHANGED), Line("B/"), Line("a9", 5), Line("A1", 3, CHANGED.replace(year=2025)))


@pytest.mark.parametrize(
    ("order", "names"),
    [
        (Order(), "B/ A1 a9 a10"),
        (Order(descending=True), "B/ a10 a9 A1"),
        (Order(directories_first=False), "A1 a9 a10 B/"),
        (Order("size"), "B/ A1 a10 a9"),
        (Order("size", descending=True), "B/ a9 A1 a10"),
        (Order("size", descending=True, directories_first=False), "a9 A1 a10 B/"),
        (Order("date"), "B/ a9 A1 a10"),
        (Order("date", descending=True), "B/ a10 A1 a9"),
    ],
)
def test_lines_are_sorted_as_people_expect(order, names):
    """Numbers in names count, cases do not; names decide between equals; directories may come first."""
    assert " ".join(line.name for line in order.applied(FILES)) == names


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({}, ["a10", "B/", "a9", "A1"]),
        ({"sort": "owner"}, ["a10", "B/", "a9", "A1"]),
        ({"sort": "size", "order": "desc"}, ["B/", "a9", "A1", "a10"]),
    ],
)
def test_programs_get_an_order_only_if_they_ask(query, names):
    """Without `?sort=`, or with an unknown one, lines have S3's order."""
    listing = Listing("/", "/", FILES, query)
    assert [entry["name"] for entry in as_json(listing)["entries"]] == names


def test_the_link_of_a_column_reverses_the_order():
    """The link of a column sorts this page by it, in descending order if the order was ascending."""
    assert Listing("/", "/", ()).sorted_by("name") == "/?sort=name&order=desc"
    assert Listing("/", "/", (), {"after": "YQ", "limit": "5"}).sorted_by("size") == (
        "/?after=YQ&limit=5&sort=size&order=asc"
    )
    assert Listing("/", "/", (), {"sort": "size"}).sorted_by("size") == "/?sort=size&order=desc"
    assert Listing("/", "/", (), {"sort": "size", "order": "desc"}).sorted_by("size") == "/?sort=size&order=asc"


def _query(href):
    return dict(parse_qsl(href.partition("?")[2], keep_blank_values=True))


def test_pages_lead_on_and_back():
    """From the first page to the last, and by the same ways back; the order is kept."""
    seen, query = [], {"sort": "size"}
    for token in ("t1", "t2", "t3", None):
        listing = Listing("/", "/", (), query, token)
        seen.append(query)
        query = _query(listing.next_page) if token else query
    back = []
    while listing.previous_page:
        query = _query(listing.previous_page)
        back.append(query.get("after"))
        listing = Listing("/", "/", (), query, "more")
        assert query["sort"] == "size"
    assert [each.get("after") for each in seen] == [None, "t1", "t2", "t3"]
    assert back == ["t2", "t1", None]


def test_the_way_back_is_bounded():
    """A link remembers thirty pages; where the way back is forgotten, none is shown."""
    query: dict[str, str] = {}
    for number in range(50):
        query = _query(Listing("/", "/", (), query, f"t{number}").next_page)
    assert len(query["via"]) < 200
    steps = 0
    while previous := Listing("/", "/", (), query).previous_page:
        query, steps = _query(previous), steps + 1
    assert (steps, query["after"]) == (30, "t19")


@pytest.mark.parametrize("query", [{}, {"after": "YQ"}, {"via": "a.b"}])
def test_without_a_way_there_is_no_way_back(query):
    """The first page has no page before it, and one that a link of a program led to does not know it."""
    assert Listing("/", "/", (), query).previous_page is None


def test_a_way_that_somebody_wrote_is_harmless():
    """What is no token is left out."""
    listing = Listing("/", "/", (), {"after": "YQ", "via": '"><script>.b.' + "x" * 2000})
    assert listing.previous_page == "/?after=b&via="


def test_json_keeps_a_name_that_cannot_be_requested():
    """Such an entry has its exact name and no link."""
    entries = as_json(Listing("/", "/", (Line("a\nb", 1),)))["entries"]
    assert [(entry["name"], entry["href"]) for entry in entries] == [("a\nb", None)]


def test_text_is_one_line_an_entry():
    """Names come first, then sizes and times after tabs; no name can contain a line end."""
    listing = Listing("/", "/", (Line("b/"), Line("a\tb\n", 1), Line("c d.txt", 3, CHANGED)))
    assert as_text(listing) == "b/\na␉b␊\t1\nc d.txt\t3\t2026-05-01T12:34:56Z\n"


def test_times_are_formatted_in_utc():
    """A time of another zone is converted."""
    assert timestamp(datetime(2026, 5, 1, 14, 0, tzinfo=timezone(timedelta(hours=2)))) == "2026-05-01T12:00:00Z"


def test_the_way_back_is_short_however_long_the_names_are():
    """Servers limit the length of a request line."""
    listing = Listing("/", "/", (), {"after": "Y" * 1400, "via": ".".join("Z" * 1400 for _ in range(20))}, "next")
    assert len(listing.next_page) < 5000
    assert "via=-.ZZZ" in listing.next_page
