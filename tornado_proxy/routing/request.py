"""Requests, read once from a request line and headers, and their errors."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NewType
from urllib.parse import parse_qsl, unquote_to_bytes

from tornado_proxy.config.model import Bucket
from tornado_proxy.routing.limits import MOST_PARAMETERS
from tornado_proxy.rules.limits import LONGEST_OBJECT_KEY
from tornado_proxy.rules.model import Key, path_objection, segment_objection
from tornado_proxy.semantics.request import Request, RequestPath, StatusError

ObjectKey = NewType("ObjectKey", str)
"""Bucket prefix and key: what S3 sees; `object_key` makes all that depend on a request."""

ASSETS_AT = ".tornado-proxy/"
"""Where the assets of pages are found, below any directory: no mount hides them; a proxy that knows one knows all."""

# RFC 3986 5.2.4. Only dots that are sent as dots: an escaped one is meant to be taken for something else.
_HERE = re.compile(r"/(?:\./)+|/\.\Z")

_BROKEN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


class RequestError(StatusError):
    """A request that must be refused; the text is for the log and `explain`, not for a client."""

    status = 400


class BadAddress(RequestError):
    """A request line whose address cannot be read: its form, its path or its query is invalid."""


class BadStep(RequestError):
    """A query that names a step of an upload in parts without what the step needs."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.public_message = f"The query of an upload in parts is not valid: {reason}"


class UnknownFormat(RequestError):
    """A `?format=` that a listing does not have; the text names the formats that it has, and the client may read it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.public_message = message


class KeyTooLong(RequestError):
    """An object key of more bytes than S3 allows."""


class LengthRequired(RequestError):
    """An upload without a size, where the size must be known before the content (RFC 9110 15.5.12)."""

    status = 411


class PropertyFailed(RequestError):
    """A template of an upload's metadata, headers or storage class that failed or has an invalid result."""

    status = 500


@lru_cache(64)
def parse_request_path(raw: str) -> RequestPath:
    """Decodes the path of a request from the raw text before its `?`; raises `BadAddress`.

    Each character of `raw` is one byte of the request line (latin-1), as `wire.incoming` reads it; unescaped bytes
    beyond ASCII are read as UTF-8. `+` is a plus, `%2F` is a slash, `//` stays, and `/./` is `/`, as proxies read it.
    """
    if not raw.startswith("/"):
        raise BadAddress("the path does not begin with `/`")
    try:
        sent = _HERE.sub("/", raw).encode("latin-1")
        if _BROKEN_ESCAPE.search(sent):
            raise BadAddress("the path contains a `%` without two hexadecimal digits")
        path = unquote_to_bytes(sent).decode()
    except UnicodeError as error:
        raise BadAddress("the path is not valid UTF-8") from error
    if (reason := path_objection(path)) is not None:
        raise BadAddress(f"the path {reason}")
    return RequestPath(path)


def upload_path(directory: RequestPath, file_name: str) -> RequestPath:
    r"""Returns the path of an upload: the directory's and the file's name after its last `/`; raises `RequestError`.

    Access is checked for it once more, and `Location` names it. A `\` is a character like any other.
    """
    name = file_name.rpartition("/")[2]
    if (reason := segment_objection(name)) is not None:
        raise RequestError(f"the file's name {reason}")
    return RequestPath(directory + name)


def object_key(bucket: Bucket, key: Key) -> ObjectKey:
    """Joins a bucket's prefix and a key without its leading slash; raises `KeyTooLong`."""
    joined = f"{'/' if bucket.leading_slash else ''}{bucket.prefix}{key[1:]}"
    if len(joined.encode()) > LONGEST_OBJECT_KEY:
        raise KeyTooLong(f"the object key is longer than {LONGEST_OBJECT_KEY} bytes")
    return ObjectKey(joined)


# RFC 9112 3.2.2, with a host and a port as RFC 3986 3.2 has them. User information is left out: RFC 9110 4.2.4 has
# recipients treat it as an error.
_AUTHORITY = r"(?:\[[^/?#@\[\]]+\]|[^/?#@\[\]:]+)(?::[0-9]*)?"
_ABSOLUTE = re.compile(
    rf"https?://(?P<authority>{_AUTHORITY})(?P<rest>/[^?]*)?(?:\?(?P<query>.*))?", re.IGNORECASE | re.DOTALL
)


_PORT = re.compile(r":[0-9]*\Z")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_QUERY = re.compile(r"[?#].*", re.DOTALL)


def read_request(  # noqa: PLR0913, PLR0917 - what a request line and a connection say
    target: str,
    method: str = "GET",
    host: str = "",
    headers: tuple[tuple[str, str], ...] = (),
    scheme: str = "http",
    remote_address: str = "",
    protocol: str = "HTTP/1.1",
) -> Request:
    """Reads a request from the target of its request line (RFC 9112 3.2) and its Host; raises `RequestError`."""
    raw_path, raw_query, authority = read_address(target)
    authority = authority or host
    return Request(
        method,
        host_name(authority),
        parse_request_path(raw_path),
        raw_query,
        query_pairs(raw_query) if raw_query else (),
        headers,
        scheme,
        remote_address,
        protocol,
        authority=authority,
    )


def read_address(target: str) -> tuple[str, str, str | None]:
    """Splits the target of a request line: a path with its query, or an absolute address as proxies are sent.

    Returns the raw path, the raw query, and the authority of an absolute address, which counts instead of the Host
    header. Raises `BadAddress` for all else, such as the `*` of OPTIONS and the `host:port` of CONNECT.
    """
    if target.startswith("/"):
        path, _, query = target.partition("?")
        return path, query, None
    if (absolute := _ABSOLUTE.fullmatch(target)) is None:
        raise BadAddress("the request has neither a path nor an absolute address")
    # RFC 9110 4.2.3: an empty path is the same as `/`.
    return absolute["rest"] or "/", absolute["query"] or "", absolute["authority"]


def shown_path(target: str) -> str:
    """Returns the path as sent, for the log of a request that cannot be read.

    Without a path, returns the target without its query and without the text before an `@`, which may be user
    information (RFC 9110 4.2.4).
    """
    try:
        return read_address(target)[0]
    except BadAddress:
        start, _, rest = target.rpartition("@")
        scheme = _SCHEME.match(start)
        return _QUERY.sub("", f"{scheme[0]}{rest}" if scheme else rest)


@lru_cache(32)
def host_name(authority: str) -> str:
    """Returns the host of a Host header or an address: no port, no IPv6 brackets, no final dot, lower case."""
    # A second colon belongs to an IPv6 address: there a port can stand behind brackets only (RFC 3986 3.2.2).
    bare = authority.count(":") > 1 and not authority.startswith("[")
    host = authority if bare else _PORT.sub("", authority)
    return host.removeprefix("[").removesuffix("]").removesuffix(".").lower()


def query_pairs(raw_query: str) -> tuple[tuple[str, str], ...]:
    """Decodes the names and values of a query, in order; `+` is a space, and bytes that are not UTF-8 are U+FFFD.

    Each character of `raw_query` is one byte of the request line (latin-1), as in `parse_request_path`. Raises
    `BadAddress` for too many parameters.
    """
    if raw_query.count("&") >= MOST_PARAMETERS:
        raise BadAddress(f"the query has more than {MOST_PARAMETERS} parameters")
    pairs = parse_qsl(raw_query, keep_blank_values=True, encoding="latin-1")
    return tuple((_text(name), _text(value)) for name, value in pairs)


def _text(sent: str) -> str:
    return sent.encode("latin-1").decode(errors="replace")
