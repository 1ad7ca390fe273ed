from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.semantics.forwarded import (
    PROXY_SIGNATURE,
    NotProxied,
    Origin,
    TrustedProxies,
    origin_behind,
    proxy_header_rest,
    read_proxy_header,
    read_proxy_line,
)

PROXIES = TrustedProxies(("10.0.0.0/8", "2001:db8::/32", "192.0.2.7/32"))


@pytest.mark.parametrize("address", ["10.1.2.3", "2001:db8::5", "192.0.2.7", "::ffff:10.0.0.1", ""])
def test_a_peer_within_a_network_is_believed(address):
    """An IPv4 address within IPv6 is the same peer, and a Unix socket has no address."""
    assert address in PROXIES


@pytest.mark.parametrize("address", ["11.0.0.1", "2001:db9::1", "192.0.2.8", "not an address"])
def test_any_other_peer_is_not(address):
    """Only peers in the networks are trusted."""
    assert address not in PROXIES


def test_without_networks_nobody_is_believed():
    """By default, no peer is trusted."""
    assert "127.0.0.1" not in TrustedProxies()
    assert "" not in TrustedProxies()


PEER = Origin("10.0.0.1")


def _behind(*headers, peer=PEER):
    return origin_behind(peer, headers, PROXIES)


def test_a_stranger_is_not_believed():
    """A peer that is not trusted is the client, and its headers are ignored."""
    stranger = Origin("198.51.100.9")
    claims = (("X-Forwarded-For", "10.0.0.9"), ("X-Forwarded-Host", "a.test"), ("Forwarded", "for=10.0.0.9"))
    assert _behind(*claims, peer=stranger) == stranger


def test_a_trusted_proxy_is_believed():
    """Address, host and scheme are those that the client used."""
    said = (("x-forwarded-for", "198.51.100.9"), ("X-Forwarded-Host", "a.test:8443"), ("X-Forwarded-Proto", "HTTPS"))
    assert _behind(*said) == Origin("198.51.100.9", "https", "a.test:8443")
    assert _behind(("Forwarded", 'for="[2001:db9::1]:99";host="a.test:8443";PROTO=https')) == Origin(
        "2001:db9::1", "https", "a.test:8443"
    )


def test_a_proxy_that_says_nothing_is_the_client():
    """Without such headers, the proxy counts as the client."""
    assert _behind(("Accept", "*/*")) == PEER


def test_what_a_client_has_written_itself_does_not_count():
    """Only the addresses that trusted proxies appended are read."""
    assert _behind(("X-Forwarded-For", "192.0.2.7, 198.51.100.9, 10.0.0.2")).address == "198.51.100.9"
    assert _behind(("Forwarded", "for=192.0.2.7, for=198.51.100.9, for=10.0.0.2")).address == "198.51.100.9"
    assert _behind(("X-Forwarded-For", "192.0.2.7"), ("X-Forwarded-For", "198.51.100.9")).address == "198.51.100.9"


def test_each_proxy_counts_for_the_peer_that_it_had():
    """If proxies append hosts and schemes too, those of the outermost trusted proxy count."""
    chain = ("X-Forwarded-For", "192.0.2.7, 198.51.100.9, 10.0.0.2")
    hosts, schemes = ("X-Forwarded-Host", "forged.test, a.test, inner.test"), ("X-Forwarded-Proto", "http, https, http")
    assert _behind(chain, hosts, schemes) == Origin("198.51.100.9", "https", "a.test")
    elements = 'host=forged.test, for=198.51.100.9;host=a.test;proto=https, for="10.0.0.2:1";host=inner.test;proto=http'
    assert _behind(("Forwarded", elements)) == Origin("198.51.100.9", "https", "a.test")
    assert _behind(chain, ("X-Forwarded-Host", "a.test")).authority == "a.test"


def test_one_kind_of_header_counts():
    """A proxy that writes one kind passes on what a client wrote in the other."""
    found = _behind(("X-Forwarded-For", "198.51.100.9"), ("Forwarded", "for=192.0.2.9;host=forged.test;proto=https"))
    assert found == Origin("198.51.100.9")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("198.51.100.9:4711", "198.51.100.9"),
        ("[2001:db9::1]", "2001:db9::1"),
        ("[2001:db9::1]:80", "2001:db9::1"),
        ("2001:DB9::1", "2001:db9::1"),
        ("unknown", PEER.address),
        ("_hidden", PEER.address),
        ("198.51.100.9:x", PEER.address),
        ("", PEER.address),
    ],
)
def test_an_address_is_read_as_proxies_write_it(text, address):
    """An address may have a port; if it is hidden, the proxy stays the last known one."""
    assert _behind(("X-Forwarded-For", text)).address == address


@pytest.mark.parametrize("host", ["a b", "a/b", "a@b", "a.test:80:80", "a?b", "", "a" * 400, "é"])
def test_a_host_that_is_not_one_does_not_count(host):
    """An invalid value is ignored."""
    assert _behind(("X-Forwarded-Host", host)) == PEER


