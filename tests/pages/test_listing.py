"""A page of a listing, in each form."""

import re
from datetime import UTC, datetime, timedelta, timezone
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.pages.listing import (
    Crumb,
    Listing,
    Offers,
    Order,
    human_size,
    link,
    link_to,
    listing_view,
    timestamp,
    visible,
)
from tornado_proxy.pages.render import Form, Pages
from tornado_proxy.rules.model import path_objection
from tornado_proxy.storage.store import Entry

NAMES = st.text(min_size=1, max_size=20)


@given(NAMES)
def test_a_link_decodes_to_its_path(name):
    """The link of an entry requests exactly that entry, on the same host."""
    reference = link_to("/a/", name)
    if reference is not None:
        parts = urlsplit(reference)
        assert (parts.netloc, parts.query, parts.fragment) == ("", "", "")
        assert unquote(parts.path, errors="strict") == "/a/" + name


@given(NAMES)
def test_only_valid_paths_have_links(name):
    assert (link_to("/a/", name) is None) == (path_objection("/a/" + name) is not None)


def test_a_link_never_names_another_host():
    """In a path that begins with two slashes, the second is encoded."""
    assert link("//evil.test/x") == "/%2Fevil.test/x"


def test_a_query_is_encoded():
    assert link("/a/", [("after", "a&b"), ("limit", "2")]) == "/a/?after=a%26b&limit=2"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a\tb", "a␉b"),
        ("\x00", "␀"),
        ("\x7f", "␡"),
        ("\x85", "�"),
        ("\ud800", "�"),
        ("\u202egpj.exe", "�gpj.exe"),
        ("\u2066a\u2069", "�a�"),
        ("größe 日本", "größe 日本"),
    ],
)
def test_control_characters_are_visible(name, expected):
    """Invisible characters are replaced, and letters of all scripts stay."""
    assert visible(name) == expected


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
def test_a_size_has_a_suitable_unit(size, expected):
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
def test_breadcrumbs_start_at_the_mount(path, root, expected):
    assert Listing(path, root, ()).crumbs == tuple(Crumb(*pair) for pair in expected)


FILES = (Entry("a10", 3, CHANGED), Entry("B/"), Entry("a9", 5), Entry("A1", 3, CHANGED.replace(year=2025)))


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
def test_lines_are_sorted_naturally(order, names):
    """Numbers in names are compared by value, cases are ignored, and equal lines are sorted by name."""
    assert " ".join(line.name for line in order.applied(FILES)) == names


def test_the_link_of_a_column_reverses_the_order():
    """The link of a column sorts by it, with the largest and the newest first, and a second click reverses the order."""
    assert Listing("/", "/", ()).sorted_by("name") == "/?sort=name&order=desc"
    assert Listing("/", "/", ()).sorted_by("date") == "/?sort=date&order=desc"
    assert Listing("/", "/", (), {"sort": "size"}).sorted_by("size") == "/?sort=size&order=desc"
    assert Listing("/", "/", (), {"sort": "size", "order": "desc"}).sorted_by("size") == "/?sort=size&order=asc"


def test_an_order_of_all_pages_begins_at_the_first():
    """The link of a column leads to the first page if all pages are sorted, and stays on a page sorted by itself."""
    query = {"after": "YQ", "begins": "a", "limit": "5"}
    assert Listing("/", "/", (), query).sorted_by("size") == "/?after=YQ&begins=a&limit=5&sort=size&order=desc"
    assert Listing("/", "/", (), query, is_sorted=True).sorted_by("size") == "/?begins=a&limit=5&sort=size&order=desc"


def test_the_link_to_all_names_keeps_the_order():
    query = {"begins": "a", "after": "YQ", "limit": "5", "sort": "size"}
    assert Listing("/", "/", (), query).unfiltered == "/?limit=5&sort=size"


def _query(href):
    return dict(parse_qsl(href.partition("?")[2], keep_blank_values=True))


def test_pages_have_links_to_the_next_and_the_previous_page():
    """The links lead to the last page and back through the same pages, in the same order."""
    queries, query = [], {"sort": "size"}
    for token in ("t1", "t2", "t3", None):
        listing = Listing("/", "/", (), query, token)
        queries.append(query)
        query = _query(listing.next_page) if token else query
    tokens = []
    while listing.previous_page:
        query = _query(listing.previous_page)
        tokens.append(query.get("after"))
        listing = Listing("/", "/", (), query, "more")
        assert query["sort"] == "size"
    assert [query.get("after") for query in queries] == [None, "t1", "t2", "t3"]
    assert tokens == ["t2", "t1", None]


