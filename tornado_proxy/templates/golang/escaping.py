"""Text made safe for HTML and JavaScript (text/template's funcs.go)."""

from __future__ import annotations

import re

from tornado_proxy.templates.golang.text import is_print

_HTML = {
    b"\0": "\ufffd".encode(),
    b'"': b"&#34;",
    b"'": b"&#39;",
    b"&": b"&amp;",
    b"<": b"&lt;",
    b">": b"&gt;",
}
_HTML_SPECIAL = re.compile(b"[\\0\"'&<>]")
_JS = {"\\": "\\\\", "'": "\\'", '"': '\\"', "<": "\\u003C", ">": "\\u003E", "&": "\\u0026", "=": "\\u003D"}


def escape_html(text: bytes) -> bytes:
    """template.HTMLEscapeString."""
    return _HTML_SPECIAL.sub(lambda match: _HTML[match[0]], text)


def escape_js(text: bytes) -> bytes:
    """template.JSEscapeString."""
    runes = text.decode("utf-8", "surrogateescape")
    return "".join(map(_js_rune, runes)).encode("utf-8", "surrogateescape")


def _js_rune(rune: str) -> str:
    if rune in _JS:
        return _JS[rune]
    if rune < " ":
        return f"\\u00{ord(rune):02X}"
    # Go looks at characters beyond ASCII only, and writes bytes that are none as they are.
    if rune <= "\x7f" or "\udc80" <= rune <= "\udcff" or is_print(rune):
        return rune
    return f"\\u{ord(rune):04X}"
