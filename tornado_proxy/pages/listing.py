"""A page of a directory: values, sorting and links, and the parts of it in HTML, JSON and text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal, NamedTuple
from urllib.parse import urlencode

import msgspec
from markupsafe import Markup, escape

from tornado_proxy.pages.limits import LONGEST_VIA
from tornado_proxy.rules.model import path_objection
from tornado_proxy.semantics.fields import path_reference
from tornado_proxy.storage.store import Entry


def link(path: str, query: Sequence[tuple[str, str]] = ()) -> str:
    """Returns the reference to a decoded request path with a query."""
    return path_reference(path) + (f"?{urlencode(query)}" if query else "")


def link_to(directory: str, name: str) -> str | None:
    """Returns the reference to an entry of a directory; None if no request path can contain its name."""
    path = directory + name
    return None if path_objection(path) else link(path)


# Embeddings, overrides and isolates change the direction of what follows: `exe.gpj` can be shown as `jpg.exe`.
_DIRECTIONS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_PICTURES: dict[int, int | str] = {
    **{code: 0x2400 + code for code in range(0x20)},
    0x7F: "\N{SYMBOL FOR DELETE}",
    **dict.fromkeys((*range(0x80, 0xA0), *_DIRECTIONS), "\N{REPLACEMENT CHARACTER}"),
}
_SURROGATES = re.compile("[\ud800-\udfff]")  # as keys of the table they would take 0.1 MiB


def visible(name: str) -> str:
    """Returns a name with visible symbols in place of control characters, changes of direction and surrogates."""
    if name.isprintable():
        return name
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", name.translate(_PICTURES))


_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def human_size(size: int) -> str:
    """Formats a number of bytes: `0 B`, `1023 B`, `1.5 KiB`, `5.0 GiB`."""
    if size < 1024:
        return f"{size} B"
    power = 1
    # A value that rounds to 1024.0 is 1.0 of the next unit.
    while power < len(_UNITS) and size / 1024**power >= 1023.95:
        power += 1
    return f"{size / 1024**power:.1f} {_UNITS[power - 1]}"


SortKey = Literal["name", "size", "date"]
SORT_KEYS: tuple[SortKey, ...] = ("name", "size", "date")

# Query parameters that the links between the pages of a listing keep.
_KEPT = ("begins", "limit", "format", "sort", "order")
_FORGOTTEN = "-"  # replaces the tokens before those
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,1500}")
_DIGITS = re.compile(r"([0-9]+)")
_NEVER = datetime(1, 1, 1, tzinfo=UTC)

Query = tuple[tuple[str, str], ...]


class Order(msgspec.Struct, frozen=True):
    """The order of the entries of a page; names sort naturally (`a9` before `a10`), and decide between equals."""

    by: SortKey = "name"
    descending: bool = False
    directories_first: bool = True

    def applied(self, entries: Iterable[Entry]) -> list[Entry]:
        """Returns the entries in this order."""
        # Each sort is stable, reversed or not: equal keys keep the order of the sort before.
        found = sorted(entries, key=_natural, reverse=self.descending and self.by == "name")
        if self.by == "size":
            found.sort(key=lambda entry: -1 if entry.size is None else entry.size, reverse=self.descending)
        elif self.by == "date":
            found.sort(key=lambda entry: entry.last_modified or _NEVER, reverse=self.descending)
        if self.directories_first:
            found.sort(key=lambda entry: not entry.is_directory)
        return found


def requested_order(query: Mapping[str, str], *, directories_first: bool) -> Order | None:
    """Returns the order that a query asks for; None if there is none or it is unknown."""
    by = query.get("sort")
    return Order(by, query.get("order") == "desc", directories_first) if by in SORT_KEYS else None


def _natural(entry: Entry) -> tuple[list[str | int], str]:
    """Returns texts and numbers in turn, so that they are never compared with each other."""
    parts: list[str | int] = list(_DIGITS.split(entry.name.casefold()))
    parts[1::2] = [int(part) for part in parts[1::2]]
    return parts, entry.name


class Crumb(msgspec.Struct, frozen=True):
    """A directory on the way to the one listed."""

    name: str
    href: str


class Listing(msgspec.Struct, frozen=True):
    """A page of the direct entries of a directory, in S3's order.

    `path` is the directory's request path, `root` the mount's; both end with `/`. `query` is the request's: `after` is
    the token of the page, `via` has those of the pages before it, `sort` and `order` are the requested order, and the
    names of all entries start with `begins`. `is_sorted` is true if the order is that of all pages.
    """

    path: str
    root: str
    entries: tuple[Entry, ...]
    query: Mapping[str, str] = {}
    next_token: str | None = None
    directories_first: bool = True
    is_sorted: bool = False

    @property
    def first(self) -> bool:
        """Whether the listing begins on this page."""
        return not self.query.get("after")

    @property
    def is_whole(self) -> bool:
        """Whether this is the only page."""
        return self.first and self.next_token is None

    @property
    def order(self) -> Order | None:
        """The requested order; None if there is none or it is unknown."""
        return requested_order(self.query, directories_first=self.directories_first)

    @property
    def ordered(self) -> list[Entry]:
        """The entries for programs: in S3's order unless another is requested."""
        return self.order.applied(self.entries) if self.order else list(self.entries)

    @property
    def next_href(self) -> str | None:
        """The link to the next page."""
        return link(self.path, (("after", self.next_token), *self._kept)) if self.next_token else None

    @property
    def next_page(self) -> str | None:
        """The link to the next page, which contains the way back."""
        if self.next_token is None:
            return None
        via = (*self._via, self.query["after"]) if not self.first else ()
        kept = via
        while sum(map(len, kept)) > LONGEST_VIA:
            kept = kept[1:]
        return self._page(self.next_token, via if kept == via else (_FORGOTTEN, *kept))

    @property
    def previous_page(self) -> str | None:
        """The link to the page before; None on the first page, or if the request does not contain the way back."""
        if self.first or "via" not in self.query:
            return None
        *earlier, before = self._via or ("",)
        if before == _FORGOTTEN:
            return None
        return self._page(before, tuple(earlier)) if before else self.first_page

    @property
    def first_page(self) -> str:
        """The link to the first page."""
        return link(self.path, self._kept)

    def sorted_by(self, key: SortKey) -> str:
        """Returns the link to the listing sorted by a key; a second click reverses the order.

        The largest and the newest come first. A page that is sorted by itself stays the page.
        """
        shown = self.order or Order()
        is_descending = not shown.descending if shown.by == key else key != "name"
        names = ("begins", "limit", "format") if self.is_sorted else ("after", "via", "begins", "limit", "format")
        here = tuple((name, self.query[name]) for name in names if name in self.query)
        return link(self.path, (*here, ("sort", key), ("order", "desc" if is_descending else "asc")))

    @property
    def unfiltered(self) -> str:
        """The link to all entries."""
        return link(self.path, tuple(pair for pair in self._kept if pair[0] != "begins"))

    @property
    def crumbs(self) -> tuple[Crumb, ...]:
        """The directories from the mount's root to the listed one, both included."""
        names = self.path[len(self.root) :].split("/")[:-1]
        crumbs = [Crumb(self.root, link(self.root))]
        path = self.root
        for name in names:
            path += name + "/"
            crumbs.append(Crumb(visible(name) or "\N{EMPTY SET}", link(path)))
        return tuple(crumbs)

    def href(self, entry: Entry) -> str | None:
        """Returns the link to an entry; None if no request path can contain its name."""
        return link_to(self.path, entry.name)

    @property
    def _kept(self) -> Query:
        return tuple((name, self.query[name]) for name in _KEPT if name in self.query)

    @property
    def _via(self) -> tuple[str, ...]:
        return tuple(each for each in self.query.get("via", "").split(".") if _TOKEN.fullmatch(each))

    def _page(self, token: str, via: tuple[str, ...]) -> str:
        return link(self.path, (("after", token), ("via", ".".join(via)), *self._kept))