def test_links_back_are_limited():
    """A link has the tokens of the last pages only, since servers limit the length of a request line."""
    query: dict[str, str] = {}
    for number in range(50):
        query = _query(Listing("/", "/", (), query, f"t{number:0200}").next_page)
    assert len(query["via"]) < 4100
    steps = 0
    while previous := Listing("/", "/", (), query).previous_page:
        query, steps = _query(previous), steps + 1
    assert (steps, query["after"][-3:]) == (19, "030")


@pytest.mark.parametrize("query", [{}, {"after": "YQ"}, {"via": "a.b"}])
def test_a_page_may_have_no_previous_page(query):
    """The first page, and a page without the tokens of previous pages, have no link back."""
    assert Listing("/", "/", (), query).previous_page is None


def test_invalid_tokens_are_left_out():
    listing = Listing("/", "/", (), {"after": "YQ", "via": '"><script>.b.' + "x" * 2000})
    assert listing.previous_page == "/?after=b&via="


def test_times_are_formatted_in_utc():
    assert timestamp(datetime(2026, 5, 1, 14, 0, tzinfo=timezone(timedelta(hours=2)))) == "2026-05-01T12:00:00Z"


def _rows(*lines):
    return str(listing_view(Listing("/a/", "/", lines), Offers())["rows"])


@pytest.mark.parametrize(
    ("name", "icon"),
    [
        ("a/", "directory"),
        ("photo.JPG", "image"),
        ("film.mp4", "video"),
        ("song.mp3", "audio"),
        ("notes.txt", "text"),
        ("main.py", "code"),
        ("all.tar.gz", "archive"),
        ("LICENSE", "file"),
        ("gz", "file"),
        ("a.unknown", "file"),
    ],
)
def test_an_entry_has_the_icon_of_its_type(name, icon):
    """The extension decides, in upper or lower case."""
    assert f'<a class="{icon}"' in _rows(Entry(name))


def test_titles_have_exact_values():
    rows = _rows(Entry("a", 1234567, CHANGED))
    assert '<data value="1234567">1.2 MiB</data>' in rows
    assert 'datetime="2026-05-01 12:34:56Z">2026-05-01 12:34</time>' in rows


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>", '" onmouseover="alert(1)', "' onload='x", "&amp;", "javascript:alert(1)",
        "\u202egpj.exe",
    ],
)  # fmt: skip
def test_a_name_is_escaped(name):
    """No name ends an attribute, adds an element, or changes the direction of other text."""
    rows = _rows(Entry(name, 1))
    assert re.fullmatch(r'<tr><th scope="row"><a class="[a-z]+" href="/a/[^"<>]+"><bdi>[^<>]+</bdi></a></th>.*\n', rows)


def test_a_page_that_is_sorted_by_itself_says_so():
    """The column and a note say what is sorted if that is one page of several; otherwise neither does."""
    lines, asked = (Entry("a", 1), Entry("b", 1)), {"sort": "size"}
    page = Pages().listing(Listing("/", "/", lines, asked, "YQ"), Form.HTML).body.decode()
    assert "2 files, 2 B on this page" in page
    assert "Size, this page</a>" in page
    assert "Sorting orders one page at a time." in page
    for other in (Listing("/", "/", lines, asked), Listing("/", "/", lines, asked, "2", is_sorted=True)):
        assert "this page</a>" not in Pages().listing(other, Form.HTML).body.decode()


@pytest.mark.parametrize(
    ("lines", "text"), [((Entry("IMG_1", 1),), "Names that begin with"), ((), "No name begins with")]
)
def test_a_search_says_what_it_found(lines, text):
    page = Pages().listing(Listing("/", "/", lines, {"begins": "IMG<"}), Form.HTML).body.decode()
    assert f'{text} “<bdi>IMG&lt;</bdi>”. <a href="/">Show all names</a>' in page
    assert "This directory is empty." not in page


def test_the_sorted_column_is_marked():
    html = Pages().listing(Listing("/", "/", (Entry("a"),), {"sort": "date", "order": "desc"}), Form.HTML).body.decode()
    assert re.findall(r'aria-sort="([a-z]+)"><a href="[^"]+" rel="nofollow">(\w+)', html) == [
        ("descending", "Modified")
    ]
