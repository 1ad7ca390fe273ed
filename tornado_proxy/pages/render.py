"""The pages: templates compiled once, values in, bytes and their headers out, in the form that a client chooses."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import NamedTuple

from markupsafe import Markup

from tornado_proxy.config.model import Mount
from tornado_proxy.pages.listing import Line, Listing, as_json, as_text, link
from tornado_proxy.pages.listing_view import Offers, listing_view
from tornado_proxy.pages.theme import Asset, Theme, own_theme
from tornado_proxy.routing.request import ASSETS_AT, UnknownFormat
from tornado_proxy.semantics.fields import REASONS, negotiate, path_reference


class Form(Enum):
    """A form of answers; the value is its name for `?format=`."""

    HTML = "html"
    JSON = "json"
    TEXT = "text"

    @property
    def media_type(self) -> str:
        """The type and subtype that an Accept header names it by."""
        return _MEDIA_TYPES[self]

    @property
    def content_type(self) -> str:
        """The value of Content-Type; JSON is UTF-8 by definition (RFC 8259 11) and takes no charset."""
        return self.media_type if self is Form.JSON else f"{self.media_type}; charset=utf-8"


_MEDIA_TYPES = {Form.HTML: "text/html", Form.JSON: "application/json", Form.TEXT: "text/plain"}


def choose(
    offers: Sequence[Form],
    accept: str | None,
    override: str | None = None,
    *,
    is_strict: bool = False,
    others: Sequence[str] = (),
) -> Form:
    """Returns the form that a client prefers, of equals the first; `override` is `?format=`.

    Raises `UnknownFormat` for an unknown override if `is_strict`; the error names the offers and `others`.
    """
    named = next((form for form in offers if form.value == override), None)
    if is_strict and override and named is None:
        raise UnknownFormat(f"A listing is available as {', '.join((*(form.value for form in offers), *others))}")
    by_type = {form.media_type: form for form in offers}
    return named or by_type[negotiate(accept, tuple(by_type))]


LISTING_FORMS = FAILURE_FORMS = (Form.HTML, Form.JSON, Form.TEXT)
UPLOAD_FORMS = (Form.JSON, Form.TEXT)


@dataclass(frozen=True, slots=True)
class Failure:
    """The public part of an error; the message is a sentence without its full stop.

    `root` is the mount's path and `path` the request's, if known.
    """

    status: int
    message: str
    request_id: str
    root: str = "/"
    path: str = "/"

    @property
    def title(self) -> str:
        """The status in words."""
        return REASONS.get(self.status, "Error")

    @property
    def values(self) -> dict[str, object]:
        """Returns the variables of the template; `up` is None if it equals `home`."""
        up = self.path.rstrip("/").rpartition("/")[0] + "/"
        is_below = up.startswith(self.root) and up != self.root
        return {
            "status": self.status,
            "title": self.title,
            "message": self.message,
            "here": link(self.path),
            "home": link(self.root),
            "up": link(up) if is_below else None,
            "request_id": self.request_id,
        }


@dataclass(frozen=True, slots=True)
class UploadResult:
    """The public result of an upload; `location` is the file's link."""

    location: str
    size: int
    etag: str | None


class TargetLinks(NamedTuple):
    """A target's name and the absolute URLs that lead to it."""

    name: str
    links: tuple[str, ...]


def target_links(mount: Mount, scheme: str, here: str) -> tuple[str, ...]:
    """The URLs of a mount; `here` is the authority of the request, for a mount of any host."""
    host = here if not mount.host or "*" in mount.host else mount.host
    return tuple(f"{scheme}://{host}{path_reference(path)}" for path in mount.paths)


@dataclass(frozen=True, slots=True)
class Rendering:
    """A finished page: its bytes, and the headers that it needs."""

    body: bytes
    headers: tuple[tuple[str, str], ...]


_LOG = logging.getLogger("tornado_proxy")

# `img-src data:` is for the icons in the sheet, and for the empty one that keeps browsers from asking for another.
_POLICY = "default-src 'none'; style-src 'self'{}; img-src 'self' data:{}{}"
_NO_MORE = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_SCRIPT = "script-src 'self'; connect-src 'self'{}; media-src 'self'{}; require-trusted-types-for 'script'"

Headers = tuple[tuple[str, str], ...]


