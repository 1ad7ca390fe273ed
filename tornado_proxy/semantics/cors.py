"""Cross-origin resource sharing (Fetch, 3.2): the headers of answers and preflights."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tornado_proxy.semantics.fields import Headers

_USUAL_METHODS = ("GET", "POST", "HEAD")
_USUAL_HEADERS = ("Origin", "Accept", "Content-Type")
_ASKED = "Access-Control-Request-Method"
_ASKED_HEADERS = "Access-Control-Request-Headers"

Ask = Callable[[str], str]  # returns the value of a request's header; empty if there is none


class CorsPolicy(msgspec.Struct, frozen=True):
    """The origins, methods and headers that are allowed; `None` allows any."""

    origins: tuple[str, ...] | None
    methods: frozenset[str]
    headers: frozenset[str] | None
    exposed: str = ""
    max_age: int = 0
    has_credentials: bool = False

    @classmethod
    def of(cls, origins: tuple[str, ...], methods: tuple[str, ...], headers: tuple[str, ...]) -> CorsPolicy:
        """Returns the policy of lists; an empty list allows what is usual, and `*` any origin or header."""
        allowed = frozenset(each.lower() for each in (*(headers or _USUAL_HEADERS), "Origin"))
        return cls(
            origins=None if not origins or "*" in origins else origins,
            methods=frozenset(each.upper() for each in methods or _USUAL_METHODS) | {"OPTIONS"},
            headers=None if "*" in allowed else allowed,
        )

    def of_answer(self, method: str, ask: Ask) -> Headers:
        """Returns the headers of an answer to a request."""
        vary = ("Vary", "Origin")
        origin = ask("Origin")
        if not self.allows(origin, method):
            return (vary,)
        exposed = (("Access-Control-Expose-Headers", self.exposed),) if self.exposed else ()
        return (vary, *self._allowance(origin), *exposed)

    def of_preflight(self, ask: Ask) -> Headers:
        """Returns the headers of an answer to a preflight; all that it asks for is allowed, or nothing."""
        vary = ("Vary", f"Origin, {_ASKED}, {_ASKED_HEADERS}")
        origin, method = ask("Origin"), ask(_ASKED).strip().upper()
        requested = [each.strip() for each in ask(_ASKED_HEADERS).split(",") if each.strip()]
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


OPEN = CorsPolicy.of(("*",), ("HEAD", "GET", "POST", "PUT", "PATCH", "DELETE"), ("*",))
"""The policy that allows everything to every page, without credentials."""


def is_preflight(method: str, ask: Ask) -> bool:
    """Returns whether a browser asks for permission before it sends a request."""
    return method == "OPTIONS" and bool(ask(_ASKED))


def _matches(pattern: str, origin: str) -> bool:
    start, star, end = pattern.partition("*")
    if not star:
        return pattern == origin
    return len(origin) >= len(start) + len(end) and origin.startswith(start) and origin.endswith(end)
