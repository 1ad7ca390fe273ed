"""The pages, held by golden files; `UPDATE_GOLDEN=1` writes them anew."""

from __future__ import annotations

import json
import os
import re
import resource
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tornado_proxy.config.model import Mount
from tornado_proxy.pages.listing import Line, Listing
from tornado_proxy.pages.render import Failure, Form, Pages, TargetLinks, UploadResult, choose, target_links
from tornado_proxy.routing.request import UnknownFormat

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "override", "expected"),
    [
        (None, None, Form.HTML),
        ("*/*", None, Form.HTML),
        (BROWSER, None, Form.HTML),
        ("application/json", None, Form.JSON),
        ("text/plain", None, Form.TEXT),
        ("text/html;q=0.5, application/json", None, Form.JSON),
        ("image/png", None, Form.HTML),
        (BROWSER, "json", Form.JSON),
        ("application/json", "text", Form.TEXT),
        ("application/json", "xml", Form.JSON),
        ("application/json", "", Form.JSON),
    ],
)
def test_the_query_overrides_the_header(accept, override, expected):
    """`?format=` decides where it names a form that is offered; else Accept does; else the first offer."""
    assert choose((Form.HTML, Form.JSON, Form.TEXT), accept, override) is expected


def test_a_listing_refuses_a_form_that_it_does_not_have():
    """A mistyped `?format=` is an error; an empty one is ignored."""
    offers = (Form.HTML, Form.JSON)
    with pytest.raises(UnknownFormat, match="available as html, json, zip"):
        choose(offers, "*/*", "jsn", is_strict=True, others=("zip",))
    assert choose(offers, "application/json", "", is_strict=True) is Form.JSON
    assert choose(offers, None, "json", is_strict=True) is Form.JSON


def test_a_form_that_is_not_offered_is_not_chosen():
    """An upload's answer is never HTML."""
    assert choose((Form.JSON, Form.TEXT), "text/html", "html") is Form.JSON


@pytest.mark.parametrize(
    ("form", "content_type"),
    [
        (Form.HTML, "text/html; charset=utf-8"),
        (Form.JSON, "application/json"),
        (Form.TEXT, "text/plain; charset=utf-8"),
    ],
)
def test_each_form_has_its_content_type(form, content_type):
    """Texts say that they are UTF-8; JSON always is."""
    assert form.content_type == content_type


GOLDEN = Path(__file__).parent / "golden"
SUFFIXES = {Form.HTML: "html", Form.JSON: "json", Form.TEXT: "txt"}
CHANGED = datetime(2026, 5, 1, 12, 34, 56, tzinfo=UTC)

LISTINGS = {
    "listing": Listing(
        "/files/a & b/",
        "/files/",
        (
            Line("drafts/"),
            Line("<script>alert(1)</script>.html", 99, CHANGED, '"a"'),
            Line("Größe 日本.txt", 1536, CHANGED, '"b"'),
            Line('quote" onmouseover="alert(1).txt', 0, CHANGED),
            Line("two\nlines.txt", 1, CHANGED),
            Line("../", None),
        ),
    ),
    "listing_page": Listing("/", "/", (Line("c.txt", 5 * 1024**3, CHANGED),), {"after": "YQ", "via": ""}, "dDE"),
    "listing_end": Listing("/a/", "/", (), {"after": "YQ"}),
    "listing_empty": Listing("/", "/", ()),
}
FAILURE = Failure(404, "There is nothing at this address <yet>", "4f2a9c")


@pytest.fixture(scope="module")
def pages() -> Pages:
    """The pages, compiled once."""
    return Pages()


def _compare(name: str, body: bytes) -> None:
    path = GOLDEN / name
    body = re.sub(rb"\.[0-9a-f]{16}\.(css|js)", rb".DIGEST.\1", body)
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_bytes(body)
    assert body.decode() == path.read_text(encoding="utf-8")


def _header(rendering, name: str) -> str | None:
    return dict(rendering.headers).get(name)


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("name", LISTINGS)
def test_a_listing_looks_as_it_did(pages, name, form):
    """Each listing in each form is the golden file's text."""
    _compare(f"{name}.{SUFFIXES[form]}", pages.listing(LISTINGS[name], form).body)


@pytest.mark.parametrize("form", Form)
def test_a_failure_looks_as_it_did(pages, form):
    """An error's page in each form is the golden file's text."""
    _compare(f"failure.{SUFFIXES[form]}", pages.failure(FAILURE, form).body)


@pytest.mark.parametrize("form", [Form.JSON, Form.TEXT])
def test_an_uploads_answer_looks_as_it_did(pages, form):
    """An upload's answer in both forms is the golden file's text."""
    _compare(f"upload.{SUFFIXES[form]}", pages.upload(UploadResult("/a%20b/c.txt", 12, '"e"'), form).body)


@pytest.mark.parametrize("page", ["listing", "failure", "targets"])
def test_the_policy_allows_our_own_files_and_nothing_inline(pages, page):
    """Style and script are files of the same origin; no page has a style or a script of its own."""
    made = {
        "listing": pages.listing(LISTINGS["listing"], Form.HTML),
        "failure": pages.failure(FAILURE, Form.HTML),
        "targets": pages.targets((), Form.HTML),
    }[page]
    policy, html = _header(made, "Content-Security-Policy"), made.body.decode()
    assert policy.startswith("default-src 'none'; style-src 'self'; img-src 'self' data:;")
    assert "unsafe" not in policy
    assert ("script-src 'self'" in policy) == ("<script" in html) == (page == "listing")
    assert re.search(r"<style|<[^>]* (?:style|on[a-z]+)=|<script>", html) is None


