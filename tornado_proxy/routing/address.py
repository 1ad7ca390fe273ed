"""What a request line asks for: its path and query as sent, whatever the form in which it names them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tornado_proxy.routing.errors import BadAddress

# RFC 9112 3.2.2, with a host and a port as RFC 3986 3.2 has them. User information is left out: RFC 9110 4.2.4 has
# recipients treat it as an error.
_AUTHORITY = r"(?:\[[^/?#@\[\]]+\]|[^/?#@\[\]:]+)(?::[0-9]*)?"
_ABSOLUTE = re.compile(
    rf"https?://(?P<authority>{_AUTHORITY})(?P<rest>/[^?]*)?(?:\?(?P<query>.*))?", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Address:
    """A raw path and a raw query, neither decoded; `authority` stands in for the Host header where it is given."""

    path: str
    query: str = ""
    authority: str | None = None


def read_address(target: str) -> Address:
    """The address in a request line: a path with its query, or an absolute address as proxies are sent.

    Raises `BadAddress` for all else, such as the `*` of OPTIONS and the `host:port` of CONNECT.
    """
    if target.startswith("/"):
        path, _, query = target.partition("?")
        return Address(path, query)
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None:
        raise BadAddress("the request names neither a path nor an absolute address")
    # RFC 9110 4.2.3: an empty path is the same as `/`.
    return Address(absolute["rest"] or "/", absolute["query"] or "", absolute["authority"])
