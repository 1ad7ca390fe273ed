import pytest

from tornado_proxy.templates.golang.escaping import escape_html, escape_js
from tornado_proxy.templates.golang.urls import query_escape


def test_html_is_safe_in_text_and_attributes():
    """The null byte becomes U+FFFD."""
    assert escape_html(b"<a b=\"c\" d='e'>&\0") == "&lt;a b=&#34;c&#34; d=&#39;e&#39;&gt;&amp;\ufffd".encode()


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        (b"a'b\"c\\", b"a\\'b\\\"c\\\\"),
        (b"<>&=", b"\\u003C\\u003E\\u0026\\u003D"),
        (b"\n\x00\x7f", b"\\u000A\\u0000\x7f"),
        ("é\u2028".encode(), "é\\u2028".encode()),
        (b"\xff", b"\xff"),
    ],
)
def test_javascript_strings_are_safe(text, escaped):
    """What cannot be printed is escaped, but for bytes that are no UTF-8."""
    assert escape_js(text) == escaped


def test_queries_are_safe():
    """A space is a plus sign."""
    assert query_escape("a b&c=é~/+".encode()) == b"a+b%26c%3D%C3%A9~%2F%2B"
