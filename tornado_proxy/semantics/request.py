"""A request and its user as values, what proxies in front report about a client, and the base of errors.

An error is a `StatusError` if a request is answered with it; any other is a defect. Sources of what proxies report:
RFC 7239 (Forwarded); X-Forwarded-For, -Host and -Proto as nginx, HAProxy and Envoy write them; -Prefix as Traefik
writes it; the PROXY protocol at the beginning of a connection (haproxy.org, proxy-protocol.txt, 2.1 and 2.2).
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import ClassVar, Literal, NewType, get_args

import msgspec

from tornado_proxy.semantics.limits import LONGEST_AUTHORITY, LONGEST_PUBLIC_PATH, MOST_HOPS

_OLD_NAMES = ("x-forwarded-for", "x-forwarded-host", "x-forwarded-proto")

# RFC 7239 4: `name=value` pairs separated by `;`, where a value is a token or a quoted string.
_PARAMETER = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PAIR = rf"\s*(?:({_PARAMETER})=(?:\"((?:[^\"\\]|\\.)*)\"|([^\s,;\"]*))\s*)?"
_ELEMENT = re.compile(rf"{_PAIR}(?:;{_PAIR})*")
_PAIRS = re.compile(_PAIR)
_ESCAPE = re.compile(r"\\(.)")
_AUTHORITY = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~-]+)(?::[0-9]{1,5})?")
_PUBLIC_PATH = re.compile(r"(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._~-]+)*")
_WITH_PORT = re.compile(r"(?:\[(?P<bracketed>[^\]]*)\]|(?P<bare>[^:]*))(?::[0-9]+)?")


class TrustedProxies:
    """Networks whose peers are trusted to report who the client is."""

    def __init__(self, networks: Iterable[str] = ()) -> None:
        self._networks: tuple[IPv4Network | IPv6Network, ...] = tuple(map(ip_network, networks))

    def __contains__(self, address: object) -> bool:
        try:
            ip = _plain(str(address))
        except ValueError:
            # A Unix socket has no address; the file system decides who may open it.
            return not address and bool(self._networks)
        return any(ip in network for network in self._networks)


def _plain(text: str) -> IPv4Address | IPv6Address:
    """Returns an IP address; one of IPv4 as such if it is written as one of IPv6 (RFC 4291 2.5.5.2)."""
    address = ip_address(text)
    return getattr(address, "ipv4_mapped", None) or address


def peer_address(text: str) -> str:
    """Returns the address of a peer without the prefix that a socket for both families gives to addresses of IPv4."""
    return str(_plain(text)) if text.startswith("::ffff:") else text


@lru_cache(maxsize=1024)
def client_at(address: str) -> str:
    """Returns an address as one client's name: IPv6 clients have all of a /64 (RFC 6177 2). Other texts stay."""
    try:
        ip = _plain(address)
    except ValueError:
        return address
    return str(ip if isinstance(ip, IPv4Address) else IPv6Network((int(ip), 64), strict=False))


class ClientCertificate(msgspec.Struct, frozen=True):
    """What a client's certificate says of it; `expires` is a Unix time in seconds."""

    common_names: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    units: tuple[str, ...] = ()  # organizational units
    expires: float = 0.0


class Origin(msgspec.Struct, frozen=True):
    """Where a request comes from: the client's address, the scheme and authority that it used, its certificate.

    `public_path` is what a proxy has taken off the path that the client used, such as `/files`. `is_stand_in` says that
    the address is not known to be the peer's, such as a proxy's which does not know its client: nothing that such a
    client reports is believed.
    """

    address: str
    scheme: str = "http"
    authority: str = ""
    certificate: ClientCertificate | None = None
    is_stand_in: bool = False
    public_path: str = ""


def read_public_path(text: str) -> str | None:
    """Returns the path that a proxy has taken off, without its closing slash; None for any other text.

    No segment is empty, `.` or `..`, or has characters that are not the same in a path, a cookie and HTML.
    """
    path = text.removesuffix("/")
    return path if len(path) <= LONGEST_PUBLIC_PATH and _PUBLIC_PATH.fullmatch(path) else None


