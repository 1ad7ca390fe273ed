"""The HTML of a listing."""

from __future__ import annotations

import gzip
import random
import re
from datetime import UTC, datetime

import pytest
from markupsafe import Markup

from tornado_proxy.pages.listing import Listing
from tornado_proxy.pages.listing_view import (
    LARGEST_HTML,
    LARGEST_README,
    Offers,
    find_readme,
    listing_view,
    render_readme,
)
from tornado_proxy.pages.render import Form, Pages
from tornado_proxy.storage.store import Entry

CHANGED = datetime(2026, 5, 1, 12, 34, 56, tzinfo=UTC)


def _rows(*lines, offers=None):
    return str(listing_view(Listing("/a/", "/", lines), offers or Offers())["rows"])


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
    """Titles have the size in bytes and the time with seconds."""
    rows = _rows(Entry("a", 1234567, CHANGED))
    assert '<data value="1234567">1.2 MiB</data>' in rows
    assert 'datetime="2026-05-01 12:34:56Z">2026-05-01 12:34</time>' in rows


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>",
        '" onmouseover="alert(1)',
        "' onload='x",
        "&amp;",
        "javascript:alert(1)",
        "\u202egpj.exe",
    ],
)
def test_a_name_is_escaped(name):
    """No name ends an attribute, adds an element, or changes the direction of other text."""
    rows = _rows(Entry(name, 1))
    assert re.fullmatch(r'<tr><th scope="row"><a class="[a-z]+" href="/a/[^"<>]+"><bdi>[^<>]+</bdi></a></th>.*\n', rows)


def test_only_removable_entries_are_marked():
    """The script adds a button to the marked rows."""
    rows = _rows(Entry("a", 1), Entry("b", 1), offers=Offers(removable=frozenset({"b"})))
    assert [row for row in rows.splitlines() if "data-removable" in row] == [rows.splitlines()[1]]


@pytest.mark.parametrize("is_allowed", [False, True])
def test_the_upload_form_needs_permission(is_allowed):
    """Other viewers see neither the form nor the hint about JavaScript."""
    html = (
        Pages()
        .listing(Listing("/", "/", ()), Form.HTML, Offers(upload=is_allowed, replace=True, max_size=5))
        .body.decode()
    )
    assert ('<section class="upload" aria-label="Upload" hidden data-replace data-max="5">' in html) == is_allowed
    assert ("<noscript>" in html) == is_allowed


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
    """A page of a search says for what it searched, and whether nothing begins with it."""
    page = Pages().listing(Listing("/", "/", lines, {"begins": "IMG<"}), Form.HTML).body.decode()
    assert f'{text} “<bdi>IMG&lt;</bdi>”. <a href="/">Show all names</a>' in page
    assert "This directory is empty." not in page


def test_the_user_is_named():
    """A page for a signed-in user has the user's name, and a link to sign out if there is one."""
    listing = Listing("/", "/", ())
    assert "Signed in as <bdi>a&lt;n</bdi></p>" in Pages().listing(listing, Form.HTML, Offers(user="a<n")).body.decode()
    offers = Offers(user="ann", sign_out="/auth/staff/logout")
    assert 'href="/auth/staff/logout">Sign out</a>' in Pages().listing(listing, Form.HTML, offers).body.decode()
    assert "Signed in" not in Pages().listing(listing, Form.HTML).body.decode()


def test_the_sorted_column_is_marked():
    """Only the column by which the page is sorted has `aria-sort`."""
    html = Pages().listing(Listing("/", "/", (Entry("a"),), {"sort": "date", "order": "desc"}), Form.HTML).body.decode()
    assert re.findall(r'aria-sort="([a-z]+)"><a href="[^"]+" rel="nofollow">(\w+)', html) == [
        ("descending", "Modified")
    ]


def test_a_thousand_entries_compress_well():
    """A compressed page of 1000 entries with random names, sizes and dates is smaller than 60 kB."""
    rng = random.Random(7)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789-_ "
    lines = tuple(
        Entry(
            "".join(rng.choices(letters, k=rng.randint(8, 32))) + rng.choice([".jpg", ".pdf", ".txt", ""]),
            rng.randint(0, 1 << 32),
            datetime.fromtimestamp(rng.randint(1_500_000_000, 1_790_000_000), UTC),
        )
        for _ in range(1000)
    )
    html = Pages().listing(Listing("/a/", "/", lines), Form.HTML).body
    assert len(gzip.compress(html, 6)) < 60_000


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a", "README.md", "readme.txt"], "README.md"),
        (["readme", "ReadMe.TXT"], "ReadMe.TXT"),
        (["README/", "README.md.bak"], None),
        ([], None),
    ],
)
def test_a_readme_is_found_in_any_case(names, expected):
    """Markdown is preferred to text, and cases are ignored."""
    assert find_readme(names) == expected


