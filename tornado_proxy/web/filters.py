"""Filters for every answer: headers about other origins (CORS, Fetch 3.2) and caches, and compression.

Answers are compressed by zlib as gzip or deflate (RFC 9110 8.4.1).
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace
from tornado.httputil import HTTPServerRequest

from tornado_proxy.config.server import CacheHeaders, Compress, Cors, Server
from tornado_proxy.semantics.conditions import is_weak, parse_etags
from tornado_proxy.semantics.fields import Headers, is_of_types, negotiate_coding
from tornado_proxy.web.answer import Answer, Streamed, Whole, with_headers, without
from tornado_proxy.web.limits import COMPRESSED_AT_ONCE, PIECE_COMPRESSED

_USUAL_METHODS = ("GET", "POST", "HEAD")
_USUAL_HEADERS = ("Origin", "Accept", "Content-Type")
_ASKED = "Access-Control-Request-Method"
_ASKED_HEADERS = "Access-Control-Request-Headers"


class CorsPolicy(msgspec.Struct, frozen=True):
    """The origins, methods and headers that are allowed; `None` allows any."""

    origins: tuple[str, ...] | None
    methods: frozenset[str]
    headers: frozenset[str] | None
    exposed: str = ""
    max_age: int = 0
    has_credentials: bool = False

    @classmethod
    def of(cls, cors: Cors) -> CorsPolicy:
        """Returns the policy of lists; an empty list allows what is usual, and `*` any origin or header."""
        allowed = frozenset(each.lower() for each in (*(cors.allow_headers or _USUAL_HEADERS), "Origin"))
        return cls(
            origins=None if not cors.allow_origins or "*" in cors.allow_origins else cors.allow_origins,
            methods=frozenset(each.upper() for each in cors.allow_methods or _USUAL_METHODS) | {"OPTIONS"},
            headers=None if "*" in allowed else allowed,
            exposed=", ".join(cors.expose_headers),
            max_age=cors.max_age,
            has_credentials=cors.allow_credentials,
        )

    def of_answer(self, method: str, asked: Mapping[str, str]) -> Headers:
        """Returns the headers of an answer to a request."""
        vary = ("Vary", "Origin")
        origin = asked.get("Origin", "")
        if not self.allows(origin, method):
            return (vary,)
        exposed = (("Access-Control-Expose-Headers", self.exposed),) if self.exposed else ()
        return (vary, *self._allowance(origin), *exposed)

    def of_preflight(self, asked: Mapping[str, str]) -> Headers:
        """Returns the headers of an answer to a preflight; all that it asks for is allowed, or nothing."""
        vary = ("Vary", f"Origin, {_ASKED}, {_ASKED_HEADERS}")
        origin, method = asked.get("Origin", ""), asked.get(_ASKED, "").strip().upper()
        requested = [each.strip() for each in asked.get(_ASKED_HEADERS, "").split(",") if each.strip()]
        has_headers = self.headers is None or all(each.lower() in self.headers for each in requested)
        if not self.allows(origin, method) or not has_headers:
            return (vary,)
        answer = [vary, *self._allowance(origin), ("Access-Control-Allow-Methods", method)]
        if requested:
            answer.append(("Access-Control-Allow-Headers", ", ".join(requested)))
        if self.max_age:
            answer.append(("Access-Control-Max-Age", str(self.max_age)))
        return tuple(answer)

    def allows(self, origin: str, method: str) -> bool:
        """Returns whether pages of an origin may use a method."""
        if not origin or method not in self.methods:
            return False
        return self.origins is None or any(_matches(pattern, origin.lower()) for pattern in self.origins)

    def _allowance(self, origin: str) -> Headers:
        # Browsers refuse `*` together with credentials (Fetch 3.2.5), but would accept the origin sent back.
        allowed = ("Access-Control-Allow-Origin", "*" if self.origins is None else origin)
        return (allowed, ("Access-Control-Allow-Credentials", "true")) if self.has_credentials else (allowed,)


OPEN = CorsPolicy.of(Cors(allow_methods=("HEAD", "GET", "POST", "PUT", "PATCH", "DELETE"), allow_headers=("*",)))
"""The policy that allows everything to every page, without credentials."""


def is_preflight(method: str, asked: Mapping[str, str]) -> bool:
    """Returns whether a browser asks for permission before it sends a request."""
    return method == "OPTIONS" and bool(asked.get(_ASKED))


def _matches(pattern: str, origin: str) -> bool:
    start, star, end = pattern.partition("*")
    if not star:
        return pattern == origin
    return len(origin) >= len(start) + len(end) and origin.startswith(start) and origin.endswith(end)


_NO_CACHE = (
    ("Expires", "Thu, 01 Jan 1970 00:00:00 GMT"),
    ("Cache-Control", "no-cache, no-store, no-transform, must-revalidate, private, max-age=0"),
    ("Pragma", "no-cache"),
    ("X-Accel-Expires", "0"),
)

_IS_CLOSED = re.compile(r"no-store|private", re.IGNORECASE)


class PolicyHeaders:
    """Adds headers about other origins and caches to answers, as the configuration asks."""

    def __init__(self, server: Server) -> None:
        cors, cache = server.cors or Cors(), server.cache or CacheHeaders()
        self._cors = None if not cors.enabled else OPEN if cors.allow_all else CorsPolicy.of(cors)
        self._passes_options = cors.options_passthrough
        configured = (
            ("Expires", cache.expires),
            ("Cache-Control", cache.cache_control),
            ("Pragma", cache.pragma),
            ("X-Accel-Expires", cache.x_accel_expires),
        )
        self._cache: Headers = tuple((name, value) for name, value in configured if value)
        if cache.no_cache_enabled:
            self._cache = _NO_CACHE

    def preflight(self, asked: HTTPServerRequest) -> Answer | None:
        """Returns the answer to a preflight, which browsers send without credentials; None for any other request."""
        if self._cors is None or self._passes_options or not is_preflight(asked.method, asked.headers):
            return None
        return Whole(200, (("Content-Length", "0"),))

    def lets(self, asked: HTTPServerRequest) -> bool:
        """Whether a page of another origin may make a request."""
        return self._cors is not None and self._cors.allows(asked.headers.get("Origin", ""), asked.method)

    def added_to(self, answer: Answer, asked: HTTPServerRequest) -> Answer:
        """Returns the answer with the headers added."""
        if self._cors is None and not self._cache:
            return answer
        headers = self._with_cache(answer) if answer.status < 400 or self._cache is _NO_CACHE else answer.headers
        if self._cors is not None:
            method, sent = asked.method, asked.headers
            cors = self._cors.of_preflight(sent) if is_preflight(method, sent) else self._cors.of_answer(method, sent)
            headers = (*headers, *cors)
        return replace(answer, headers=headers)

    def _with_cache(self, answer: Answer) -> Headers:
        added = tuple(each for each in self._cache if each[0].lower() not in answer.templated)
        if self._cache is _NO_CACHE:
            return with_headers(answer.headers, added)
        named = {name.lower(): value for name, value in answer.headers}
        if _IS_CLOSED.search(named.get("cache-control", "")):
            # A sign-in, a signed URL or an answer to one user must not reach another user through a cache.
            return answer.headers
        if "etag" in named or "location" in named:  # a file, or a redirect, which says itself how long it holds
            return (*answer.headers, *(each for each in added if each[0].lower() not in named))
        return with_headers(answer.headers, added)


# Each coding with the window that makes zlib write its format.
_WINDOWS = {"gzip": 31, "deflate": 15}

# Headers that the compressed form does not have: ranges and digests count in the plain form.
_OF_PLAIN = frozenset({"accept-ranges", "content-length", "content-digest", "repr-digest", "etag", "vary"})


class Compressor:
    """Compresses answers of the types that the configuration names.

    A compressed object is streamed, so that its size does not matter; a page is compressed whole. `running` is the
    number of the streamed ones in this process.
    """

    running: ClassVar[int] = 0

    def __init__(self, options: Compress) -> None:
        self._options = options

    def applied(self, answer: Answer, asked: HTTPServerRequest) -> Answer:
        """Returns the answer, compressed if its type is configured and the client accepts it."""
        named = {name.lower(): value for name, value in answer.headers}
        is_plain = "content-encoding" not in named and "no-transform" not in named.get("cache-control", "").lower()
        is_large = int(named.get("content-length", "0")) >= max(1, self._options.min_size)
        is_meant = is_plain and is_large and is_of_types(self._options.types, named.get("content-type", ""))
        if answer.status == 206 or not is_meant:
            return answer  # whatever a client accepts, so that it does not vary
        vary = ("Vary", f"{named['vary']}, Accept-Encoding" if "vary" in named else "Accept-Encoding")
        varied = (*(without(answer.headers, {"vary"}) if "vary" in named else answer.headers), vary)
        is_busy = isinstance(answer, Streamed) and self.running >= COMPRESSED_AT_ONCE
        accepted = "" if is_busy or asked.version == "HTTP/1.0" else asked.headers.get("Accept-Encoding")
        coding = negotiate_coding(accepted, tuple(_WINDOWS)) if accepted else None
        if answer.status == 304:
            return replace(answer, headers=_of_form(coding, varied, asked))
        if coding is None:
            return replace(answer, headers=varied)
        # Other bytes have the strong ETag (RFC 9110 8.8.3.3).
        etag = (("ETag", _weak(named["etag"])),) if named.get("etag") else ()
        headers = (*without(answer.headers, _OF_PLAIN), ("Content-Encoding", coding), vary, *etag)
        if isinstance(answer, Whole) and asked.method == "HEAD":
            return replace(answer, headers=headers, body=b"")
        coder = zlib.compressobj(self._options.level, wbits=_WINDOWS[coding])
        if isinstance(answer, Streamed):
            return _compressed(answer, headers, coder)
        coded = coder.compress(answer.body) + coder.flush()
        return replace(answer, headers=(*headers, ("Content-Length", str(len(coded)))), body=coded)


def _compressed(answer: Streamed, headers: Headers, coder: Any) -> Streamed:
    Compressor.running += 1

    async def close() -> None:
        Compressor.running -= 1
        await answer.close()

    return replace(answer, headers=headers, chunks=_coded(answer.chunks, coder), close=close)


async def _coded(chunks: AsyncIterator[bytes], coder: Any) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        for start in range(0, len(chunk), PIECE_COMPRESSED):
            if piece := coder.compress(chunk[start : start + PIECE_COMPRESSED]):
                yield piece
            await asyncio.sleep(0)
    yield coder.flush()


def _of_form(coding: str | None, headers: Headers, asked: HTTPServerRequest) -> Headers:
    """Returns the headers of a 304 with the ETag of the form that the client has, as caches compare (RFC 9111 4.3.4).

    A client that names no ETag, or that of both forms, gets the one that a 200 would have.
    """
    etag = dict(headers).get("ETag", "")
    known = parse_etags(asked.headers.get("If-None-Match"))
    has_plain, has_compressed = etag in known, _weak(etag) in known
    is_compressed = has_compressed if has_plain != has_compressed else coding is not None
    return with_headers(headers, (("ETag", _weak(etag)),)) if etag and is_compressed else headers


def _weak(etag: str) -> str:
    return etag if is_weak(etag) else f"W/{etag}"
