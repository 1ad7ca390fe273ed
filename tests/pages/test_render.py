"""Pages are compared with golden files; `UPDATE_GOLDEN=1` writes these again."""

import json
import os
import re
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from descriptors import no_descriptor_left
from jinja2 import TemplateError

from tornado_proxy.config.model import Mount
from tornado_proxy.pages.listing import Listing, Offers
from tornado_proxy.pages.render import Failure, Form, Pages, TargetLinks, choose, target_links
from tornado_proxy.routing.request import UnknownFormat
from tornado_proxy.storage.store import Entry

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
        ("image/png", "html", Form.HTML),
    ],
)
def test_the_query_overrides_accept(accept, override, expected):
    """`?format=` decides if it names an available form, otherwise Accept, otherwise the first form."""
    assert choose((Form.HTML, Form.JSON, Form.TEXT), accept, override) is expected


def test_a_strict_choice_refuses_an_unknown_form():
    """An unknown `?format=` is an error that names the available ones, and an empty one is ignored."""
    offers = (Form.HTML, Form.JSON)
    with pytest.raises(UnknownFormat, match="available as html, json, zip"):
        choose(offers, "*/*", "jsn", is_strict=True, others=("zip",))
    assert choose(offers, "application/json", "", is_strict=True) is Form.JSON
    assert choose(offers, None, "json", is_strict=True) is Form.JSON


GOLDEN = Path(__file__).parent / "golden"
SUFFIXES = {Form.HTML: "html", Form.JSON: "json", Form.TEXT: "txt"}
CHANGED = datetime(2026, 5, 1, 12, 34, 56, tzinfo=UTC)

LISTINGS = {
    "listing": Listing(
        "/files/a & b/",
        "/files/",
        (
            Entry("drafts/"),
            Entry("<script>alert(1)</script>.html", 99, CHANGED, '"a"'),
            Entry("Größe 日本.txt", 1536, CHANGED, '"b"'),
            Entry('quote" onmouseover="alert(1).txt', 0, CHANGED),
            Entry("two\nlines.txt", 1, CHANGED),
            Entry("../", None),
        ),
    ),
    "listing_page": Listing("/", "/", (Entry("c.txt", 5 * 1024**3, CHANGED),), {"after": "YQ", "via": ""}, "dDE"),
    "listing_end": Listing("/a/", "/", (), {"after": "YQ"}),
}
FAILURE = Failure(404, "There is nothing at this address <yet>", "4f2a9c")


@pytest.fixture(scope="module")
def pages() -> Pages:
    """The default pages, compiled once."""
    return Pages()


def _compare(name: str, body: bytes) -> None:
    path = GOLDEN / name
    body = re.sub(rb"\.[0-9a-f]{16}\.(css|js)", rb".DIGEST.\1", body)
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_bytes(body)
    assert body.decode() == path.read_text(encoding="utf-8")


def _header(rendering, name: str) -> str | None:
    return dict(rendering.headers).get(name)


@pytest.mark.parametrize(
    ("name", "form"), [*((name, Form.HTML) for name in LISTINGS), ("listing", Form.JSON), ("listing", Form.TEXT)]
)
def test_a_listing_equals_its_golden_file(pages, name, form):
    _compare(f"{name}.{SUFFIXES[form]}", pages.listing(LISTINGS[name], form).body)


@pytest.mark.parametrize("form", Form)
def test_a_failure_equals_its_golden_file(pages, form):
    _compare(f"failure.{SUFFIXES[form]}", pages.failure(FAILURE, form).body)


@pytest.mark.parametrize("form", [Form.JSON, Form.TEXT])
def test_the_answer_to_an_upload_equals_its_golden_file(pages, form):
    _compare(f"upload.{SUFFIXES[form]}", pages.upload("/a%20b/c.txt", 12, '"e"', form).body)


