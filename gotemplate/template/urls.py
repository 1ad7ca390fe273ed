"""URLs, queries and header fields in Go's types (packages net/url and net/http)."""

from __future__ import annotations

import ipaddress
import re
import string
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from urllib.parse import quote_from_bytes, quote_plus, unquote_to_bytes

import msgspec
from msgspec.structs import replace

from gotemplate.template.calling import STRING, budgeted, function
from gotemplate.template.errors import RenderBudget
from gotemplate.template.values import STRING_SLICE, ExecutionError, Map, Slice, Type, string_slice

_UNRESERVED = (string.ascii_letters + string.digits + "-_.~").encode()
_HOST = _UNRESERVED + b"!$&'()*+,;=:[]<>\""

PATH = _UNRESERVED + b"$&+,/:;=@"  # bytes that are not escaped in a path; the other sets are for other parts of a URL
FRAGMENT = _UNRESERVED + b"$&+,/:;=?@!()*"
USER_PASSWORD = _UNRESERVED + b"$&+,;="

_ESCAPE = re.compile(rb"%([0-9a-fA-F]{2})?")
_BAD_ESCAPE = re.compile(rb"%(?![0-9a-fA-F]{2})")
_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
_SCHEME = re.compile(rb"([a-zA-Z][a-zA-Z0-9+.-]*)?:")
_USERINFO = re.compile(rb"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_PORT = re.compile(rb"(?::[0-9]*)?")


class UrlError(ExecutionError):
    """A text that is not a URL."""

    def __init__(self, message: str) -> None:
        super().__init__(f"invalid URL: {message}")


class Userinfo(msgspec.Struct, frozen=True):
    """The user, and the password if there is one, before a host."""

    name: bytes
    password: bytes | None = None

    def __bytes__(self) -> bytes:
        name = escape(self.name, USER_PASSWORD)
        return name if self.password is None else name + b":" + escape(self.password, USER_PASSWORD)


class Url(msgspec.Struct, frozen=True):
    """The parts of a URL in Go's order, decoded but for the query; the raw path and fragment hint at the encoding."""

    scheme: bytes = b""
    opaque: bytes = b""
    user: Userinfo | None = None
    host: bytes = b""
    path: bytes = b""
    fragment: bytes = b""
    raw_query: bytes = b""
    raw_path: bytes = b""
    raw_fragment: bytes = b""
    force_query: bool = False
    omit_host: bool = False

    @property
    def escaped_path(self) -> bytes:
        """The encoded path; `raw_path` if that is a valid encoding of it."""
        return _encoded(self.path, PATH + b"*" if self.path == b"*" else PATH, self.raw_path)

    @property
    def escaped_fragment(self) -> bytes:
        """The encoded fragment; `raw_fragment` if that is a valid encoding of it."""
        return _encoded(self.fragment, FRAGMENT, self.raw_fragment)

    @property
    def request_uri(self) -> bytes:
        """The target in a request line: path and query."""
        target = self.opaque or self.escaped_path or b"/"
        if self.opaque.startswith(b"//"):
            target = self.scheme + b":" + target
        return target + self._query

    @property
    def _query(self) -> bytes:
        return b"?" + self.raw_query if self.force_query or self.raw_query else b""

    def __bytes__(self) -> bytes:
        scheme = self.scheme + b":" if self.scheme else b""
        fragment = b"#" + self.escaped_fragment if self.fragment else b""
        if self.opaque:
            return scheme + self.opaque + self._query + fragment
        start, path = scheme, self.escaped_path
        if self.user is not None or self.host or (scheme and not self.omit_host):
            start += b"//" if self.host or self.path or self.user is not None else b""
            start += bytes(self.user) + b"@" if self.user is not None else b""
            start += escape(self.host, _HOST)
        if path and not path.startswith(b"/") and self.host:
            start += b"/"
        if not start and b":" in path.partition(b"/")[0]:
            # Without `./`, this segment would be read as a scheme.
            start = b"./"
        return start + path + self._query + fragment


def escape(text: bytes, kept: bytes) -> bytes:
    """Escapes all bytes as `%XX` except those to keep."""
    return quote_from_bytes(text, safe=kept).encode()


def query_escape(text: bytes) -> bytes:
    """url.QueryEscape: writes a space as `+`."""
    return quote_plus(text, safe="~").encode()


def unescape(text: bytes, *, plus: bool = False) -> bytes:
    """Decodes the escapes of a text, and with `plus` also `+` to a space; raises `UrlError`."""
    text = text.replace(b"+", b" ") if plus else text
    if b"%" not in text:
        return text
    if wrong := _BAD_ESCAPE.search(text):
        raise UrlError(f"invalid URL escape {text[wrong.start() : wrong.start() + 3]!r}")
    return unquote_to_bytes(text)


def parse(text: bytes) -> Url:
    """Parses a URL or a relative reference; raises `UrlError`."""
    rest, _, fragment = text.partition(b"#")
    if _CONTROL.search(rest):
        raise UrlError("invalid control character in URL")
    decoded_fragment = unescape(fragment)
    raw_fragment = b"" if escape(decoded_fragment, FRAGMENT) == fragment else fragment
    url = Url(fragment=decoded_fragment, raw_fragment=raw_fragment)
    if rest == b"*":
        return replace(url, path=rest)
    scheme, rest = _scheme(rest)
    force_query = rest.endswith(b"?") and rest.count(b"?") == 1
    rest, _, query = rest.partition(b"?")
    url = replace(url, scheme=scheme, force_query=force_query, raw_query=query)
    if scheme and not rest.startswith(b"/"):
        return replace(url, opaque=rest)
    if not rest.startswith(b"/") and b":" in rest.partition(b"/")[0]:
        raise UrlError("first path segment in URL cannot contain colon")
    user, host, omit_host = None, b"", False
    if rest.startswith(b"//") and (scheme or not rest.startswith(b"///")):
        authority, slash, path = rest[2:].partition(b"/")
        user, host = _authority(scheme, authority)
        rest = slash + path
    elif scheme:
        omit_host = True
    path = unescape(rest)
    raw_path = b"" if escape(path, PATH) == rest else rest
    return replace(url, user=user, host=host, path=path, raw_path=raw_path, omit_host=omit_host)


def _scheme(text: bytes) -> tuple[bytes, bytes]:
    if (match := _SCHEME.match(text)) is None:
        return b"", text
    if match[1] is None:
        raise UrlError("missing protocol scheme")
    return match[1].lower(), text[match.end() :]


def _authority(scheme: bytes, authority: bytes) -> tuple[Userinfo | None, bytes]:
    info, at, host = authority.rpartition(b"@")
    host = _host(scheme, host)
    if not at:
        return None, host
    if not _USERINFO.fullmatch(info):
        raise UrlError("invalid userinfo")
    name, colon, password = info.partition(b":")
    return Userinfo(unescape(name), unescape(password) if colon else None), host


def _host(scheme: bytes, host: bytes) -> bytes:
    bracket = host.rfind(b"[")
    if bracket > 0:
        raise UrlError("invalid IP-literal")
    if bracket == 0:
        address, bracketed, port = host[1:].rpartition(b"]")
        if not bracketed:
            raise UrlError("missing ']' in host")
        _check_port(port)
        address, zoned, zone = address.partition(b"%25")
        address = _unescape_host(address)
        zone = _unescape_host(zoned + zone, zone=True)
        try:
            ipaddress.IPv6Address((address + zone).decode())
        except ValueError:
            raise UrlError("invalid host") from None
        return b"[" + address + zone + b"]" + port
    colon = host.find(b":") if scheme in (b"http", b"https") else host.rfind(b":")
    if colon >= 0:
        _check_port(host[colon:])
    return _unescape_host(host)


def _check_port(port: bytes) -> None:
    if not _PORT.fullmatch(port):
        raise UrlError(f"invalid port {port!r} after host")


def _unescape_host(host: bytes, *, zone: bool = False) -> bytes:
    """Decodes a host, where only bytes beyond ASCII are escaped; in a zone also spaces and the bytes of a host."""
    for match in _ESCAPE.finditer(host):
        byte = int(match[1] or b"0", 16)
        if match[0] != b"%25" and not (byte == 0x20 or byte in _HOST if zone else byte >= 0x80):
            raise UrlError(f"invalid URL escape {match[0]!r}")
    if any(byte < 0x80 for byte in _ESCAPE.sub(b"", host).translate(None, _HOST)):
        raise UrlError("invalid character in host name")
    return unescape(host)


def _encoded(decoded: bytes, kept: bytes, hint: bytes) -> bytes:
    """Returns the hint if it is a valid encoding of the decoded text, otherwise the usual encoding."""
    if not hint.translate(None, kept + b"!$&'()*+,;=:@[]%"):
        with suppress(UrlError):
            if unescape(hint) == decoded:
                return hint
    return escape(decoded, kept)


def split_port(host: bytes) -> tuple[bytes, bytes]:
    """Returns a host without brackets, and its port."""
    name, colon, port = host.rpartition(b":")
    if not colon or not _PORT.fullmatch(colon + port):
        name, port = host, b""
    if name.startswith(b"[") and name.endswith(b"]"):
        name = name[1:-1]
    return name, port


def parse_query(query: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yields the pairs of a query in order, except those with a semicolon or a bad escape (url.ParseQuery)."""
    for part in query.split(b"&"):
        name, _, value = part.partition(b"=")
        if not part or b";" in part:
            continue
        try:
            yield unescape(name, plus=True), unescape(value, plus=True)
        except UrlError:
            continue


_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


def canonical(name: bytes) -> bytes:
    """Capitalizes the words of a header's name, as Go stores it (textproto.CanonicalMIMEHeaderKey)."""
    return b"-".join(word.capitalize() for word in name.split(b"-")) if _TOKEN.fullmatch(name) else name


def first(lists: Map, name: bytes) -> bytes:
    """Returns the first value of a name; empty without one."""
    return next(iter(lists.get(name, ())), b"")


def _encode(budget: RenderBudget, values: Map) -> bytes:
    budget.spend(len(values) + sum(len(each) for name in values for each in (name, *values[name])) >> 2)
    pairs = ((name, value) for name in sorted(values) for value in values[name])
    return b"&".join(query_escape(name) + b"=" + query_escape(value) for name, value in pairs)


def copied(budget: RenderBudget, lists: Map) -> Map:
    """Returns a copy of lists by name, because a template may sort them in place."""
    budget.spend(sum(map(len, lists.values())) + len(lists) >> 1)
    return Map({name: string_slice(each) for name, each in lists.items()}, lists.type)


HEADER = Type(
    "http.Header",
    "map",
    STRING_SLICE,
    methods={
        b"Clone": budgeted(copied),
        b"Get": function(lambda header, name: first(header, canonical(name)), STRING),
        b"Values": function(
            lambda header, name: header.get(canonical(name)) or Slice((), STRING_SLICE, nil=True), STRING
        ),
    },
)

VALUES = Type(
    "url.Values",
    "map",
    STRING_SLICE,
    methods={
        b"Clone": budgeted(copied),
        b"Encode": budgeted(_encode),
        b"Get": function(first, STRING),
        b"Has": function(lambda values, name: name in values, STRING),
    },
)


def collected(type: Type, pairs: Iterable[tuple[bytes, bytes]]) -> Map:
    """Returns a map of the pairs' names to lists of their values, in order."""
    collected = Map((), type)
    for name, value in pairs:
        collected.setdefault(name, string_slice(())).append(value)
    return collected


def header(budget: RenderBudget, pairs: Sequence[tuple[str, str]]) -> Map:
    """Returns the header of a request, without the field Host, as in Go's servers."""
    budget.spend(len(pairs))
    encoded = ((canonical(name.encode()), value.encode()) for name, value in pairs)
    return collected(HEADER, ((name, value) for name, value in encoded if name != b"Host"))