@pytest.mark.parametrize("text", ["for=1.2.3.4 x", 'for="1.2.3.4', "for:1.2.3.4", "=;", "for=a b"])
def test_an_element_that_cannot_be_read_ends_the_chain(text):
    """Elements after a malformed one count, those before it do not."""
    assert _behind(("Forwarded", f"for=192.0.2.7, {text}")) == PEER
    assert _behind(("Forwarded", f"{text}, for=10.0.0.3;proto=https")) == Origin("10.0.0.3", "https")


def test_quotes_are_read():
    """A quoted value may have escapes, and unknown pairs are ignored (RFC 7239 4)."""
    assert _behind(("Forwarded", r'by=_x; for="198.51.100\.9" ;ext="a;b=\"c"')).address == "198.51.100.9"


def test_a_long_chain_is_cut():
    """Only 32 hops are read."""
    chain = ", ".join(["198.51.100.9", *["10.0.0.2"] * 100])
    assert _behind(("X-Forwarded-For", chain)).address == "10.0.0.2"
    assert _behind(("Forwarded", ", ".join(["for=10.0.0.2"] * 100))).address == "10.0.0.2"


@given(st.lists(st.tuples(st.sampled_from(["Forwarded", "X-Forwarded-For", "X-Forwarded-Host"]), st.text())))
def test_no_client_chooses_its_address(written):
    """What the proxy appends decides, whatever the client sends."""
    claims = [(name, value.replace("\n", " ")) for name, value in written]
    found = origin_behind(PEER, [*claims, ("X-Forwarded-For", "198.51.100.9")], PROXIES)
    assert found.address == "198.51.100.9"
    only = [each for each in claims if each[0] == "Forwarded"]
    assert origin_behind(PEER, [*only, ("Forwarded", "for=198.51.100.9")], PROXIES).address == "198.51.100.9"


V4 = bytes([192, 0, 2, 1, 10, 0, 0, 1, 0x12, 0x34, 0, 80])
V6 = bytes.fromhex("20010db8000000000000000000000001" * 2) + b"\x12\x34\x00\x50"


@pytest.mark.parametrize(
    ("line", "address"),
    [
        (b"PROXY TCP4 192.0.2.1 10.0.0.1 4711 80\r\n", "192.0.2.1"),
        (b"PROXY TCP6 2001:DB8::1 ::1 4711 80\r\n", "2001:db8::1"),
        (b"PROXY UNKNOWN\r\n", None),
        (b"PROXY UNKNOWN ffff::1 ffff::1 1 2\r\n", None),
    ],
)
def test_a_line_of_version_1_names_the_client(line, address):
    """The line has the client's address, unless the proxy does not know it."""
    assert read_proxy_line(line) == address


@pytest.mark.parametrize(
    "line",
    [
        b"PROXY TCP4 192.0.2.1 10.0.0.1 4711\r\n",
        b"PROXY TCP4 192.0.2.300 10.0.0.1 1 2\r\n",
        b"GET / HTTP/1.1\r\n",
        b"PROXY TCP4 192.0.2.1 10.0.0.1 1 2\n",
        b"PROXY\r\n",
    ],
)
def test_any_other_line_is_refused(line):
    """A malformed line is an error."""
    with pytest.raises(NotProxied):
        read_proxy_line(line)


def _head(command, family, length):
    return PROXY_SIGNATURE + bytes([command, family]) + length.to_bytes(2, "big")


@pytest.mark.parametrize(
    ("command", "family", "rest", "address"),
    [
        (0x21, 0x11, V4, "192.0.2.1"),
        (0x21, 0x21, V6, "2001:db8::1"),
        (0x21, 0x11, V4 + b"\x03\x00\x04abcd", "192.0.2.1"),
        (0x20, 0x00, b"", None),
        (0x20, 0x11, V4, None),
        (0x21, 0x31, b"x" * 216, None),
        (0x21, 0x00, b"", None),
    ],
)
def test_version_2_names_the_client(command, family, rest, address):
    """The header has the client's IP address; extensions are ignored, and the proxy's own checks have no client."""
    head = _head(command, family, len(rest))
    assert proxy_header_rest(head) == len(rest)
    assert read_proxy_header(head, rest) == address


@pytest.mark.parametrize("command", [0x11, 0x22, 0x31])
def test_an_unknown_version_or_command_is_refused(command):
    """A header of another version or command is refused."""
    with pytest.raises(NotProxied):
        proxy_header_rest(_head(command, 0x11, 12))
    with pytest.raises(NotProxied):
        proxy_header_rest(b"GET / HTTP/1.1\r\n")


def test_addresses_that_are_cut_short_are_refused():
    """The announced length must include the addresses."""
    with pytest.raises(NotProxied):
        read_proxy_header(_head(0x21, 0x11, 4), V4[:4])


@given(st.binary(max_size=120))
def test_no_bytes_break_it(data):
    """Any bytes give an address, None, or an error."""
    for read in (lambda: read_proxy_line(data), lambda: read_proxy_header(_head(0x21, 0x11, len(data)), data)):
        with suppress(NotProxied):
            assert read() is None or isinstance(read(), str)
