"""The parts of a listing in HTML: rows with icons, sizes and times, the viewer's actions, and the README."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC
from functools import cache, lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any

import msgspec
from markupsafe import Markup, escape

from tornado_proxy.pages.listing import Listing, Order, SortKey, human_size, link, visible
from tornado_proxy.storage.store import Entry

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

_DEAD = '<span class="dead" title="No request can name this entry">'

_KINDS = {
    "image": "avif bmp gif heic ico jpeg jpg png svg tif tiff webp",
    "video": "avi m4v mkv mov mp4 mpeg mpg ogv webm",
    "audio": "aac aiff flac m4a mid mp3 oga ogg opus wav",
    "text": "csv doc docx epub htm html log markdown md odp ods odt pdf ppt pptx rst rtf text xlsx tsv txt xls",
    "code": (
        "bash c cc cfg conf cpp cs css go h hpp ini java js json jsx kt lua mjs php pl ps1 py r rb rs rules scala sh"
        " bat sql swift tf toml tpl ts tsx vim vue xml yaml yml zsh"
    ),
    "archive": "7z apk br bz2 deb dmg gz iso jar lz4 rar rpm tar tbz2 tgz txz whl xz zip zst",
}
_KIND_OF = {f".{ending}": kind for kind, endings in _KINDS.items() for ending in endings.split()}
_COLUMNS: tuple[tuple[SortKey, str, str], ...] = (
    ("name", "Name", ""),
    ("size", "Size", "size"),
    ("date", "Modified", "time"),
)


class Offers(msgspec.Struct, frozen=True):
    """The actions of a viewer in a directory, and the content below the list.

    `removable` has the names of files. `readme` is sanitised HTML of the file `readme_name`. `user` is signed in, and
    may sign out at `sign_out`. `reserved` marks a directory in which nothing can be changed, because the service uses
    its names. The last two are origins of S3: the source of files that this service only redirects to, and the
    destination of large files that the page sends straight to S3.
    """

    upload: bool = False
    replace: bool = False
    max_size: int | None = None  # bytes of an uploaded file
    removable: frozenset[str] = frozenset()
    archives: tuple[str, ...] = ()
    readme: Markup | None = None
    readme_name: str = ""
    user: str = ""
    sign_out: str = ""
    reserved: bool = False
    files_from: str = ""
    uploads_to: str = ""


def listing_view(listing: Listing, offers: Offers) -> dict[str, object]:
    """Returns the variables of the template of a listing."""
    *parents, here = listing.crumbs
    order = listing.order or Order(directories_first=listing.directories_first)
    entries = order.applied(listing.entries)
    return {
        "here": here,
        "parents": parents,
        "columns": [
            {
                "label": label,
                "style": style,
                "href": listing.sorted_by(key),
                "sort": ("descending" if order.descending else "ascending") if order.by == key else "",
            }
            for key, label, style in _COLUMNS
        ],
        "rows": _rows(listing, entries, offers),
        "totals": _totals(listing),
        "whole": listing.is_whole,
        "begins": visible(listing.query.get("begins", "")),
        "unfiltered": listing.unfiltered,
        "kept": [(name, listing.query[name]) for name in ("limit", "sort", "order") if name in listing.query],
        "sorts_page": listing.order is not None and not listing.is_sorted and not listing.is_whole,
        "count": len(entries),
        "pages": {
            "first": None if listing.first else listing.first_page,
            "previous": listing.previous_page,
            "next": listing.next_page,
        },
        "offers": offers,
        "archives": [(each, link(listing.path, (("format", each),))) for each in offers.archives],
    }


def _rows(listing: Listing, entries: Sequence[Entry], offers: Offers) -> Markup:
    """Returns the rows of the table; a template would take ten times as long for the thousand rows of a page."""
    # One call escapes all names, since no visible name contains a line end.
    names = str(escape("\n".join([visible(entry.name) for entry in entries]))).split("\n")
    rows = [_row(entry, name, listing.href(entry), offers) for entry, name in zip(entries, names, strict=False)]
    return Markup("".join(rows))  # noqa: S704 - names are escaped, and a reference has no special character of HTML


def _row(entry: Entry, name: str, href: str | None, offers: Offers) -> str:
    """Returns the row of an entry; its name is escaped."""
    opening, closing = (f'<a class="{_icon(entry.name)}" href="{href}">', "</a>") if href else (_DEAD, "</span>")
    # Compression removes repeated texts; so the shorter form of a time is the beginning of the longer one. The script
    # shows the exact values on hover: as titles, here, they would be a fifth of a compressed page.
    size = time = ""
    if entry.size is not None:
        size = f'<data value="{entry.size}">{human_size(entry.size)}</data>'
    if entry.last_modified is not None:
        exact = entry.last_modified.astimezone(UTC).isoformat(" ")[:19] + "Z"
        time = f'<time datetime="{exact}">{exact[:16]}</time>'
    own = " data-removable" if entry.name in offers.removable else ""
    return (
        f'<tr{own}><th scope="row">{opening}<bdi>{name}</bdi>{closing}</th>'
        f'<td class="size">{size}</td><td class="time">{time}</td></tr>\n'
    )


def _icon(name: str) -> str:
    return "directory" if name.endswith("/") else _KIND_OF.get(name[name.rfind(".") :].lower(), "file")


def _totals(listing: Listing) -> str:
    files = [entry for entry in listing.entries if not entry.is_directory]
    counts = [
        _count(len(listing.entries) - len(files), "directory", "directories"),
        _count(len(files), "file", "files"),
    ]
    size = human_size(sum(entry.size or 0 for entry in files)) if files else ""
    totals = ", ".join(part for part in (*counts, size) if part)
    return totals if listing.is_whole or not totals else f"{totals} on this page"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}" if number else ""


LARGEST_README = 32 * 1024
"""The most bytes of a README that is shown."""

LARGEST_HTML = 256 * 1024
"""The most bytes of a README as HTML."""

_KEPT = 16  # READMEs as HTML
_MOST_STEPS = 50_000  # of the parser
_MOST_CELLS = 20_000  # of a table as wide as the widest line and as high as the text: empty rows get all cells

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


@lru_cache(_KEPT)
def render_readme(name: str, text: str) -> Markup:
    """Returns a README as HTML; at worst some tenths of a second of work, so callers use a thread.

    One that takes more work, or becomes more than `LARGEST_HTML`, is shown as it is written.
    """
    if is_markdown(name):
        with suppress(_ReadmeTooLarge):
            return _markdown(text)
    return Markup('<pre tabindex="0">{}</pre>\n').format(text)


def _markdown(text: str) -> Markup:
    # These take megabytes, and few configurations need them.
    import nh3  # noqa: PLC0415

    lines = text.split("\n")
    if max(line.count("|") for line in lines) * len(lines) > _MOST_CELLS:
        raise _ReadmeTooLarge
    parser = _parser()
    tokens = parser.parse(text, {"references": _References(), "steps": repeat(None, _MOST_STEPS)})
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            # The page has its own heading of the first level.
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
        for each in (token, *(token.children or ())):
            if each.type in ("html_block", "html_inline"):
                each.content = _REOPENED.sub(r"\g<0>x-", each.content)
    html = parser.renderer.render(tokens, parser.options, {})
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


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - as above

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.block.ruler.before("table", "steps", _count_step, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    parser.inline.ruler.before("text", "steps", _count_step)
    return parser
