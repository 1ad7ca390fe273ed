"""Themes: the compiled templates of pages, and assets whose names have a digest of their content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from jinja2 import Template

REPLACEABLE = ("page.html", "listing.html", "failure.html")
"""The templates that a theme may replace."""

_TYPES = MappingProxyType(
    {
        "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8",
        "svg": "image/svg+xml",
        "png": "image/png",
        "jpg": "image/jpeg",
        "jpeg": "image/jpeg",
        "webp": "image/webp",
        "gif": "image/gif",
    }
)
# Opened by itself, a picture runs nothing.
_SANDBOX = ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that pages refer to; it never changes, since its name has a digest of it."""

    name: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        kind = _TYPES[self.name.rpartition(".")[2]]
        told = (
            ("Content-Type", kind),
            ("Content-Length", str(len(self.body))),
            ("Cache-Control", "public, max-age=31536000, immutable"),
            ("X-Content-Type-Options", "nosniff"),
            *((_SANDBOX,) if kind.startswith("image/") else ()),
        )
        object.__setattr__(self, "headers", told)


def asset(*names: str) -> Asset:
    """The asset that is made of some files of the package, called after the last of them."""
    folder = files("tornado_proxy.pages").joinpath("assets")
    return _named(names[-1], b"".join(folder.joinpath(name).read_bytes() for name in names))


def _named(name: str, body: bytes) -> Asset:
    stem, _, ending = name.rpartition(".")
    return Asset(f"{stem}.{sha256(body).hexdigest()[:16]}.{ending.lower()}", body)


@dataclass(frozen=True, slots=True)
class Look:
    """The options of a theme; logo and style sheet are URLs, or names and contents of files."""

    title: str = ""
    logo: str | tuple[str, bytes] = ""
    css: str | tuple[str, bytes] = ""
    templates: Mapping[str, str] = field(default_factory=dict)


class Theme:
    """The templates of the pages, autoescaped and in a sandbox, and what they refer to.

    Raises `jinja2.TemplateError` for a template that does not compile.
    """

    def __init__(self, look: Look | None = None) -> None:
        # Neither the tools nor the first requests of a service need a page.
        from jinja2 import ChoiceLoader, DictLoader, PackageLoader, PrefixLoader, StrictUndefined  # noqa: PLC0415
        from jinja2.sandbox import SandboxedEnvironment  # noqa: PLC0415

        look = look or Look()
        style, script = asset("tokens.css", "style.css"), asset("uploads.js", "listing.js")
        self.title = look.title
        self.script = script.name
        self.assets = {each.name: each for each in (style, script)}
        self.logo, self.image_source = self._reference("logo", look.logo)
        sheet, self.style_source = self._reference("theme", look.css)
        self.sheets = (style.name, sheet) if sheet else (style.name,)
        self.has_own_templates = bool(look.templates)
        default = PackageLoader("tornado_proxy.pages")
        environment = SandboxedEnvironment(
            loader=ChoiceLoader([DictLoader(look.templates), default, PrefixLoader({"default": default})]),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            keep_trailing_newline=True,
            auto_reload=False,
        )
        environment.globals["theme"] = self
        # All now, also those that others extend: a request opens no file, for which there may be no descriptor left.
        self._templates = {
            name: environment.get_template(name) for name in environment.list_templates(extensions=["html"])
        }

    def template(self, name: str) -> Template:
        """A compiled template."""
        return self._templates[name]

    def _reference(self, stem: str, place: str | tuple[str, bytes]) -> tuple[str, str]:
        """Returns the reference to a file or a URL, and the source that the policy of pages must allow."""
        if isinstance(place, str):
            parts = urlsplit(place)
            return place, f" {parts.scheme}://{parts.netloc}" if place else ""
        name, body = place
        made = _named(f"{stem}.{name.rpartition('.')[2]}", body)
        self.assets[made.name] = made
        return made.name, ""


@cache
def own_theme() -> Theme:
    """The service's own theme, compiled once."""
    return Theme()
