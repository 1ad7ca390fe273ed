"""Where a request comes from and where it may be sent: against forged requests (CSRF) and open redirects."""

from __future__ import annotations

from urllib.parse import urlsplit

from tornado_proxy.routing.request import Request

_LONGEST_RETURN = 2000  # characters of the address to return to
_READING = frozenset({"GET", "HEAD"})


def header(request: Request, name: str) -> str:
    """Returns the first value of a header, whose name is in lower case; empty if it is missing."""
    return next((value for each, value in request.headers if each.lower() == name), "")


def origin(request: Request) -> str:
    """Returns the origin of this site as the client sees it."""
    return f"{request.scheme}://{request.authority}"


def only_reads(request: Request) -> bool:
    """Whether a request changes nothing, so that any page may make it."""
    return request.method in _READING


def is_same_origin(request: Request) -> bool:
    """Whether no page of another origin made the request (Fetch, Sec-Fetch-Site; RFC 6454, Origin)."""
    if header(request, "sec-fetch-site") not in ("", "same-origin", "none"):
        return False
    return header(request, "origin") in ("", origin(request))


def opens_page(request: Request) -> bool:
    """Whether the client is a browser that opens a page, and not a program or a script."""
    if not only_reads(request) or header(request, "x-requested-with"):
        return False
    if header(request, "sec-fetch-mode") not in ("", "navigate"):
        return False
    accept = header(request, "accept")
    return not accept or "text/html" in accept or "*/*" in accept


def leads_back(address: str, request: Request) -> bool:
    """Whether every browser reads an address as one of this site; prevents open redirects."""
    if len(address) > _LONGEST_RETURN or any(each <= " " or each in "\\\x7f" for each in address):
        # Browsers drop tabs and line ends, and read `\` as `/`.
        return False
    try:
        parts = urlsplit(address)
        authority = parts.netloc
    except ValueError:
        return False
    if not authority:
        return address.startswith("/") and not address.startswith("//") and not parts.scheme
    return parts.scheme in ("http", "https") and authority.lower() == request.authority.lower()
