"""The clothes of the pages."""

from __future__ import annotations

from hashlib import sha256

import pytest
from jinja2 import TemplateError

from tornado_proxy.pages.listing import Listing
from tornado_proxy.pages.render import Failure, Form, Pages
from tornado_proxy.pages.theme import Look, Theme


def test_an_assets_name_has_a_digest_of_it():
    """Whatever changes has another address, so caches may keep what they have for ever."""
    theme = Theme()
    assert len(theme.assets) == 2
    for name, asset in theme.assets.items():
        assert name.split(".")[1] == sha256(asset.body).hexdigest()[:16]
        headers = dict(asset.headers)
        assert headers["Content-Length"] == str(len(asset.body))
        assert headers["Content-Type"] in ("text/css; charset=utf-8", "text/javascript; charset=utf-8")


def test_a_theme_refers_to_its_own_assets():
    """The sheet and the script."""
    theme = Theme()
    assert {*theme.sheets, theme.script} == set(theme.assets)


def test_files_of_a_theme_are_assets():
    """A logo and a sheet are served like the service's own; a picture that is opened by itself runs nothing."""
    theme = Theme(Look("Files", ("brand/logo.SVG", b"<svg/>"), ("brand.css", b"a{}")))
    logo, sheet = theme.assets[theme.logo], theme.assets[theme.sheets[-1]]
    assert (logo.body, dict(logo.headers)["Content-Type"]) == (b"<svg/>", "image/svg+xml")
    assert "sandbox" in dict(logo.headers)["Content-Security-Policy"]
    assert (sheet.body, len(theme.sheets)) == (b"a{}", 2)


def test_urls_of_a_theme_are_allowed_by_the_policy():
    """Their origins, for what they are and nothing else."""
    look = Look("", "https://cdn.example:8443/logo.png", "https://css.example/a.css")
    rendering = Pages(Theme(look)).failure(Failure(404, "a", "id"), Form.HTML)
    policy = dict(rendering.headers)["Content-Security-Policy"]
    assert "style-src 'self' https://css.example;" in policy
    assert "img-src 'self' data: https://cdn.example:8443;" in policy
    assert 'href="https://css.example/a.css"' in rendering.body.decode()


def test_title_and_logo_stand_on_the_pages():
    """In the place of the mount's path, behind the titles, and at the way home."""
    pages = Pages(Theme(Look("Our <files>", ("logo.png", b"x"))))
    listing = pages.listing(Listing("/m/a/", "/m/", ()), Form.HTML).body.decode()
    assert "<title>a – Our &lt;files&gt;</title>" in listing
    assert '<img src="/m/.tornado-proxy/logo.' in listing
    assert "<bdi>Our &lt;files&gt;</bdi>" in listing
    assert 'href="/">Our &lt;files&gt;</a>' in pages.failure(Failure(404, "a", "id"), Form.HTML).body.decode()


OWN = '{% extends "default/listing.html" %}{% block below %}<p>{{ here.name }}, below</p>{% endblock %}'


def test_a_template_may_extend_the_one_that_it_replaces():
    """It fills a block, and everything else stays."""
    listing = Pages(Theme(Look(templates={"listing.html": OWN}))).listing(Listing("/a&b/", "/", ()), Form.HTML)
    assert "<p>a&amp;b, below</p>" in listing.body.decode()
    assert 'class="crumbs"' in listing.body.decode()


def test_what_stands_around_all_pages_may_be_replaced():
    """A template of the page is used by listings and errors, with parts of its own."""
    templates = {"page.html": "{% include '_a.html' %}{% block body %}{% endblock %}", "_a.html": "<p>ours</p>"}
    pages = Pages(Theme(Look(templates=templates)))
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
        "{{ theme.template.__globals__ }}",
        "{% include 'nothing.html' %}",
    ],
)
def test_a_template_that_fails_is_replaced_by_the_services_own(template, caplog):
    """The log says why, and the client gets a page; `check` finds most of them before."""
    pages = Pages(Theme(Look(templates={"failure.html": template})))
    with pytest.raises((TemplateError, ArithmeticError)):
        pages.check()
    html = pages.failure(Failure(404, "a sentence", "id"), Form.HTML).body.decode()
    assert "a sentence." in html
    assert "`failure.html` of a theme failed" in caplog.text


def test_the_services_own_templates_are_sound():
    """They pass the check that those of themes have to pass."""
    Pages().check()
