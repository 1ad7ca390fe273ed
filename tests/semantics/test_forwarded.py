import pytest

from tornado_proxy.semantics.forwarded import TrustedProxies

PROXIES = TrustedProxies(("10.0.0.0/8", "2001:db8::/32", "192.0.2.7/32"))


@pytest.mark.parametrize("address", ["10.1.2.3", "2001:db8::5", "192.0.2.7", "::ffff:10.0.0.1", ""])
def test_a_peer_within_a_network_is_believed(address):
    """IPv4 in IPv6's clothes is the same peer, and a Unix socket has no address."""
    assert address in PROXIES


@pytest.mark.parametrize("address", ["11.0.0.1", "2001:db9::1", "192.0.2.8", "not an address"])
def test_any_other_peer_is_not(address):
    """Nobody is believed who is not named."""
    assert address not in PROXIES


def test_without_networks_nobody_is_believed():
    """That is the default."""
    assert "127.0.0.1" not in TrustedProxies()
    assert "" not in TrustedProxies()