@pytest.mark.parametrize("page", ["listing", "failure", "targets"])
def test_the_policy_allows_only_files_of_the_service(pages, page):
    """Styles and scripts are files of the same origin, and no page has inline ones."""
    rendering = {
        "listing": pages.listing(LISTINGS["listing"], Form.HTML),
        "failure": pages.failure(FAILURE, Form.HTML),
        "targets": pages.targets((), Form.HTML),
    }[page]
    policy, html = _header(rendering, "Content-Security-Policy"), rendering.body.decode()
    assert policy.startswith("default-src 'none'; style-src 'self'; img-src 'self' data:;")
    assert "unsafe" not in policy
    assert ("script-src 'self'" in policy) == ("<script" in html) == (page == "listing")
    assert re.search(r"<style|<[^>]* (?:style|on[a-z]+)=|<script>", html) is None


def test_assets_are_below_the_mount(pages):
    html = pages.listing(LISTINGS["listing"], Form.HTML, Offers(upload=True)).body.decode()
    names = re.findall(r'(?:src|href|data-[a-z]+)="/files/\.tornado-proxy/([a-z]+\.[0-9a-f]{16}\.(?:css|js))"', html)
    assert sorted(names) == sorted(pages.assets)
    assert all(name.split(".")[1] == sha256(asset.body).hexdigest()[:16] for name, asset in pages.assets.items())
    assert {dict(asset.headers)["Cache-Control"] for asset in pages.assets.values()} == {
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
def test_an_error_has_links_home_and_up(pages, root, path, up):
    html = pages.failure(Failure(404, "a sentence", "id", root, path), Form.HTML).body.decode()
    assert f'href="{root}">Home</a>' in html
    assert (f'href="{up}">Up' in html) if up else ("Up to" not in html)


def test_a_401_has_a_link_to_sign_in(pages):
    html = pages.failure(Failure(401, "a sentence", "id", "/", "/a b"), Form.HTML).body.decode()
    assert '<a class="button" href="/a%20b">Sign in</a>' in html


@pytest.mark.parametrize(
    ("form", "content_type"),
    [
        (Form.HTML, "text/html; charset=utf-8"),
        (Form.JSON, "application/json"),
        (Form.TEXT, "text/plain; charset=utf-8"),
    ],
)
def test_every_page_has_its_headers(pages, form, content_type):
    """Browsers do not guess the type and do not send the address to other sites; an error is not cached."""
    assert dict(pages.failure(FAILURE, form).headers).items() >= {
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "same-origin"),
        ("Vary", "Accept"),
        ("Content-Type", content_type),
        ("Cache-Control", "no-store"),
    }
    assert _header(pages.listing(LISTINGS["listing"], form), "Cache-Control") == "no-cache"


def test_a_lone_surrogate_in_a_name_is_replaced(pages):
    listing = Listing("/", "/", (Entry("a\ud800", 1),))
    assert json.loads(pages.listing(listing, Form.JSON).body)["entries"][0]["name"] == "a?"


def test_no_page_opens_files():
    """All templates are read before the first page, so that each is made without a free descriptor."""
    pages = Pages()
    with no_descriptor_left():
        failure = pages.failure(Failure(503, "a sentence", "id"), Form.HTML)
        others = [pages.sign_out("/", "/"), pages.listing(LISTINGS["listing"], Form.HTML)]
    assert b"a sentence" in failure.body
    assert all(b"</html>" in page.body for page in others)


def test_the_list_of_targets_has_all_forms():
    targets = (TargetLinks("a<b", ("http://x/a%20b/",)), TargetLinks("c", ("http://x/c/", "http://x/d/")))
    html = Pages().targets(targets, Form.HTML).body.decode()
    assert '<bdi class="directory">a&lt;b</bdi>' in html
    assert '<a href="http://x/a%20b/">http://x/a%20b/</a>' in html
    expected = {"name": "c", "links": ["http://x/c/", "http://x/d/"]}
    assert json.loads(Pages().targets(targets, Form.JSON).body)[1] == expected
    assert Pages().targets(targets[1:], Form.TEXT).body == b"c\thttp://x/c/\nc\thttp://x/d/\n"
    assert b"There are no targets." in Pages().targets((), Form.HTML).body