def timestamp(moment: datetime | None) -> str | None:
    """Formats a time as RFC 3339, in UTC."""
    return f"{moment.astimezone(UTC).isoformat()[:19]}Z" if moment else None


class WrittenListing(NamedTuple):
    """The texts of a listing for programs; a long one has the entries of several, one after the other."""

    begin: str
    entries: str
    separator: str  # between entries
    end: str


def written(listing: Listing, form: str) -> WrittenListing:
    """Writes a listing for programs as `html`, `json` or `text`; docs/http.md describes them."""
    if form == "text":
        rows = [
            (visible(each.name), "" if each.size is None else str(each.size), timestamp(each.last_modified) or "")
            for each in listing.ordered
        ]
        return WrittenListing("", "".join(["\t".join(row).rstrip("\t") + "\n" for row in rows]), "", "")
    if form == "json":
        objects = [
            {
                "name": each.name,
                "href": listing.href(each),
                "type": "directory" if each.is_directory else "file",
                "size": each.size,
                "lastModified": timestamp(each.last_modified),
                "etag": each.etag,
            }
            for each in listing.ordered
        ]
        begin, end = f'{{"path": {as_json(listing.path)}, "entries": [', f'], "next": {as_json(listing.next_href)}}}\n'
        return WrittenListing(begin, as_json(objects)[1:-1], ", ", end)
    # The title is how GDAL knows a listing: Apache's, which has no closing slash.
    title = escape(f"Index of {visible(listing.path.removesuffix('/')) or '/'}")
    head = f"<!doctype html>\n<html>\n<head>\n<title>{title}</title>\n</head>\n<body>\n<h1>{title}</h1><hr><pre>\n"
    up = "" if listing.path == listing.root else '<a href="../">../</a>\n'
    lines = "".join([_index_line(listing, each) for each in listing.ordered])
    return WrittenListing(f"{head}{up}", lines, "", "</pre><hr>\n</body>\n</html>\n")


