"""The README of a directory as HTML. Its libraries are the extra `readme`, so only what shows one imports it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from itertools import repeat
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markupsafe import Markup

from tornado_proxy.pages.limits import LARGEST_HTML, MOST_README_CELLS, MOST_README_STEPS

# A browser opens these elements again in each block until they are closed (HTML, "reconstruct the active formatting
# elements"): a few of them would be copied everywhere. Markdown has its own signs for them; others replace their tags.
_REOPENED = re.compile(r"</?(?=(?:a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?:[\s/>]|\Z))", re.IGNORECASE)

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


def is_markdown(name: str) -> bool:
    """Whether a file's name says that it is Markdown."""
    return name.lower().endswith((".md", ".markdown"))


class _ReadmeTooLarge(Exception):
    """A README that takes too much work, or whose HTML is too large."""


def render_readme(name: str, text: str) -> Markup:
    """Returns a README as HTML; at worst some tenths of a second of work, so callers use a thread.

    One that takes more work, or becomes more than `LARGEST_HTML`, is shown as it is written.
    """
    if is_markdown(name):
        with suppress(_ReadmeTooLarge):
            return _markdown(text)
    return Markup('<pre tabindex="0">{}</pre>\n').format(text)


def _markdown(text: str) -> Markup:
    lines = text.split("\n")
    if max(line.count("|") for line in lines) * len(lines) > MOST_README_CELLS:
        raise _ReadmeTooLarge
    tokens = _PARSER.parse(text, {"references": _References(), "steps": repeat(None, MOST_README_STEPS)})
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            # The page has its own heading of the first level.
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
        for each in (token, *(token.children or ())):
            if each.type in ("html_block", "html_inline"):
                each.content = _REOPENED.sub(r"\g<0>x-", each.content)
    html = _PARSER.renderer.render(tokens, _PARSER.options, {})
    _check_size(html)
    clean = nh3.clean(
        html,
        tags=_ELEMENTS,
        attributes=_ATTRIBUTES,
        set_tag_attribute_values={"table": {"tabindex": "0"}, "pre": {"tabindex": "0"}},  # they scroll, by keyboard too
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    _check_size(clean)
    return Markup(clean)  # noqa: S704 - sanitised


def _check_size(html: str) -> None:
    if len(html.encode()) > LARGEST_HTML:
        raise _ReadmeTooLarge


class _References(dict[str, Any]):
    """The link references of a README: each use copies the address, so all uses together have a limit."""

    def __init__(self) -> None:
        super().__init__()
        self._left = LARGEST_HTML

    def __getitem__(self, label: str) -> Any:
        found = super().__getitem__(label)
        self._left -= len(found["href"]) + len(found["title"])
        if self._left < 0:
            raise _ReadmeTooLarge
        return found


def _count_step(state: StateBlock | StateInline, *_place: object) -> bool:
    """Is tried before each rule of Markdown, and matches nothing."""
    if next(state.env["steps"], _ReadmeTooLarge) is _ReadmeTooLarge:
        raise _ReadmeTooLarge
    return False


_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_PARSER.block.ruler.before("table", "steps", _count_step, {"alt": ["paragraph", "reference", "blockquote", "list"]})
_PARSER.inline.ruler.before("text", "steps", _count_step)