def test_markdown_is_rendered():
    """Headings are one level below those of the page; tables, images and relative links work."""
    html = render_readme("README.md", '# Title\n\n*soft* [guide](docs/a b.md "x")\n\n| a |\n|---|\n| 1 |\n')
    assert "<h2>Title</h2>" in html
    assert "<em>soft</em>" in html
    assert "<td>1</td>" in html
    html = render_readme("README.markdown", "[guide](<docs/a b.md>) ![picture](a.png)\n\n###### six")
    assert '<a href="docs/a%20b.md" rel="noopener noreferrer nofollow">guide</a>' in html
    assert '<img src="a.png" alt="picture">' in html
    assert "<h6>six</h6>" in html


@pytest.mark.parametrize("text", ["| a |\n|---|\n| 1 |\n", "```\na\n```\n"])
def test_what_scrolls_can_be_reached_by_keyboard(text):
    """A wide table or a long line of code scrolls in its own box."""
    assert re.match('<(table|pre) tabindex="0">', render_readme("README.md", text))


def test_a_text_readme_is_not_rendered():
    """A README that is not Markdown is escaped and not rendered."""
    assert render_readme("README.txt", "# <b>&") == '<pre tabindex="0"># &lt;b&gt;&amp;</pre>\n'


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[a](javascript:alert(1))",
        "[a](data:text/html,x)",
        "<a href='vbscript:x'>a</a>",
        "<style>*{display:none}</style>",
        "<iframe src=x></iframe><object data=x></object><embed src=x>",
        "<form action=/x><input name=a><button>b</button></form>",
        "<p style='position:fixed' class='upload' id='announcement'>x</p>",
        "<svg onload=alert(1)><math><mtext></mtext></math></svg>",
        "<base href='//evil.example/'><meta http-equiv=refresh content=0><link rel=stylesheet href=x>",
        "<details ontoggle=alert(1) open>x</details>",
    ],
)
def test_markdown_is_sanitised(text):
    """Scripts, styles, forms, frames, handlers, classes and ids are removed."""
    html = str(render_readme("README.md", text))
    assert re.search(r"<(script|style|iframe|object|embed|form|input|button|svg|math|base|meta|link)\b", html) is None
    assert re.search(r"<[^>]*\s(on\w+|style|class|id)\s*=", html) is None
    assert re.search(r"""(href|src)=["']?\s*(javascript|data|vbscript):""", html) is None


@pytest.mark.parametrize("unit", ["[", "*a", "`", "> ", "![](", "<a", "&", "|a", "- ", "1. ", "***", "[a]: b\n", "~~"])
def test_a_hostile_readme_is_rendered_in_time(unit):
    """A README of the largest size that repeats one construct is rendered."""
    assert render_readme("README.md", (unit * LARGEST_README)[:LARGEST_README]) is not None


_HALF = LARGEST_README // 2
_COPYING = {
    "an address": f"[a]: http://x/{'y' * _HALF}\n\n" + "[a]" * (_HALF // 3 - 8),
    "a title": f"[a]: x '{'y' * _HALF}'\n\n" + "![a]" * (_HALF // 4 - 8),
    "a link that stays open": f"<p><a title='{'y' * _HALF}'></p>" + "<p>x</p>" * (_HALF // 8 - 5),
    "bold text that stays open": f"<p>{'<B>' * 3}{'<i/>' * 3}</p>" + "<p>x</p>" * (LARGEST_README // 8 - 5),
    "cells": f"|{'a|' * 5000}\n|{'-|' * 5000}\n{'|' + chr(10)}" * 1,
    "rows": f"|{'a|' * 99}\n|{'-|' * 99}\n" + "|\n" * (LARGEST_README // 2 - 250),
}


@pytest.mark.parametrize("kind", _COPYING)
def test_the_html_of_a_readme_has_a_limit(kind):
    """What Markdown or HTML would copy many times does not make a page large, and readers still see the text."""
    html = render_readme("README.md", _COPYING[kind])
    assert 0 < len(html) <= LARGEST_HTML
    assert html.count("y" * 1000) <= 2 * _HALF // 1000


def test_a_readme_that_takes_too_much_work_is_shown_as_it_is():
    """Quotes in quotes with thousands of lines are not rendered: the parser stops after a number of steps."""
    text = ">" * 1000 + "a\n" + "b\n" * 15_000
    assert render_readme("README.md", text) == Markup('<pre tabindex="0">{}</pre>\n').format(text)


def test_the_memory_of_rendered_readmes_has_a_limit():
    """All READMEs that are kept have a few megabytes together."""
    assert render_readme.cache_info().maxsize * (LARGEST_HTML + LARGEST_README) < 5 << 20


def test_links_and_emphasis_are_markdown():
    """Of HTML, the elements that a browser would open again in each block are left out, and their content stays."""
    html = render_readme(
        "README.md", "<p align=center><a href=x><img src=a.png></a> <kbd>x</kbd> <b >bold</b></p>\n\n[a](b) *c*"
    )
    assert "<img" in html
    assert "<kbd>x</kbd>" in html
    assert "bold" in html
    assert [tag for tag in ("<b>", "</b>", 'href="x"') if tag in html] == []
    assert "<em>c</em>" in html
    assert 'href="b"' in html
