"""The globs of s3-proxy's resources as globs of this project that cover the same request paths.

s3-proxy matches them (github.com/gobwas/glob, with `/` as separator) with the raw request line: percent-encoded, with
the query. Here a glob covers the decoded path. The two agree on globs of characters that clients send as they are.
"""

from __future__ import annotations

import re

_AS_SENT = re.compile(r"/[A-Za-z0-9._~!$&'()+,;=:@/*-]*")
_DEEP = re.compile(r"/\*\*(?=/|$)")


def glob_here(glob: str) -> str | None:
    """The glob that covers the same paths here; None where there is none."""
    if not _AS_SENT.fullmatch(glob) or "***" in glob:
        return None
    # Here `/a/**` covers `/a` too, as a mount does; there it covers only what is below.
    return glob if glob == "/**" else _DEEP.sub("/*/**", glob)


def stops_at_slashes(glob: str) -> bool:
    """Whether a glob has a lone `*`, which in older versions of s3-proxy went across slashes."""
    return re.search(r"(?<!\*)\*(?!\*)", glob) is not None


def apart(one: str, other: str) -> bool:
    """Whether two globs, as s3-proxy reads them, certainly cover no path together: they begin differently."""
    first, second = _certain(one), _certain(other)
    return not (first.startswith(second) or second.startswith(first))


def _certain(glob: str) -> str:
    """What every path begins with that a glob covers, decoded or not."""
    found = re.match(r"[A-Za-z0-9._~/-]*", glob)
    assert found
    return found[0]
