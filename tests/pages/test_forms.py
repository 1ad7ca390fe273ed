"""How a client chooses the form of an answer."""

from __future__ import annotations

import pytest

from tornado_proxy.pages.forms import Form, choose
from tornado_proxy.routing.errors import UnknownFormat

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
    with pytest.raises(UnknownFormat, match="there is no format `jsn`") as raised:
        choose(offers, "*/*", "jsn", is_strict=True, others=("zip",))
    assert raised.value.offered == ("html", "json", "zip")
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