def test_what_a_page_refers_to_is_found_below_its_mount(pages):
    """The addresses of style and script name their content, and lie where the mount's clients can ask for them."""
    html = pages.listing(LISTINGS["listing"], Form.HTML).body.decode()
    found = re.findall(r'(?:src|href)="/files/\.tornado-proxy/([a-z]+\.[0-9a-f]{16}\.(?:css|js))"', html)
    assert sorted(found) == sorted(pages.assets)
    assert {dict(each.headers)["Cache-Control"] for each in pages.assets.values()} == {
        "public, max-age=31536000, immutable"
    }


@pytest.mark.parametrize(
    ("root", "path", "up"),
    [
        ("/files/", "/files/a/b.txt", "/files/a/"),
        ("/files/", "/files/a/b/", "/files/a/"),
        ("/files/", "/files/b.txt", None),
        ("/files/", "/files/", None),
        ("/", "/a b/c", "/a%20b/"),
    ],
)
def test_an_error_leads_home_and_up(pages, root, path, up):
    """To the mount's root, and to the directory above, where that is another one."""
    html = pages.failure(Failure(404, "a sentence", "id", root, path), Form.HTML).body.decode()
    assert f'href="{root}">Home</a>' in html
    assert (f'href="{up}">Up' in html) if up else ("Up to" not in html)


def test_who_must_sign_in_can_try_again(pages):
    """The page of a 401 leads back to what was asked for."""
    html = pages.failure(Failure(401, "a sentence", "id", "/", "/a b"), Form.HTML).body.decode()
    assert '<a class="button" href="/a%20b">Sign in</a>' in html


@pytest.mark.parametrize("form", Form)
def test_every_page_is_safe_to_be_sniffed_at(pages, form):
    """Each form carries the headers that keep a browser from guessing and from telling others."""
    rendering = pages.failure(FAILURE, form)
    assert _header(rendering, "X-Content-Type-Options") == "nosniff"
    assert _header(rendering, "Referrer-Policy") == "same-origin"
    assert _header(rendering, "Vary") == "Accept"
    assert _header(rendering, "Content-Type") == form.content_type


def test_an_error_is_not_kept():
    """No cache stores an error's page; a listing is asked for again each time."""
    pages = Pages()
    assert _header(pages.failure(FAILURE, Form.HTML), "Cache-Control") == "no-store"
    assert _header(pages.listing(LISTINGS["listing"], Form.HTML), "Cache-Control") == "no-cache"


@pytest.mark.parametrize("form", Form)
def test_the_next_page_is_a_header_too(pages, form):
    """A program finds the next page in any form (RFC 8288)."""
    assert _header(pages.listing(LISTINGS["listing_page"], form), "Link") == '</?after=dDE>; rel="next"'


def test_json_stays_readable(pages):
    """Names of any script stand in JSON as they are."""
    body = pages.listing(LISTINGS["listing"], Form.JSON).body
    assert "Größe 日本.txt" in body.decode()
    assert [entry["type"] for entry in json.loads(body)["entries"]][:2] == ["directory", "file"]


def test_a_name_that_is_no_unicode_breaks_no_page(pages):
    """A lone surrogate, which no encoding can write, is replaced."""
    listing = Listing("/", "/", (Line("a\ud800", 1),))
    assert json.loads(pages.listing(listing, Form.JSON).body)["entries"][0]["name"] == "a?"


@pytest.mark.parametrize(("status", "title"), [(404, "Not Found"), (599, "Error")])
def test_a_status_has_a_title(status, title):
    """A failure's title is its status in words."""
    assert Failure(status, "", "").title == title


@contextmanager
def _no_descriptor_left():
    """The limit on descriptors is what is open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            Path(__file__).read_bytes()
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_no_page_opens_a_file():
    """Every template is read at the start: a page can be made where no descriptor is left."""
    pages = Pages()
    with _no_descriptor_left():
        page = pages.failure(Failure(503, "a sentence", "id"), Form.HTML)
    assert b"a sentence" in page.body


def test_the_page_of_all_targets_has_a_form_for_everybody():
    """Names and links are escaped, and an empty page says so."""
    targets = (TargetLinks("a<b", ("http://x/a%20b/",)), TargetLinks("c", ("http://x/c/", "http://x/d/")))
    html = Pages().targets(targets, Form.HTML).body.decode()
    assert "<bdi>a&lt;b</bdi>" in html
    assert '<a href="http://x/a%20b/">http://x/a%20b/</a>' in html
    assert json.loads(Pages().targets(targets, Form.JSON).body)[1] == {
        "name": "c",
        "links": ["http://x/c/", "http://x/d/"],
    }
    assert Pages().targets(targets[1:], Form.TEXT).body == b"c\thttp://x/c/\nc\thttp://x/d/\n"
    assert b"There are no targets." in Pages().targets((), Form.HTML).body


def test_links_of_a_target_lead_to_each_of_its_mounts():
    """Where any host leads there, to the one that was asked."""
    assert target_links(Mount("", ("/a b/", "/c/")), "https", "files.example:8443") == (
        "https://files.example:8443/a%20b/",
        "https://files.example:8443/c/",
    )
    assert target_links(Mount("www.example", ("/",)), "http", "x") == ("http://www.example/",)
    assert target_links(Mount("*.example", ("/",)), "http", "x.example") == ("http://x.example/",)
