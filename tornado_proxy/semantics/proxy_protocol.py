"""The PROXY protocol: who the client is, in front of what it sends (haproxy.org, proxy-protocol.txt, 2.1 and 2.2)."""

from __future__ import annotations

import re
from ipaddress import ip_address

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
"""The first bytes of version 2."""

LONGEST_LINE = 107
"""The most bytes of version 1, with its CR LF."""

HEAD = 16
"""The bytes of version 2 before the addresses."""

_LINE = re.compile(rb"PROXY (?:UNKNOWN(?: [^\r\n]*)?|TCP[46] (\S+) \S+ [0-9]{1,5} [0-9]{1,5})\r\n")
_LENGTHS = {0x1: 4, 0x2: 16}  # of an address, by family: IPv4, IPv6


class NotProxied(ValueError):
    """Bytes that are not a header of the PROXY protocol."""


def read_line(line: bytes) -> str | None:
    """The client's address in a line of version 1; None where the proxy does not know it. Raises `NotProxied`."""
    found = _LINE.fullmatch(line)
    if found is None:
        raise NotProxied("the line is malformed")
    return _address(found[1].decode("latin-1")) if found[1] else None


def rest_of(head: bytes) -> int:
    """The bytes that follow the first 16 of version 2; raises `NotProxied`."""
    if head[:12] != SIGNATURE or head[12] >> 4 != 2 or head[12] & 0xF > 1:
        raise NotProxied("the version or the command is unknown")
    return int.from_bytes(head[14:16], "big")


def read_binary(head: bytes, rest: bytes) -> str | None:
    """The client's address in version 2; None for the proxy's own connections. Raises `NotProxied`."""
    is_local, length = head[12] & 0xF == 0, _LENGTHS.get(head[13] >> 4)
    if is_local or length is None:
        return None
    if len(rest) < 2 * length + 4:
        raise NotProxied("the addresses are cut short")
    return str(ip_address(rest[:length]))


def _address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        raise NotProxied("the address is malformed") from None