def is_proxy(peer: Origin, trusted: TrustedProxies) -> bool:
    """Returns whether a peer is a proxy that is trusted to report who the client is."""
    return not peer.is_stand_in and peer.address in trusted


def origin_behind(peer: Origin, headers: Iterable[tuple[str, str]], trusted: TrustedProxies) -> Origin:
    """Returns where a request comes from, behind the trusted proxies; `peer` itself if it is not one of them.

    From the nearest proxy outwards, each trusted one is believed about its own peer. `Forwarded` counts only if there
    is no X-Forwarded header: a proxy that writes one kind passes on what a client wrote in the other.
    """
    if not is_proxy(peer, trusted):
        return peer
    fields: dict[str, list[str]] = {}
    for name, value in headers:
        lowered = name.lower()
        if lowered in _OLD_NAMES or lowered == "forwarded":
            fields.setdefault(lowered, []).append(value)
    if not fields:
        return peer
    old = any(name in fields for name in _OLD_NAMES)
    hops = _old_hops(*(_values(fields.get(name, ())) for name in _OLD_NAMES)) if old else _hops(fields["forwarded"])
    origin = peer
    for hop in hops:
        origin = Origin(hop.address or origin.address, hop.scheme or origin.scheme, hop.authority or origin.authority)
        if not hop.address or hop.address not in trusted:
            break
    return origin


def _old_hops(addresses: list[str], hosts: list[str], schemes: list[str]) -> Iterator[Origin]:
    """Yields what each proxy reports, the nearest first; a single host or scheme holds for all of them."""
    for number in range(1, min(max(len(addresses), 1), MOST_HOPS) + 1):
        columns = (addresses, hosts, schemes)
        address, host, scheme = (values[-number] if number <= len(values) else "" for values in columns)
        yield _hop(address, scheme, host)


def _values(lines: Iterable[str]) -> list[str]:
    return [each.strip() for line in lines for each in line.split(",")]


def _hops(lines: Iterable[str]) -> Iterator[Origin]:
    """Yields the elements of `Forwarded`, the nearest proxy's first, up to a malformed one."""
    # No value that counts here has a comma, and what a client wrote cannot hide what proxies append.
    for element in _values(lines)[: -MOST_HOPS - 1 : -1]:
        if not _ELEMENT.fullmatch(element):
            return
        pairs = {name.lower(): quoted or token for name, quoted, token in _PAIRS.findall(element)}
        yield _hop(*(_ESCAPE.sub(r"\1", pairs.get(name, "")) for name in ("for", "proto", "host")))


def _hop(address: str, scheme: str, authority: str) -> Origin:
    """Returns what a proxy reports about its peer; an invalid value becomes empty."""
    is_authority = len(authority) <= LONGEST_AUTHORITY and _AUTHORITY.fullmatch(authority)
    scheme = scheme.lower()
    return Origin(_address(address), scheme if scheme in ("http", "https") else "", authority if is_authority else "")


def _address(text: str) -> str:
    """Returns the IP address of a node, without a port; empty for a name, an obfuscated one and `unknown`."""
    with_port = _WITH_PORT.fullmatch(text)
    for candidate in filter(None, (text, *(with_port.groups() if with_port else ()))):
        try:
            return str(_plain(candidate))
        except ValueError:
            continue
    return ""


PROXY_SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"  # the first bytes of version 2
PROXY_HEAD = 16  # the number of bytes before the addresses in version 2
_PROXY_LINE = re.compile(
    rb"PROXY (?:UNKNOWN(?: [^\r\n]*)?|TCP([46]) ([0-9A-Fa-f:.]+) ([0-9A-Fa-f:.]+) ([0-9]{1,5}) ([0-9]{1,5}))\r\n"
)
_LAST_PORT = 65535
_ADDRESS_LENGTHS = {0x1: 4, 0x2: 16}  # of an address, by family: IPv4, IPv6


class NotProxied(ValueError):
    """Bytes that are not a header of the PROXY protocol."""