class Pages:
    """All pages of the service with a theme; nothing is inline or from other hosts."""

    def __init__(self, theme: Theme | None = None) -> None:
        self._given = theme

    def prepare(self) -> None:
        """Read and compile the templates; a page that is made before does so itself."""
        own_theme()

    @property
    def _theme(self) -> Theme:
        return self._given or own_theme()

    @property
    def assets(self) -> Mapping[str, Asset]:
        """The files that the pages refer to, by name."""
        return self._theme.assets

    def listing(self, listing: Listing, form: Form, offers: Offers | None = None) -> Rendering:
        """A page of a directory; `offers` is what HTML shows besides."""
        offers = offers or Offers()
        writers: Mapping[Form, Callable[[], str]] = {
            Form.HTML: lambda: self._html("listing", listing.root, listing_view(listing, offers)),
            Form.JSON: lambda: _json(as_json(listing)),
            Form.TEXT: lambda: as_text(listing),
        }
        following = listing.next_href
        more = (("Link", f'<{following}>; rel="next"'),) if following else ()
        return self._rendering(form, writers[form](), (("Cache-Control", "no-cache"), *more), offers)

    def targets(self, targets: Sequence[TargetLinks], form: Form, path: str = "/") -> Rendering:
        """The page of all targets, which has a path of its own."""
        lines = (f"{each.name}\t{link}\n" for each in targets for link in each.links)
        writers: Mapping[Form, Callable[[], str]] = {
            Form.HTML: lambda: self._html("targets", path, {"targets": targets}),
            Form.JSON: lambda: json.dumps([each._asdict() for each in targets], ensure_ascii=False) + "\n",
            Form.TEXT: lambda: "".join(lines),
        }
        return self._rendering(form, writers[form](), (("Cache-Control", "no-cache"),))

    def failure(self, failure: Failure, form: Form) -> Rendering:
        """The page of an error."""
        fields = {"status": failure.status, "title": failure.title, "message": failure.message}
        writers: Mapping[Form, Callable[[], str]] = {
            Form.HTML: lambda: self._html("failure", failure.root, failure.values),
            Form.JSON: lambda: _json({**fields, "requestId": failure.request_id}),
            Form.TEXT: lambda: f"{failure.status} {failure.title}\n{failure.message}\nrequest {failure.request_id}\n",
        }
        return self._rendering(form, writers[form](), (("Cache-Control", "no-store"),))

    def upload(self, upload: UploadResult, form: Form) -> Rendering:
        """The answer to a stored upload."""
        fields = {"location": upload.location, "size": upload.size, "etag": upload.etag}
        return _rendering(form, _json(fields) if form is Form.JSON else f"{upload.location}\n", ())

    def check(self) -> None:
        """Make a page of each kind; raises what templates of a theme's own raise."""
        lines = (Line("directory/"), Line("file.txt", 1, datetime.now(UTC)))
        offers = Offers(upload=True, removable=frozenset({"file.txt"}), archives=("zip",), readme=Markup("<p>text</p>"))
        whole, part = Listing("/a/b/", "/a/", lines), Listing("/", "/", (), {"after": "a", "via": "b"}, "c")
        values = [(listing.root, listing_view(listing, offers)) for listing in (whole, part)]
        for root, each in values:
            self._made(self._theme, "listing", root, each)
        self._made(self._theme, "targets", "/", {"targets": (TargetLinks("a", ("http://localhost/",)),)})
        for status in (401, 404):
            self._made(self._theme, "failure", "/", Failure(status, "a sentence", "id", "/", "/a/b").values)

    def _html(self, name: str, root: str, values: Mapping[str, object]) -> str:
        """A page of a mount, or of another directory, whose assets are found below it."""
        try:
            return self._made(self._theme, name, root, values)
        except Exception:
            if not self._theme.has_own_templates:
                raise
            # A template of the theme's own, which may be wrong about what it has not met before.
            _LOG.exception("the template `%s.html` of a theme failed; the service's own took its place", name)
            return self._made(own_theme(), name, root, values)

    @staticmethod
    def _made(theme: Theme, name: str, root: str, values: Mapping[str, object]) -> str:
        return theme.template(f"{name}.html").render(values, assets=link(root + ASSETS_AT))

    def _rendering(self, form: Form, text: str, more: Headers, offers: Offers | None = None) -> Rendering:
        """A page with its policy, which lets a listing with `offers` run its script."""
        if form is not Form.HTML:
            return _rendering(form, text, more)
        files, uploads = (offers.files_from, offers.uploads_to) if offers else ("", "")
        files_from, both = _sources(files), _sources(files, uploads)
        policy = _POLICY.format(self._theme.style_source, self._theme.image_source, files_from)
        script = _SCRIPT.format(both, files_from) if offers else ""
        whole = "; ".join(filter(None, (policy, script, _NO_MORE)))
        return _rendering(form, text, (*more, ("Content-Security-Policy", whole)))


def _sources(*origins: str) -> str:
    """Returns origins as a policy lists them."""
    return "".join(f" {each}" for each in dict.fromkeys(origins) if each)


def _rendering(form: Form, text: str, more: Headers) -> Rendering:
    headers = (
        ("Content-Type", form.content_type),
        ("Vary", "Accept"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "same-origin"),
        *more,
    )
    return Rendering(text.encode("utf-8", "replace"), headers)


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"