def _index_line(listing: Listing, entry: Entry) -> str:
    """Returns a line as nginx writes it, from which programs read time and size, too."""
    name, href = visible(entry.name), listing.href(entry)
    shown = f'<a href="{href}">{escape(name)}</a>' if href else escape(name)
    time = f"{entry.last_modified.astimezone(UTC):%d-%b-%Y %H:%M}" if entry.last_modified else "-"
    size = "-" if entry.size is None else entry.size
    return f"{shown}{'':{max(1, 51 - len(name))}}{time:<17} {size:>19}\n"


def as_json(value: object) -> str:
    """Returns a value as JSON in a line."""
    return json.dumps(value, ensure_ascii=False)


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
    rows = []
    for entry, name in zip(entries, names, strict=False):
        kind = "directory" if entry.is_directory else _KIND_OF.get(entry.name[entry.name.rfind(".") :].lower(), "file")
        href = listing.href(entry)
        opening, closing = (f'<a class="{kind}" href="{href}">', "</a>") if href else (_DEAD, "</span>")
        # Compression removes repeated texts; so the shorter form of a time is the beginning of the longer one. The
        # script shows the exact values on hover: as titles, here, they would be a fifth of a compressed page.
        size = time = ""
        if entry.size is not None:
            size = f'<data value="{entry.size}">{human_size(entry.size)}</data>'
        if entry.last_modified is not None:
            exact = entry.last_modified.astimezone(UTC).isoformat(" ")[:19] + "Z"
            time = f'<time datetime="{exact}">{exact[:16]}</time>'
        own = " data-removable" if entry.name in offers.removable else ""
        rows.append(
            f'<tr{own}><th scope="row">{opening}<bdi>{name}</bdi>{closing}</th>'
            f'<td class="size">{size}</td><td class="time">{time}</td></tr>\n'
        )
    return Markup("".join(rows))  # noqa: S704 - names are escaped, and a reference has no special character of HTML


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