def read_proxy_line(line: bytes) -> str | None:
    """Returns the client's address in a line of version 1; None if the proxy does not know it. Raises `NotProxied`."""
    match = _PROXY_LINE.fullmatch(line)
    if match is None or any(int(port or 0) > _LAST_PORT for port in match.groups()[3:]):
        raise NotProxied("the line is malformed")
    if match[1] is None:
        return None
    try:
        client, server = (ip_address(address.decode()) for address in match.group(2, 3))
    except ValueError:
        raise NotProxied("an address is malformed") from None
    if {client.version, server.version} != {int(match[1])}:
        raise NotProxied("an address is of another family")
    return str(_plain(str(client)))


def proxy_header_rest(head: bytes) -> int:
    """Returns how many bytes follow the first 16 of version 2; raises `NotProxied`."""
    if head[:12] != PROXY_SIGNATURE or head[12] >> 4 != 2 or head[12] & 0xF > 1:
        raise NotProxied("the version or the command is unknown")
    return int.from_bytes(head[14:16], "big")


def read_proxy_header(head: bytes, rest: bytes) -> str | None:
    """Returns the client's address in version 2; None for the proxy's own connections. Raises `NotProxied`."""
    is_local, length = head[12] & 0xF == 0, _ADDRESS_LENGTHS.get(head[13] >> 4)
    if is_local or length is None:
        return None
    if len(rest) < 2 * length + 4:
        raise NotProxied("the addresses are cut short")
    return str(_plain(str(ip_address(rest[:length]))))


RequestPath = NewType("RequestPath", str)
"""What the client asked for, percent-decoded exactly once; routing, access, rules and logs read this value."""

Method = Literal["GET", "HEAD", "PUT", "DELETE"]

METHODS: tuple[Method, ...] = get_args(Method)  # the methods that act on objects, in the order of an Allow header
READING = METHODS[:2]
WRITING = METHODS[2:]


class User(msgspec.Struct, frozen=True):
    """The signed-in user; `kind` is the way: BASIC, HEADER or OIDC, as in s3-proxy's templates, or CERTIFICATE."""

    username: str
    kind: str = "BASIC"
    email: str = ""
    groups: tuple[str, ...] = ()
    name: str = ""
    given_name: str = ""
    family_name: str = ""
    email_verified: bool = False

    @property
    def identifier(self) -> str:
        """The name, or else the email address."""
        return self.username or self.email


def groups_of(header: str) -> tuple[str, ...]:
    """Returns the groups in a header of a proxy, which separates them by commas."""
    return tuple(group for each in header.split(",") if (group := each.strip()))


class Request(msgspec.Struct, frozen=True):
    """A request with a decoded path and a host in lower case without port; everything else is as sent.

    `headers` and `query` keep order and repetition.
    """

    method: str = "GET"
    host: str = ""
    path: RequestPath = RequestPath("/")
    raw_query: str = ""
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    scheme: str = "http"
    remote_address: str = ""
    protocol: str = "HTTP/1.1"
    authority: str = ""  # the host with its port, as the client wrote it
    from_trusted_proxy: bool = False  # whether the connection comes from one of `server.trustedProxies`
    certificate: ClientCertificate | None = None  # of the client; never of a trusted proxy
    public_path: str = ""  # what proxies have taken off the path, such as `/files`

    def public(self, path: str) -> RequestPath:
        """Returns the path by which the client finds a request path."""
        return RequestPath(self.public_path + path)

    @property
    def parameters(self) -> dict[str, str]:
        """The query; of several values of one name the first counts."""
        return dict(reversed(self.query))


_OF_SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class StatusError(Exception):
    """An error that a client is answered with: its `status`, and a `public_message` if the status says too little."""

    status: ClassVar[int]
    public_message: str | None = None

    @property
    def by_client(self) -> bool:
        """Whether the client caused it (RFC 9110 15.5)."""
        return self.status < 500


def shortage(error: BaseException | None) -> str | None:
    """Returns the system's message if an error comes from a lack of descriptors or memory, else None."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, OSError) and error.errno in _OF_SHORTAGES:
            return error.strerror
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None
