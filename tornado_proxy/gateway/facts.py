"""The one place that reads a request's address: Tornado's own readings of it decode too much or too little."""

from __future__ import annotations

import re

from tornado.httputil import HTTPServerRequest

from tornado_proxy.routing.address import read_address
from tornado_proxy.routing.errors import BadAddress
from tornado_proxy.routing.keys import parse_request_path
from tornado_proxy.routing.mounts import host_name
from tornado_proxy.routing.request import Facts, query_pairs

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_QUERY = re.compile(r"[?#].*", re.DOTALL)


def read_facts(request: HTTPServerRequest, method: str) -> Facts:
    """What a request says; raises `RequestError` where its address cannot be understood.

    `method` is the one that was sent: the request's own may stand in for one that Tornado does not know.
    """
    address = read_address(request.uri or "")
    return Facts(
        method=method,
        path=parse_request_path(address.path),
        host=host_name(address.authority or request.headers.get("Host", "")),
        raw_query=address.query,
        query=query_pairs(address.query),
        headers=tuple(request.headers.get_all()),
        scheme=request.protocol,
        remote_address=request.remote_ip or "",
    )


def shown_path(request: HTTPServerRequest) -> str:
    """The path as sent, for the log of a request whose path cannot be decoded.

    Where there is no path, it is the address without its query and without what stands before an `@`: user information
    (RFC 9110 4.2.4), wherever in an address that is none it may have ended up.
    """
    target = request.uri or ""
    try:
        return read_address(target).path
    except BadAddress:
        start, _, rest = target.rpartition("@")
        scheme = _SCHEME.match(start)
        return _QUERY.sub("", f"{scheme[0]}{rest}" if scheme else rest)
