"""Headers that the configuration gives to every answer: about other origins, and about caches."""

from __future__ import annotations

import re
from dataclasses import replace

from tornado_proxy.config.server import CacheHeaders, Cors, Server
from tornado_proxy.gateway.answer import Answer, Headers, Whole
from tornado_proxy.gateway.parser import RequestHead
from tornado_proxy.semantics.cors import Ask, CorsPolicy, is_preflight

_NO_CACHE = (
    ("Expires", "Thu, 01 Jan 1970 00:00:00 GMT"),
    ("Cache-Control", "no-cache, no-store, no-transform, must-revalidate, private, max-age=0"),
    ("Pragma", "no-cache"),
    ("X-Accel-Expires", "0"),
)


_IS_CLOSED = re.compile(r"no-store|private")


class PolicyHeaders:
    """What a listener's options add to its answers."""

    def __init__(self, server: Server) -> None:
        cors = server.cors
        self._cors = _cors_policy(cors) if cors and cors.enabled else None
        self._passes_options = cors is not None and cors.options_passthrough
        self._cache = _cache_headers(server.cache) if server.cache else ()

    def preflight(self, head: RequestHead) -> Answer | None:
        """The answer to a preflight, which no browser sends with credentials; None for any other request."""
        if self._cors is None or self._passes_options or not is_preflight(head.method, _asking(head)):
            return None
        return Whole(200, (("Content-Length", "0"),))

    def lets(self, head: RequestHead) -> bool:
        """Whether the page of another origin that makes a request may do so."""
        return self._cors is not None and self._cors.lets(head.headers.get("Origin", ""), head.method)

    def added_to(self, answer: Answer, head: RequestHead) -> Answer:
        """The answer with the headers that belong to it."""
        if self._cors is None and not self._cache:
            return answer
        headers = self._with_cache(answer) if answer.status < 400 else answer.headers
        return replace(answer, headers=(*headers, *self._cors_headers(head)))

    def _cors_headers(self, head: RequestHead) -> Headers:
        ask = _asking(head)
        if self._cors is None:
            return ()
        return (
            self._cors.of_preflight(ask) if is_preflight(head.method, ask) else self._cors.of_answer(head.method, ask)
        )

    def _with_cache(self, answer: Answer) -> Headers:
        if any(name == "Cache-Control" and _IS_CLOSED.search(value) for name, value in answer.headers):
            # A sign-in, a signed URL, an answer to a user: no other user may get it from a cache.
            return answer.headers
        own = {name for name, _ in answer.headers}
        if "ETag" in own or not self._cache:
            return (*answer.headers, *(each for each in self._cache if each[0] not in own))
        given = {name for name, _ in self._cache}
        return (*(each for each in answer.headers if each[0] not in given), *self._cache)


def _asking(head: RequestHead) -> Ask:
    return lambda name: head.headers.get(name, "")


def _cors_policy(cors: Cors) -> CorsPolicy:
    if cors.allow_all:
        return CorsPolicy.of_everyone()
    return replace(
        CorsPolicy.of(cors.allow_origins, cors.allow_methods, cors.allow_headers),
        exposed=", ".join(cors.expose_headers),
        max_age=cors.max_age,
        has_credentials=cors.allow_credentials,
    )


def _cache_headers(cache: CacheHeaders) -> Headers:
    if cache.no_cache_enabled:
        return _NO_CACHE
    given = (
        ("Expires", cache.expires),
        ("Cache-Control", cache.cache_control),
        ("Pragma", cache.pragma),
        ("X-Accel-Expires", cache.x_accel_expires),
    )
    return tuple((name, value) for name, value in given if value)
