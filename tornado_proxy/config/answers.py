"""What every answer to a client carries: sections of the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from tornado_proxy.config import values
from tornado_proxy.config.actions import MediaType
from tornado_proxy.config.options import Bounds, Constraint, Mark, option
from tornado_proxy.config.providers import HeaderName, Line
from tornado_proxy.config.quantities import GIB, Size


def _origin(text: str) -> str:
    values.line(text)
    if text.count("*") > 1:
        raise values.InvalidValue("has more than one `*`", "such as `https://*.example.org`, or `*` for any origin")
    return text.lower()


Origin = Annotated[str, Constraint(_origin)]


@dataclass(frozen=True, slots=True)
class Cors:
    """Cross-origin requests: which pages of other origins may read answers (Fetch, 3.2)."""

    shape: ClassVar[str] = "such as `{enabled: true, allowOrigins: [https://app.example.org]}`"

    enabled: bool = option("Whether answers have CORS headers.", default=False)
    allow_all: bool = option(
        "Whether pages of any origin have full access without credentials. Overrides the other options.", default=False
    )
    allow_origins: tuple[Origin, ...] = option(
        "The origins that have access; one `*` matches any text. The default is every origin.", default=()
    )
    allow_methods: tuple[Line, ...] = option(
        "The methods that they may use. The default is GET, POST and HEAD.", default=()
    )
    allow_headers: tuple[Annotated[str, Constraint(values.line)], ...] = option(
        "The headers that they may send; `*` is any. The default is Origin, Accept and Content-Type.", default=()
    )
    expose_headers: tuple[HeaderName, ...] = option("The headers of answers that they may read.", default=())
    max_age: Annotated[int, Bounds(0, 86400)] = option(
        "How many seconds a browser may cache the answer to a preflight; 0 leaves it to the browser.", default=0
    )
    allow_credentials: bool = option(
        "Whether they may send cookies and passwords. Requires `allowOrigins`.", default=False
    )
    options_passthrough: bool = option(
        "Whether a preflight is also handled as an ordinary OPTIONS request.",
        default=False,
    )


@dataclass(frozen=True, slots=True)
class CacheHeaders:
    """Headers about caching, for answers that are no errors. An object's own Cache-Control and Expires come first."""

    shape: ClassVar[str] = "such as `{cacheControl: 'max-age=3600'}`"

    no_cache_enabled: bool = option("Whether caching is forbidden. Overrides the other options.", default=False)
    expires: Line | None = option("The Expires header.", default=None)
    cache_control: Line | None = option("The Cache-Control header.", default=None)
    pragma: Line | None = option("The Pragma header.", default=None)
    x_accel_expires: Line | None = option("The X-Accel-Expires header, which nginx reads.", default=None)


COMPRESSED_TYPES = (
    "text/html",
    "text/css",
    "text/plain",
    "text/javascript",
    "application/javascript",
    "application/x-javascript",
    "application/json",
    "application/atom+xml",
    "application/rss+xml",
    "image/svg+xml",
)


@dataclass(frozen=True, slots=True)
class Compress:
    """Compression of answers, by gzip or deflate, for clients that accept it."""

    shape: ClassVar[str] = "such as `{level: 5, types: [text/*, application/json]}`"

    enabled: bool = option("Whether answers are compressed.", default=True)
    level: Annotated[int, Bounds(1, 9)] = option("The level of compression, from 1 (fast) to 9 (small).", default=5)
    types: Annotated[tuple[MediaType, ...], Mark.NOT_EMPTY] = option(
        "The types of answers that are compressed, such as `text/*`.", default=COMPRESSED_TYPES
    )
    min_size: Annotated[int, Size(0, GIB)] = option("The size of the smallest answer that is compressed.", default=1024)
