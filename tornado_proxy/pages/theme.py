"""The clothes of the pages: compiled templates, and files whose addresses name their content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.resources import files
from types import MappingProxyType

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

ASSETS_AT = ".tornado-proxy/"
"""Where assets are found, below any directory: no mount hides them, and a proxy in front that knows one knows all."""

_TYPES = MappingProxyType({"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"})


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that pages refer to; it never changes, since its name has a digest of it."""

    name: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        told = (
            ("Content-Type", _TYPES[self.name.rpartition(".")[2]]),
            ("Content-Length", str(len(self.body))),
            ("Cache-Control", "public, max-age=31536000, immutable"),
            ("X-Content-Type-Options", "nosniff"),
        )
        object.__setattr__(self, "headers", told)


def asset(*names: str) -> Asset:
    """The asset that is made of some files of the package, called after the last of them."""
    folder = files("tornado_proxy.pages").joinpath("assets")
    body = b"".join(folder.joinpath(name).read_bytes() for name in names)
    stem, _, ending = names[-1].rpartition(".")
    return Asset(f"{stem}.{sha256(body).hexdigest()[:16]}.{ending}", body)


class Theme:
    """The templates of the pages, autoescaped, and what they refer to."""

    def __init__(self) -> None:
        style, script = asset("tokens.css", "style.css"), asset("listing.js")
        self.title = ""
        self.logo = ""
        self.sheets = (style.name,)
        self.script = script.name
        self.assets: Mapping[str, Asset] = {each.name: each for each in (style, script)}
        environment = Environment(
            loader=PackageLoader("tornado_proxy.pages"),
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