def test_a_target_has_a_link_for_each_path():
    """A mount for any host has links to the host of the request."""
    expected = ("https://files.example:8443/a%20b/", "https://files.example:8443/c/")
    assert target_links(Mount("", ("/a b/", "/c/")), "https", "files.example:8443") == expected
    assert target_links(Mount("www.example", ("/",)), "http", "x", "/pub") == ("http://www.example/pub/",)
    assert target_links(Mount("*.example", ("/",)), "http", "x.example") == ("http://x.example/",)


def test_files_of_a_theme_are_assets():
    """A logo and a style sheet are served as assets, and the policy of a picture forbids scripts."""
    theme = Pages("Files", ("brand/logo.SVG", b"<svg/>"), ("brand.css", b"a{}"))
    logo, sheet = theme.assets[theme.logo], theme.assets[theme.sheets[-1]]
    assert (logo.body, dict(logo.headers)["Content-Type"]) == (b"<svg/>", "image/svg+xml")
    assert "sandbox" in dict(logo.headers)["Content-Security-Policy"]
    assert (sheet.body, len(theme.sheets)) == (b"a{}", 2)


def test_urls_of_a_theme_are_allowed_by_the_policy():
    theme = Pages("", "https://cdn.example:8443/logo.png", "https://css.example/a.css")
    rendering = theme.failure(Failure(404, "a", "id"), Form.HTML)
    policy = dict(rendering.headers)["Content-Security-Policy"]
    assert "style-src 'self' https://css.example;" in policy
    assert "img-src 'self' data: https://cdn.example:8443;" in policy
    assert 'href="https://css.example/a.css"' in rendering.body.decode()


def test_title_and_logo_are_on_the_pages():
    """Title and logo of a theme replace the path of the mount, and titles of pages end with the theme's."""
    pages = Pages("Our <files>", ("logo.png", b"x"))
    listing = pages.listing(Listing("/m/a/", "/m/", ()), Form.HTML).body.decode()
    assert "<title>a – Our &lt;files&gt;</title>" in listing
    assert '<img src="/m/.tornado-proxy/logo.' in listing
    assert "<bdi>Our &lt;files&gt;</bdi>" in listing
    assert 'href="/">Our &lt;files&gt;</a>' in pages.failure(Failure(404, "a", "id"), Form.HTML).body.decode()


EXTENDING = '{% extends "default/listing.html" %}{% block below %}<p>{{ here.name }}, below</p>{% endblock %}'


def test_a_template_can_extend_the_default():
    listing = Pages(templates={"listing.html": EXTENDING}).listing(Listing("/a&b/", "/", ()), Form.HTML)
    assert "<p>a&amp;b, below</p>" in listing.body.decode()
    assert 'class="crumbs"' in listing.body.decode()


def test_the_frame_of_all_pages_can_be_replaced():
    """Listings and errors use `page.html` of the theme, which can include other templates."""
    templates = {"page.html": "{% include '_a.html' %}{% block body %}{% endblock %}", "_a.html": "<p>ours</p>"}
    pages = Pages(templates=templates)
    for rendering in (
        pages.listing(Listing("/", "/", ()), Form.HTML),
        pages.failure(Failure(404, "a", "i"), Form.HTML),
    ):
        assert rendering.body.startswith(b"<p>ours</p>")


@pytest.mark.parametrize(
    "template",
    [
        "{{ missing }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ 1 // 0 }}",
        "{{ theme.render.__globals__ }}",
        "{% include 'nothing.html' %}",
    ],
)
def test_a_failing_template_is_replaced_by_the_default(template, caplog):
    """`check` raises the error, and a request gets the default page and logs the reason."""
    pages = Pages(templates={"failure.html": template})
    with pytest.raises((TemplateError, ArithmeticError)):
        pages.check()
    html = pages.failure(Failure(404, "a sentence", "id"), Form.HTML).body.decode()
    assert "a sentence." in html
    assert "`failure.html` of a theme failed" in caplog.text
