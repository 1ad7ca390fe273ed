"""Cross-origin resource sharing: what a browser learns of an answer, and before a request (Fetch, 3.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Headers = tuple[tuple[str, str], ...]

_USUAL_METHODS = ("GET", "POST", "HEAD")
_ALL_METHODS = ("HEAD", "GET", "POST", "PUT", "PATCH", "DELETE")
_USUAL_HEADERS = ("Origin", "Accept", "Content-Type")
_ASKED = "Access-Control-Request-Method"
_ASKED_HEADERS = "Access-Control-Request-Headers"

Ask = Callable[[str], str]
"""The value of a request's header; empty where there is none."""


@dataclass(frozen=True, slots=True)
class CorsPolicy:
    """Which origins may use which methods and headers; `None` is any."""

    origins: tuple[str, ...] | None
    methods: frozenset[str]
    headers: frozenset[str] | None
    exposed: str = ""
    max_age: int = 0
    has_credentials: bool = False

    @classmethod
    def of(cls, origins: tuple[str, ...], methods: tuple[str, ...], headers: tuple[str, ...]) -> CorsPolicy:
        """The policy of lists, in which nothing is what is usual, and `*` any origin or header."""
        allowed = frozenset(each.lower() for each in (*(headers or _USUAL_HEADERS), "Origin"))
        return cls(
            origins=None if not origins or "*" in origins else origins,
            methods=frozenset(each.upper() for each in methods or _USUAL_METHODS) | {"OPTIONS"},
            headers=None if "*" in allowed else allowed,
        )

    @classmethod
    def of_everyone(cls) -> CorsPolicy:
        """The policy that lets every page do everything without credentials."""
        return cls(None, frozenset(_ALL_METHODS) | {"OPTIONS"}, None)

    def of_answer(self, method: str, ask: Ask) -> Headers:
        """The headers of an answer to a request."""
        vary = ("Vary", "Origin")
        origin = ask("Origin")
        if not self.lets(origin, method):
            return (vary,)
        exposed = (("Access-Control-Expose-Headers", self.exposed),) if self.exposed else ()
        return (vary, *self._let(origin), *exposed)

    def of_preflight(self, ask: Ask) -> Headers:
        """The headers of an answer to a preflight; without permission where one of its wishes is not allowed."""
        vary = ("Vary", f"Origin, {_ASKED}, {_ASKED_HEADERS}")
        origin, method = ask("Origin"), ask(_ASKED).strip().upper()
        wanted = [each.strip() for each in ask(_ASKED_HEADERS).split(",") if each.strip()]
        has_headers = self.headers is None or all(each.lower() in self.headers for each in wanted)
        if not self.lets(origin, method) or not has_headers:
            return (vary,)
        told = [*self._let(origin), ("Access-Control-Allow-Methods", method)]
        if wanted:
            told.append(("Access-Control-Allow-Headers", ", ".join(wanted)))
        if self.max_age:
            told.append(("Access-Control-Max-Age", str(self.max_age)))
        return (vary, *told)

    def lets(self, origin: str, method: str) -> bool:
        """Whether pages of an origin may use a method."""
        return bool(origin) and method in self.methods and self._knows(origin.lower())

    def _knows(self, origin: str) -> bool:
        return self.origins is None or any(_matches(pattern, origin) for pattern in self.origins)

    def _let(self, origin: str) -> Headers:
        # Browsers refuse `*` together with credentials (Fetch 3.2.5); an origin that is sent back would be believed.
        allowed = ("Access-Control-Allow-Origin", "*" if self.origins is None else origin)
        return (allowed, ("Access-Control-Allow-Credentials", "true")) if self.has_credentials else (allowed,)


def is_preflight(method: str, ask: Ask) -> bool:
    """Whether a browser asks before it sends a request."""
    return method == "OPTIONS" and bool(ask(_ASKED))


def is_cross_origin(ask: Ask, authority: str) -> bool:
    """Whether a browser makes a request for a page of another origin than the one that is asked (`authority`).

    Newer browsers say so where they can (Fetch Metadata, Sec-Fetch-Site); all name the page's origin otherwise.
    """
    site, origin = ask("Sec-Fetch-Site"), ask("Origin")
    if site:
        return site not in ("same-origin", "none")
    return bool(origin) and origin.partition("://")[2].lower() != authority.lower()


def _matches(pattern: str, origin: str) -> bool:
    start, star, end = pattern.partition("*")
    if not star:
        return pattern == origin
    return len(origin) >= len(start) + len(end) and origin.startswith(start) and origin.endswith(end)
