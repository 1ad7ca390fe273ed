"""The service's own pages: their theme, and their bytes and headers in the form that a client chooses."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec
from jinja2 import ChoiceLoader, DictLoader, PackageLoader, PrefixLoader, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment
from markupsafe import Markup

from tornado_proxy.config.model import Mount
from tornado_proxy.pages.listing import Listing, Offers, as_json, link, listing_view, written
from tornado_proxy.routing.request import ASSETS_AT, UnknownFormat
from tornado_proxy.semantics.fields import REASONS, Headers, negotiate, path_reference
from tornado_proxy.storage.store import Entry


class Form(Enum):
    """A form of answers; the value is its name for `?format=`."""

    HTML = "html"
    JSON = "json"
    TEXT = "text"

    @property
    def content_type(self) -> str:
        """The value of Content-Type; JSON is UTF-8 by definition (RFC 8259 11) and takes no charset."""
        return _MEDIA_TYPES[self] + ("" if self is Form.JSON else "; charset=utf-8")


_MEDIA_TYPES = {Form.HTML: "text/html", Form.JSON: "application/json", Form.TEXT: "text/plain"}


def choose(
    offers: Sequence[Form],
    accept: str | None,
    override: str | None = None,
    *,
    is_strict: bool = False,
    others: Sequence[str] = (),
) -> Form:
    """Returns the form that a client prefers, the first of equals; `override` is `?format=`.

    If `is_strict`, an unknown override raises `UnknownFormat`, which names the offers and `others`.
    """
    named = next((form for form in offers if form.value == override), None)
    if is_strict and override and named is None:
        raise UnknownFormat(f"A listing is available as {', '.join((*(form.value for form in offers), *others))}")
    by_type = {_MEDIA_TYPES[form]: form for form in offers}
    return named or by_type[negotiate(accept, tuple(by_type))]


LISTING_FORMS = FAILURE_FORMS = (Form.HTML, Form.JSON, Form.TEXT)
UPLOAD_FORMS = (Form.JSON, Form.TEXT)


class Failure(msgspec.Struct, frozen=True):
    """The public part of an error; `root` is the mount's path and `path` the request's, if known.

    `sign_out` leads to the page that ends the user's session, if there is one, `sign_in` to one that begins a session.
    The message is a sentence without its full stop.
    """

    status: int
    message: str
    request_id: str
    root: str = "/"
    path: str = "/"
    sign_out: str = ""
    sign_in: str = ""

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
            "sign_out": self.sign_out,
            "sign_in": self.sign_in or (link(self.path) if self.status == 401 else None),
            "request_id": self.request_id,
        }


class TargetLinks(NamedTuple):
    """A target's name and the absolute URLs that lead to it."""

    name: str
    links: tuple[str, ...]


def target_links(mount: Mount, scheme: str, here: str, public_path: str = "") -> tuple[str, ...]:
    """The URLs of a mount; `here` is the authority of the request, for a mount of any host."""
    host = here if not mount.host or "*" in mount.host else mount.host
    return tuple(f"{scheme}://{host}{public_path}{path_reference(path)}" for path in mount.paths)


class Rendering(msgspec.Struct, frozen=True):
    """A finished page: its bytes, and the headers that it needs."""

    body: bytes
    headers: tuple[tuple[str, str], ...]


REPLACEABLE = ("page.html", "listing.html", "failure.html")
"""The templates that a theme can replace."""

_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "jpg": "image/jpeg",
    **{each: f"image/{each}" for each in ("png", "jpeg", "webp", "gif")},
}
# Scripts in a picture do not run when it is opened by itself.
_SANDBOX = ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")


class Asset(msgspec.Struct, frozen=True):
    """A file that pages refer to; its name contains a digest of it, so caches may keep it."""

    name: str
    body: bytes

    @property
    def headers(self) -> Headers:
        """The headers of the answer."""
        kind = _TYPES[self.name.rpartition(".")[2]]
        return (
            ("Content-Type", kind),
            ("Content-Length", str(len(self.body))),
            ("Cache-Control", "public, max-age=31536000, immutable"),
            ("X-Content-Type-Options", "nosniff"),
            *((_SANDBOX,) if kind.startswith("image/") else ()),
        )


def asset(*names: str) -> Asset:
    """Returns the asset of some files of the package, which has the name of the last one."""
    folder = files("tornado_proxy.pages").joinpath("assets")
    return _named(names[-1], b"".join(folder.joinpath(name).read_bytes() for name in names))


