"""A page of a directory: values, sorting and links, JSON and text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal
from urllib.parse import urlencode

from tornado_proxy.rules.model import path_objection
from tornado_proxy.semantics.fields import path_reference


def link(path: str, query: Sequence[tuple[str, str]] = ()) -> str:
    """The reference to a decoded request path, with a query if there is one."""
    return path_reference(path) + (f"?{urlencode(query)}" if query else "")


def link_to(directory: str, name: str) -> str | None:
    """Returns the reference to an entry of a directory; None if no request can name it."""
    path = directory + name
    return None if path_objection(path) else link(path)


def visible(name: str) -> str:
    """Returns a name with visible symbols in place of control characters."""
    return name if name.isprintable() else "".join(_picture(character) for character in name)


def _picture(character: str) -> str:
    number = ord(character)
    if number < 0x20:
        return chr(0x2400 + number)
    if number == 0x7F:
        return "\N{SYMBOL FOR DELETE}"
    if 0x80 <= number < 0xA0 or 0xD800 <= number < 0xE000:
        return "\N{REPLACEMENT CHARACTER}"
    return character


_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def human_size(size: int) -> str:
    """A number of bytes as people read it: `0 B`, `1023 B`, `1.5 KiB`, `5.0 GiB`."""
    if size < 1024:
        return f"{size} B"
    power = 1
    # What would be shown as 1024.0 is one of the next unit.
    while power < len(_UNITS) and size / 1024**power >= 1023.95:
        power += 1
    return f"{size / 1024**power:.1f} {_UNITS[power - 1]}"


SortKey = Literal["name", "size", "date"]
SORT_KEYS: tuple[SortKey, ...] = ("name", "size", "date")

# Query parameters that every link from a listing to a page of it keeps.
_KEPT = ("limit", "format", "sort", "order")
_MOST_EARLIER = 30  # pages to which a link remembers the way back
_FORGOTTEN = "-"  # stands for those before them
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,1500}")
_DIGITS = re.compile(r"([0-9]+)")
_NEVER = datetime(1, 1, 1, tzinfo=UTC)

Query = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A file or a directory in a listing; a directory has only a name, which ends in `/`."""

    name: str
    size: int | None = None  # bytes
    last_modified: datetime | None = None
    etag: str | None = None

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return self.name.endswith("/")

    @property
    def kind(self) -> str:
        """`file` or `directory`."""
        return "directory" if self.is_directory else "file"


@dataclass(frozen=True, slots=True)
class Order:
    """How the lines of a page are sorted: names naturally (`a9` before `a10`), and as a tie-break everywhere."""

    by: SortKey = "name"
    descending: bool = False
    directories_first: bool = True

    def applied(self, lines: Iterable[Line]) -> list[Line]:
        """The lines in this order."""
        # Each sort keeps the order of the one before where its own keys are equal, reversed or not.
        found = sorted(lines, key=_natural, reverse=self.descending and self.by == "name")
        if self.by == "size":
            found.sort(key=lambda line: -1 if line.size is None else line.size, reverse=self.descending)
        elif self.by == "date":
            found.sort(key=lambda line: line.last_modified or _NEVER, reverse=self.descending)
        if self.directories_first:
            found.sort(key=lambda line: not line.is_directory)
        return found


def _natural(line: Line) -> tuple[list[str | int], str]:
    """Texts and numbers in turn, so that the two are never compared."""
    parts: list[str | int] = list(_DIGITS.split(line.name.casefold()))
    parts[1::2] = [int(part) for part in parts[1::2]]
    return parts, line.name


