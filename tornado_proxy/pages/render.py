"""The pages: templates compiled once, values in, bytes and their headers out."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from http.client import responses
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from tornado_proxy.pages.forms import Form
from tornado_proxy.pages.links import visible
from tornado_proxy.pages.listing import Line, Listing, as_json, as_text, timestamp
from tornado_proxy.semantics.sizes import human_size

_DEAD = '<span class="dead" title="No request can name this entry">'

LISTING_FORMS = FAILURE_FORMS = (Form.HTML, Form.JSON, Form.TEXT)
UPLOAD_FORMS = (Form.JSON, Form.TEXT)


@dataclass(frozen=True, slots=True)
class Failure:
    """What a client learns of an error; the message is a sentence without its full stop."""

    status: int
    message: str
    request_id: str

    @property
    def title(self) -> str:
        """The status in words."""
        return responses.get(self.status, "Error")


@dataclass(frozen=True, slots=True)
class UploadResult:
    """What a client learns of a stored upload; `location` is the file's link."""

    location: str
    size: int
    etag: str | None


class TargetLinks(NamedTuple):
    """A target's name and the absolute URLs that lead to it."""

    name: str
    links: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rendering:
    """A finished page: its bytes, and the headers that it needs."""

    body: bytes
    headers: tuple[tuple[str, str], ...]


class Pages:
    """Every page that the service makes; autoescaped, without scripts, styled by one inline sheet that CSP knows."""

    def __init__(self) -> None:
        environment = Environment(
            loader=PackageLoader("tornado_proxy.pages"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            keep_trailing_newline=True,
            auto_reload=False,
        )
        style = environment.loader.get_source(environment, "style.css")[0] if environment.loader else ""
        environment.globals["style"] = Markup(style)  # noqa: S704 - our own sheet, from the package
        # All now, also those that others extend: a request opens no file, for which there may be no descriptor left.
        for name in environment.list_templates(extensions=["html"]):
            environment.get_template(name)
        self._listing = environment.get_template("listing.html")
        self._failure = environment.get_template("failure.html")
        self._targets = environment.get_template("targets.html")
        self._html_headers = (("Content-Security-Policy", _policy(style)),)

    def listing(self, listing: Listing, form: Form) -> Rendering:
        """A page of a directory."""
        writers: Mapping[Form, Callable[[], str]] = {
            Form.HTML: lambda: self._listing.render(_listing_view(listing)),
            Form.JSON: lambda: _json(as_json(listing)),
            Form.TEXT: lambda: as_text(listing),
        }
        following = listing.next_href
        more = (("Link", f'<{following}>; rel="next"'),) if following else ()
        return self._rendering(form, writers[form](), (("Cache-Control", "no-cache"), *more))

    def targets(self, targets: Sequence[TargetLinks], form: Form) -> Rendering:
        """The page of all targets."""
        lines = (f"{each.name}\t{link}\n" for each in targets for link in each.links)
        writers: Mapping[Form, Callable[[], str]] = {
            Form.HTML: lambda: self._targets.render(targets=targets),
            Form.JSON: lambda: json.dumps([each._asdict() for each in targets], ensure_ascii=False) + "\n",
            Form.TEXT: lambda: "".join(lines),
        }
        return self._rendering(form, writers[form](), (("Cache-Control", "no-cache"),))

    def failure(self, failure: Failure, form: Form) -> Rendering:
        """The page of an error."""
        fields = {"status": failure.status, "title": failure.title, "message": failure.message}
        writers: Mapping[Form, Callable[[], str]] = {
            Form.HTML: partial(self._failure.render, fields, request_id=failure.request_id),
            Form.JSON: lambda: _json({**fields, "requestId": failure.request_id}),
            Form.TEXT: lambda: f"{failure.status} {failure.title}\n{failure.message}\nrequest {failure.request_id}\n",
        }
        return self._rendering(form, writers[form](), (("Cache-Control", "no-store"),))

    def upload(self, upload: UploadResult, form: Form) -> Rendering:
        """The answer to a stored upload."""
        fields = {"location": upload.location, "size": upload.size, "etag": upload.etag}
        return self._rendering(form, _json(fields) if form is Form.JSON else f"{upload.location}\n", ())

    def _rendering(self, form: Form, text: str, more: tuple[tuple[str, str], ...]) -> Rendering:
        headers = (
            ("Content-Type", form.content_type),
            ("Vary", "Accept"),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "same-origin"),
            *more,
            *(self._html_headers if form is Form.HTML else ()),
        )
        return Rendering(text.encode("utf-8", "replace"), headers)


def _policy(style: str) -> str:
    """Nothing but our own sheet; `img-src data:` is the empty icon that keeps browsers from asking for one."""
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def _listing_view(listing: Listing) -> dict[str, object]:
    *parents, here = listing.crumbs
    return {
        "here": here,
        "parents": parents,
        # Every text in them is escaped.
        "rows": Markup("".join([_row(listing, line) for line in listing.lines])),  # noqa: S704
        "totals": _totals(listing),
        "next": listing.next_href,
        "first": listing.first,
        "whole": listing.first and not listing.next_href,
    }


def _row(listing: Listing, line: Line) -> str:
    """The row of an entry; made here, since a page may have a thousand and a template takes ten times as long."""
    href, kind, moment = listing.href(line), line.kind, timestamp(line.last_modified)
    opening, closing = (f'<a href="{escape(href)}">', "</a>") if href else (_DEAD, "</span>")
    size = "" if line.size is None else f'<data value="{line.size}">{human_size(line.size)}</data>'
    time = f'<time datetime="{moment}">{moment[:10]} {moment[11:16]}</time>' if moment else ""
    return (
        f'<tr><th scope="row">{opening}<svg class="{kind}" aria-hidden="true"><use href="#{kind}"/></svg>'
        f"<bdi>{escape(visible(line.name))}</bdi>{closing}</th>"
        f'<td class="size">{size}</td><td class="time">{time}</td></tr>\n'
    )


def _totals(listing: Listing) -> str:
    files = [line for line in listing.lines if not line.is_directory]
    counts = [_count(len(listing.lines) - len(files), "directory", "directories"), _count(len(files), "file", "files")]
    size = human_size(sum(line.size or 0 for line in files)) if files else ""
    whole = listing.first and not listing.next_href
    said = ", ".join(part for part in (*counts, size) if part)
    return said if whole or not said else f"{said} on this page"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}" if number else ""
