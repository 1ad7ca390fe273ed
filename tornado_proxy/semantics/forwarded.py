"""Which peers are believed when they speak for a client: the proxies in front that a configuration names."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network


class TrustedProxies:
    """Networks whose peers may say who the client is."""

    def __init__(self, networks: Iterable[str] = ()) -> None:
        self._networks: tuple[IPv4Network | IPv6Network, ...] = tuple(map(ip_network, networks))
        self._known = lru_cache(maxsize=1024)(self._includes)

    def __contains__(self, address: object) -> bool:
        return bool(self._networks) and self._known(address)

    def _includes(self, address: object) -> bool:
        try:
            found = ip_address(str(address))
        except ValueError:
            # A Unix socket has no address: whoever may open it was let in by the file system.
            return not address
        if mapped := getattr(found, "ipv4_mapped", None):
            found = mapped
        return any(found in network for network in self._networks)
