"""A page of a directory as values, and as JSON and text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from tornado_proxy.pages.links import link, link_to, visible


@dataclass(frozen=True, slots=True)
class Line:
    """A file or a directory in a listing; a directory's name ends in `/`, and it has nothing else."""

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
        """What it is, in a word that programs may compare."""
        return "directory" if self.is_directory else "file"


@dataclass(frozen=True, slots=True)
class Crumb:
    """A directory on the way to the one listed."""

    name: str
    href: str


@dataclass(frozen=True, slots=True)
class Listing:
    """What lies directly below a directory: one page of it, in S3's order.

    `path` is the directory's request path, `root` the mount's; both end in `/`. `next_query` leads to the next page.
    """

    path: str
    root: str
    lines: tuple[Line, ...]
    next_query: tuple[tuple[str, str], ...] = ()
    first: bool = True  # whether the listing begins on this page

    @property
    def next_href(self) -> str | None:
        """The link to the next page."""
        return link(self.path, self.next_query) if self.next_query else None

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


def timestamp(moment: datetime | None) -> str | None:
    """A moment in the form of RFC 3339, in UTC."""
    return f"{moment.astimezone(UTC).isoformat()[:19]}Z" if moment else None


def as_json(listing: Listing) -> dict[str, object]:
    """The listing as programs read it; docs/http.md describes it."""
    entries = [
        {
            "name": line.name,
            "href": listing.href(line),
            "type": line.kind,
            "size": line.size,
            "lastModified": timestamp(line.last_modified),
            "etag": line.etag,
        }
        for line in listing.lines
    ]
    return {"path": listing.path, "entries": entries, "next": listing.next_href}


def as_text(listing: Listing) -> str:
    """One line an entry: name, size, time of the last change, with tabs between; the name comes first for `cut`."""
    return "".join(f"{_text_line(line)}\n" for line in listing.lines)


def _text_line(line: Line) -> str:
    size = "" if line.size is None else str(line.size)
    return "\t".join((visible(line.name), size, timestamp(line.last_modified) or "")).rstrip("\t")