def _named(name: str, body: bytes) -> Asset:
    stem, _, ending = name.rpartition(".")
    return Asset(f"{stem}.{sha256(body).hexdigest()[:16]}.{ending.lower()}", body)


_SCRIPTS = ("page.js", "previews.js", "changes.js", "listing.js")  # one script, the first one first


_LOG = logging.getLogger("tornado_proxy")

# `img-src data:` is for the icons in the sheet, and for the empty icon that stops browsers from requesting one.
_POLICY = "default-src 'none'; style-src 'self'{}; img-src 'self' data:{}{}"
_NO_EMBEDDING = "base-uri 'none'; frame-ancestors 'none'"
_NO_MORE = f"form-action 'none'; {_NO_EMBEDDING}"
_MEDIA = "media-src 'self'{0}; frame-src 'self'{0}"  # of the viewer
_SCRIPT = "script-src 'self'; connect-src 'self'{}; {}; require-trusted-types-for 'script'"


def _environment(templates: Mapping[str, str]) -> SandboxedEnvironment:
    """Returns the environment of the service's templates, or of those that replace some."""
    default = PackageLoader("tornado_proxy.pages")
    replaced = ChoiceLoader([DictLoader(templates), default, PrefixLoader({"default": default})])
    return SandboxedEnvironment(
        loader=replaced if templates else default,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )


_OWN = _environment({})


