"""A directory of several pages over HTTP: sorted over all of them, and searched by the beginning of names."""

import json
import re
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving import serve

from tornado_proxy.config.model import ArchiveOptions, ListingOptions
from tornado_proxy.web import browse
from tornado_proxy.web.browse import _before

FILES = {f"build-{number:04}.log": b"x" * number for number in range(1, 61)}


async def _walk(site, query):
    """Returns the names on the pages of a listing, page after page."""
    path, pages = f"/?format=json&limit=25&{query}", []
    while path:
        found = json.loads((await site.get(path)).body)
        pages.append([entry["name"] for entry in found["entries"]])
        path = found["next"]
    return pages


@pytest.mark.parametrize(("query", "ascending"), [("sort=size&order=desc", False), ("sort=size", True)])
async def test_all_pages_are_sorted(query, ascending):
    """Each page continues the order of the page before, and each entry is on one page."""
    async with serve(FILES) as site:
        pages = await _walk(site, query)
    assert [len(page) for page in pages] == [25, 25, 10]
    assert [name for page in pages for name in page] == sorted(FILES, reverse=not ascending)


async def test_an_order_begins_at_the_first_page():
    """A page that was reached without an order has no meaning in another one; the listing begins anew."""
    async with serve(FILES) as site:
        second = json.loads((await site.get("/?format=json&limit=25")).body)["next"]
        page = await site.get(f"{second}&sort=size&order=desc&format=html")
    assert "build-0060.log" in page.text
    assert "First page" not in page.text


async def test_a_very_large_directory_is_sorted_page_by_page(monkeypatch):
    """Above the bound the order is that of a page by itself, which the page says."""
    monkeypatch.setattr(browse.limits, "MOST_SORTED", 40)
    monkeypatch.setattr(browse.limits, "LISTED_AT_ONCE", 20)
    async with serve(FILES) as site:
        pages = await _walk(site, "sort=size&order=desc")
        shown = await site.get("/?sort=size&order=desc&limit=25", Accept="text/html")
    assert pages[0] == sorted(FILES, reverse=True)[-25:]
    assert "Size, this page" in shown.text


@pytest.mark.parametrize(
    ("begins", "expected"),
    [
        ("build-003", [f"build-{number:04}.log" for number in range(30, 40)]),
        ("build-0060.log", ["build-0060.log"]),
        ("sub", ["sub/"]),
        ("sub/", ["sub/"]),
        ("c", []),
        ("zzz", []),
        ("\U0010ffff", []),
        ("\ue000", []),
        ("0", ["0/"]),
        ("my ", ["my file"]),
    ],
)
async def test_names_are_searched_over_all_pages(begins, expected):
    """The listing has exactly the entries whose names begin with a text, wherever they are."""
    files = {**FILES, "sub/a": b"", "suc": b"", "0/a": b"", "/odd": b"", "my": b"", "my file": b""}
    async with serve(files) as site:
        assert await _walk(site, urlencode({"begins": begins})) == [expected]


async def test_a_search_has_pages_and_an_order():
    """The pages of a search have only what it finds, and can be sorted together."""
    async with serve({**FILES, "a": b"", "z": b""}) as site:
        plain = await _walk(site, "begins=build")
        by_size = await _walk(site, "begins=build&sort=size&order=desc")
    assert [name for page in plain for name in page] == sorted(FILES)
    assert [name for page in by_size for name in page] == sorted(FILES, reverse=True)


async def test_a_search_that_finds_nothing_is_a_page():
    """Nothing that begins with a text is no missing directory; a missing directory stays one."""
    async with serve({"a/b.txt": b"x"}) as site:
        assert (await site.get("/a/?begins=c", Accept="text/html")).status == 200
        assert (await site.get("/c/?begins=c", Accept="text/html")).status == 404


@given(st.text(min_size=1, max_size=4), st.text(max_size=3))
def test_all_names_that_begin_with_a_text_sort_after_what_precedes_it(begins, rest):
    """In S3's order, the name before a text precedes every name that begins with it."""
    begins, rest = (each.replace("\0", "").encode("utf-8", "ignore").decode() for each in (begins, rest))
    if begins:
        assert _before(begins).encode() < (begins + rest).encode()


@given(st.text(max_size=3), st.sampled_from(" \ue000\uffff\U00010000") | st.characters(exclude_categories=["Cs"]))
def test_a_search_asks_for_nothing_that_xml_cannot_express(begins, last):
    """A character before the last one of a text, with which S3 would repeat it, is one of XML."""
    added = _before(begins + last).removeprefix(begins)
    assert re.fullmatch("[\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*", added)


async def test_archives_are_offered_only_where_they_can_work():
    """A directory with more files or bytes than an archive may hold offers none."""
    fits = [
        (ArchiveOptions(enabled=True), True),
        (ArchiveOptions(enabled=True, max_files=59), False),
        (ArchiveOptions(enabled=True, max_size=1000), False),
    ]
    for options, expected in fits:
        async with serve(FILES, listing=ListingOptions(archive=options)) as site:
            assert ("Download .zip" in (await site.get("/", Accept="text/html")).text) is expected
