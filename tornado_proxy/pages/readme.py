"""READMEs as safe HTML: renders Markdown and removes all but a few plain elements."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

LARGEST = 32 * 1024
"""The most bytes that a README may have to be shown."""

_NAMES = ("readme.md", "readme.markdown", "readme.txt", "readme")

_ELEMENTS = {
    *("a", "b", "blockquote", "br", "code", "dd", "del", "details", "div", "dl", "dt", "em", "h2", "h3", "h4", "h5"),
    *("h6", "hr", "i", "img", "kbd", "li", "ol", "p", "pre", "s", "strong", "sub", "summary", "sup", "table", "tbody"),
    *("td", "th", "thead", "tr", "ul"),
}
_ATTRIBUTES = {
    "a": {"href", "title"},
    "img": {"src", "alt", "title", "width", "height"},
    "ol": {"start"},
    "td": {"align"},
    "th": {"align"},
}


def find_readme(names: Iterable[str]) -> str | None:
    """Returns the name of a directory's README, ignoring case; Markdown is preferred to plain text."""
    found = {name.lower(): name for name in names}
    return next((found[name] for name in _NAMES if name in found), None)


@lru_cache(64)
def render_readme(name: str, text: str) -> Markup:
    """The HTML of a README; half a second of work at worst, so it belongs in a thread."""
    if not name.lower().endswith((".md", ".markdown")):
        return Markup("<pre>{}</pre>\n").format(text)
    # Megabytes that few configurations need.
    import nh3  # noqa: PLC0415

    parser = _parser()
    tokens = parser.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            # The page has its own first heading.
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
    html = parser.renderer.render(tokens, parser.options, {})
    clean = nh3.clean(
        html,
        tags=_ELEMENTS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(clean)  # noqa: S704 - sanitised


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - as above

    return MarkdownIt("commonmark").enable(["table", "strikethrough"])