class Pages:
    """The pages in one look: their templates, autoescaped and in a sandbox, and their assets; nothing is inline.

    Logo and style sheet are URLs, or names and contents of files. A template that does not compile raises
    `jinja2.TemplateError`.
    """

    def __init__(
        self,
        title: str = "",
        logo: str | tuple[str, bytes] = "",
        css: str | tuple[str, bytes] = "",
        templates: Mapping[str, str] | None = None,
    ) -> None:
        style, script = asset("tokens.css", "style.css"), asset(*_SCRIPTS)
        uploads, transfers = asset("uploads.js"), asset("transfers.js")
        viewer, highlighter = asset("viewer.js"), asset("highlighter.js")
        self.title = title
        self.script, self.uploads, self.transfers = script.name, uploads.name, transfers.name
        self.viewer, self.highlighter = viewer.name, highlighter.name
        self.assets = {each.name: each for each in (style, script, uploads, transfers, viewer, highlighter)}
        self.logo, self.image_source = self._reference("logo", logo)
        sheet, self.style_source = self._reference("theme", css)
        self.sheets = (style.name, sheet) if sheet else (style.name,)
        self.has_own_templates = bool(templates)
        environment = _environment(templates) if templates else _OWN
        if templates:
            environment.globals["theme"] = self  # also for what they import
        # Loaded now: a request may find no free descriptor.
        self._templates = {name: environment.get_template(name) for name in environment.list_templates(["html"])}
        for name in templates or {}:
            self._templates[name].filename = name  # of a theme's own, in a traceback

    def render(self, name: str, root: str, values: Mapping[str, object]) -> str:
        """Returns a page of a mount, or of another directory; its assets lie below that."""
        return self._templates[f"{name}.html"].render(values, theme=self, assets=link(root + ASSETS_AT))

    def _reference(self, stem: str, place: str | tuple[str, bytes]) -> tuple[str, str]:
        """Returns the reference to a file or a URL, and the source that the policy of pages must allow."""
        if isinstance(place, str):
            parts = urlsplit(place)
            return place, f" {parts.scheme}://{parts.netloc}" if place else ""
        name, body = place
        made = _named(f"{stem}.{name.rpartition('.')[2]}", body)
        self.assets[made.name] = made
        return made.name, ""

    def listing(self, listing: Listing, form: Form, offers: Offers | None = None) -> Rendering:
        """Returns a page of a directory; `offers` are for HTML only."""
        offers = offers or Offers()
        if form is Form.HTML:
            text = self._html("listing", listing.root, listing_view(listing, offers))
        else:
            texts = written(listing, form.value)
            text = f"{texts.begin}{texts.entries}{texts.end}"
        following = listing.next_href
        more = (("Link", f'<{following}>; rel="next"'),) if following else ()
        return self._rendering(form, text, (("Cache-Control", "no-cache"), *more), offers)

    def index_headers(self, form: Form) -> Headers:
        """Returns the headers of a listing for programs."""
        return self._rendering(form, "", (("Cache-Control", "no-cache"),)).headers

    def targets(self, targets: Sequence[TargetLinks], form: Form, path: str = "/") -> Rendering:
        """Returns the page of all targets; `path` is its own."""
        lines = (f"{each.name}\t{url}\n" for each in targets for url in each.links)
        writers: Mapping[Form, Callable[[], str]] = {
            Form.HTML: lambda: self._html("targets", path, {"targets": targets}),
            Form.JSON: lambda: f"{as_json([each._asdict() for each in targets])}\n",
            Form.TEXT: lambda: "".join(lines),
        }
        return self._rendering(form, writers[form](), (("Cache-Control", "no-cache"),))

    def failure(self, failure: Failure, form: Form) -> Rendering:
        """Returns the page of an error."""
        fields = {"status": failure.status, "title": failure.title, "message": failure.message}
        writers: Mapping[Form, Callable[[], str]] = {
            Form.HTML: lambda: self._html("failure", failure.root, failure.values),
            Form.JSON: lambda: f"{as_json({**fields, 'requestId': failure.request_id})}\n",
            Form.TEXT: lambda: f"{failure.status} {failure.title}\n{failure.message}\nrequest {failure.request_id}\n",
        }
        return self._rendering(form, writers[form](), (("Cache-Control", "no-store"),))

    def sign_out(self, path: str, root: str) -> Rendering:
        """Returns the page that asks whether to sign out; its form posts to its own path."""
        text = self._html("sign_out", root, {"here": link(path), "home": link(root)})
        # Browsers apply `form-action` to redirects too, and the provider may lead through others.
        return self._rendering(Form.HTML, text, (("Cache-Control", "no-store"),), no_more=_NO_EMBEDDING)

    def upload(self, location: str, size: int, etag: str | None, form: Form) -> Rendering:
        """Returns the answer to an upload; `location` is the file's link."""
        fields = {"location": location, "size": size, "etag": etag}
        return _rendering(form, f"{as_json(fields) if form is Form.JSON else location}\n", ())

    def check(self) -> None:
        """Makes a page of each kind; raises the errors of the theme's templates."""
        entries = (Entry("directory/"), Entry("file.txt", 1, datetime.now(UTC)))
        offers = Offers(upload=True, removable=frozenset({"file.txt"}), archives=("zip",), readme=Markup("<p>text</p>"))
        whole, part = Listing("/a/b/", "/a/", entries), Listing("/", "/", (), {"after": "a", "via": "b"}, "c")
        values = [(listing.root, listing_view(listing, offers)) for listing in (whole, part)]
        for root, each in values:
            self.render("listing", root, each)
        self.render("targets", "/", {"targets": (TargetLinks("a", ("http://localhost/",)),)})
        self.render("sign_out", "/", {"here": "/", "home": "/"})
        for status in (401, 404):
            self.render("failure", "/", Failure(status, "a sentence", "id", "/", "/a/b").values)

    def _html(self, name: str, root: str, values: Mapping[str, object]) -> str:
        try:
            return self.render(name, root, values)
        except Exception:
            if not self.has_own_templates:
                raise
            # A template of the theme can fail for values that `check` does not have.
            _LOG.exception("the template `%s.html` of a theme failed; the service's own template replaces it", name)
            return _own().render(name, root, values)

    def _rendering(
        self, form: Form, text: str, more: Headers, offers: Offers | None = None, no_more: str = _NO_MORE
    ) -> Rendering:
        """Returns a page with its policy; the script is for listings, which have `offers`."""
        if form is not Form.HTML:
            return _rendering(form, text, more)
        files, uploads = (offers.files_from, offers.uploads_to) if offers else ("", "")
        files_from, both = _sources(files), _sources(files, uploads)
        policy = _POLICY.format(self.style_source, self.image_source, files_from)
        script = _SCRIPT.format(both, _MEDIA.format(files_from)) if offers else ""
        no_more = f"form-action 'self'; {_NO_EMBEDDING}" if offers else no_more
        whole = "; ".join(filter(None, (policy, script, no_more)))
        return _rendering(form, text, (*more, ("Content-Security-Policy", whole)))


@cache
def _own() -> Pages:
    return Pages()


def _sources(*origins: str) -> str:
    """Returns origins in the syntax of a policy."""
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
