"""How long an answer may be used again: Cache-Control and Expires, as a shared cache reads them (RFC 9111)."""

from __future__ import annotations

import re
from math import inf

from tornado_proxy.semantics.conditions import parse_date

# cache-directive = token [ "=" ( token / quoted-string ) ] (RFC 9111 5.2).
_DIRECTIVE = re.compile(r'([!#$%&\'*+.^_`|~0-9A-Za-z-]+)(?:=(?:"([^"]*)"|([^\s,"]*)))?')

_FORBIDDING = frozenset({"no-store", "private"})
_MOST_DIGITS = 9  # some 30 years


def freshness(cache_control: str | None, expires: str | None, now: float) -> float | None:
    """The seconds in which an answer may be used again unasked; None where no shared cache may keep it.

    Infinite where the headers set no limit. `now` is Unix time. An invalid time counts as past (RFC 9111 4.2.1, 5.3).
    """
    directives = {name.lower(): quoted or bare for name, quoted, bare in _DIRECTIVE.findall(cache_control or "")}
    if not _FORBIDDING.isdisjoint(directives):
        return None
    if "no-cache" in directives:
        return 0.0
    for name in ("s-maxage", "max-age"):
        if name in directives:
            return _seconds(directives[name])
    if expires is None:
        return inf
    date = parse_date(expires)
    return 0.0 if date is None else max(0.0, date.timestamp() - now)


def _seconds(text: str) -> float:
    """A number of seconds, of any length; 0 for what is not one."""
    if not (text.isascii() and text.isdigit()):
        return 0.0
    return float(text) if len(text) <= _MOST_DIGITS else inf