@dataclass(frozen=True, slots=True)
class Crumb:
    """A directory on the way to the one listed."""

    name: str
    href: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of the direct entries of a directory, in S3's order.

    `path` is the directory's request path, `root` the mount's; both end in `/`. `query` is the request's: `after` is
    the token of the page, `via` the tokens of the pages before it, `sort` and `order` the requested order.
    """

    path: str
    root: str
    lines: tuple[Line, ...]
    query: Mapping[str, str] = field(default_factory=dict)
    next_token: str | None = None
    directories_first: bool = True

    @property
    def first(self) -> bool:
        """Whether the listing begins on this page."""
        return not self.query.get("after")

    @property
    def is_whole(self) -> bool:
        """Whether this page is all there is."""
        return self.first and self.next_token is None

    @property
    def order(self) -> Order | None:
        """The order that the client asked for; None where it did not, or for one that does not exist."""
        by = self.query.get("sort")
        if by not in SORT_KEYS:
            return None
        return Order(by, self.query.get("order") == "desc", self.directories_first)

    @property
    def ordered(self) -> list[Line]:
        """The lines as programs get them: in S3's order, unless they asked for another."""
        return self.order.applied(self.lines) if self.order else list(self.lines)

    @property
    def next_href(self) -> str | None:
        """The link to the next page."""
        return link(self.path, (("after", self.next_token), *self._kept)) if self.next_token else None

    @property
    def next_page(self) -> str | None:
        """The link to the next page, from which there is a way back."""
        if self.next_token is None:
            return None
        via = (*self._via, self.query["after"]) if not self.first else ()
        known = via if len(via) <= _MOST_EARLIER else (_FORGOTTEN, *via[-_MOST_EARLIER:])
        return self._page(self.next_token, known)

    @property
    def previous_page(self) -> str | None:
        """The link to the page before; None on the first page, and where a link led into the middle."""
        if self.first or "via" not in self.query:
            return None
        *earlier, before = self._via or ("",)
        if before == _FORGOTTEN:
            return None
        return self._page(before, tuple(earlier)) if before else self.first_page

    @property
    def first_page(self) -> str:
        """The link to where the listing begins."""
        return link(self.path, self._kept)

    def sorted_by(self, key: SortKey) -> str:
        """The link to this page in the order of a key: descending, if it is in the ascending one already."""
        shown = self.order or Order()
        order = "desc" if shown.by == key and not shown.descending else "asc"
        here = tuple((name, self.query[name]) for name in ("after", "via", "limit", "format") if name in self.query)
        return link(self.path, (*here, ("sort", key), ("order", order)))

    @property
    def crumbs(self) -> tuple[Crumb, ...]:
        """The directories from the mount's root to the listed one, itself included."""
        names = self.path[len(self.root) :].split("/")[:-1]
        crumbs = [Crumb(self.root, link(self.root))]
        path = self.root
        for name in names:
            path += name + "/"
            crumbs.append(Crumb(visible(name) or "\N{EMPTY SET}", link(path)))
        return tuple(crumbs)

    def href(self, line: Line) -> str | None:
        """The link to an entry; None where no request can name it."""
        return link_to(self.path, line.name)

    @property
    def _kept(self) -> Query:
        return tuple((name, self.query[name]) for name in _KEPT if name in self.query)

    @property
    def _via(self) -> tuple[str, ...]:
        return tuple(each for each in self.query.get("via", "").split(".") if _TOKEN.fullmatch(each))[
            : _MOST_EARLIER + 1
        ]

    def _page(self, token: str, via: tuple[str, ...]) -> str:
        return link(self.path, (("after", token), ("via", ".".join(via)), *self._kept))


def timestamp(moment: datetime | None) -> str | None:
    """Formats a time as RFC 3339, in UTC."""
    return f"{moment.astimezone(UTC).isoformat()[:19]}Z" if moment else None


def as_json(listing: Listing) -> dict[str, object]:
    """Returns the listing as JSON; docs/http.md describes it."""
    entries = [
        {
            "name": line.name,
            "href": listing.href(line),
            "type": line.kind,
            "size": line.size,
            "lastModified": timestamp(line.last_modified),
            "etag": line.etag,
        }
        for line in listing.ordered
    ]
    return {"path": listing.path, "entries": entries, "next": listing.next_href}


def as_text(listing: Listing) -> str:
    """One line an entry: name, size, time of the last change, with tabs between; the name comes first for `cut`."""
    return "".join(f"{_text_line(line)}\n" for line in listing.ordered)


def _text_line(line: Line) -> str:
    size = "" if line.size is None else str(line.size)
    return "\t".join((visible(line.name), size, timestamp(line.last_modified) or "")).rstrip("\t")
