import errno
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tornado_proxy.semantics.request import (
    PROXY_SIGNATURE,
    NotProxied,
    Origin,
    Request,
    RequestPath,
    StatusError,
    TrustedProxies,
    User,
    client_at,
    groups_of,
    origin_behind,
    peer_address,
    proxy_header_rest,
    read_proxy_header,
    read_proxy_line,
    read_public_path,
    shortage,
)

PROXIES = TrustedProxies(("10.0.0.0/8", "2001:db8::/32", "192.0.2.7/32"))


@pytest.mark.parametrize("address", ["10.1.2.3", "2001:db8::5", "192.0.2.7", "::ffff:10.0.0.1", ""])
def test_a_peer_within_a_network_is_trusted(address):
    """A peer in the networks is trusted, also with its IPv4 address written as IPv6, or on a Unix socket, which has no address."""
    assert address in PROXIES


@pytest.mark.parametrize(
    ("address", "plain"),
    [("::ffff:192.0.2.7", "192.0.2.7"), ("192.0.2.7", "192.0.2.7"), ("2001:db8::1", "2001:db8::1"), ("", "")],
)
def test_an_address_of_ipv4_is_written_as_such(address, plain):
    """A socket for both families reports clients of IPv4 with a prefix, which nobody wants in a log or a rule."""
    assert peer_address(address) == plain
    assert origin_behind(Origin("10.0.0.1"), [("X-Forwarded-For", address)], PROXIES).address == plain or not address


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("", ""),
        ("unknown", "unknown"),
    ],
)
def test_addresses_of_one_network_are_one_client(address, client):
    """A client of IPv6, which has a /64, counts as one, whichever of its addresses it uses."""
    assert client_at(address) == client


PEER = Origin("10.0.0.1")


def _origin_behind(*headers, peer=PEER):
    return origin_behind(peer, headers, PROXIES)


def test_an_untrusted_peer_is_the_client():
    untrusted = Origin("198.51.100.9")
    claims = (("X-Forwarded-For", "10.0.0.9"), ("X-Forwarded-Host", "a.test"), ("Forwarded", "for=10.0.0.9"))
    assert _origin_behind(*claims, peer=untrusted) == untrusted


def test_headers_of_a_trusted_proxy_name_the_client():
    """Address, host and scheme are those that the client used."""
    headers = (("x-forwarded-for", "198.51.100.9"), ("X-Forwarded-Host", "a.test:8443"), ("X-Forwarded-Proto", "HTTPS"))
    assert _origin_behind(*headers) == Origin("198.51.100.9", "https", "a.test:8443")
    assert _origin_behind(("Forwarded", 'for="[2001:db9::1]:99";host="a.test:8443";PROTO=https')) == Origin(
        "2001:db9::1", "https", "a.test:8443"
    )


def test_values_that_the_client_wrote_are_ignored():
    """Only the addresses that trusted proxies appended are read."""
    assert _origin_behind(("X-Forwarded-For", "192.0.2.7, 198.51.100.9, 10.0.0.2")).address == "198.51.100.9"
    assert _origin_behind(("Forwarded", "for=192.0.2.7, for=198.51.100.9, for=10.0.0.2")).address == "198.51.100.9"
    assert (
        _origin_behind(("X-Forwarded-For", "192.0.2.7"), ("X-Forwarded-For", "198.51.100.9")).address == "198.51.100.9"
    )


def test_host_and_scheme_are_those_of_the_outermost_trusted_proxy():
    chain = ("X-Forwarded-For", "192.0.2.7, 198.51.100.9, 10.0.0.2")
    hosts, schemes = ("X-Forwarded-Host", "forged.test, a.test, inner.test"), ("X-Forwarded-Proto", "http, https, http")
    assert _origin_behind(chain, hosts, schemes) == Origin("198.51.100.9", "https", "a.test")
    elements = 'host=forged.test, for=198.51.100.9;host=a.test;proto=https, for="10.0.0.2:1";host=inner.test;proto=http'
    assert _origin_behind(("Forwarded", elements)) == Origin("198.51.100.9", "https", "a.test")
    assert _origin_behind(chain, ("X-Forwarded-Host", "a.test")).authority == "a.test"


def test_x_forwarded_headers_override_forwarded():
    """If a request has both kinds of headers, only X-Forwarded-* counts, because the client may have written the other kind."""
    origin = _origin_behind(
        ("X-Forwarded-For", "198.51.100.9"), ("Forwarded", "for=192.0.2.9;host=forged.test;proto=https")
    )
    assert origin == Origin("198.51.100.9")


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
def test_an_address_may_have_a_port_or_be_hidden(text, address):
    """An address may have a port; if the address is hidden, the proxy is the last known one."""
    assert _origin_behind(("X-Forwarded-For", text)).address == address


@pytest.mark.parametrize("text", ["for=1.2.3.4 x", 'for="1.2.3.4', "for:1.2.3.4", "=;", "for=a b"])
def test_a_malformed_element_ends_the_chain(text):
    """Elements after a malformed element count; those before it are ignored."""
    assert _origin_behind(("Forwarded", f"for=192.0.2.7, {text}")) == PEER
    assert _origin_behind(("Forwarded", f"{text}, for=10.0.0.3;proto=https")) == Origin("10.0.0.3", "https")


def test_a_long_chain_is_cut():
    chain = ", ".join(["198.51.100.9", *["10.0.0.2"] * 100])
    assert _origin_behind(("X-Forwarded-For", chain)).address == "10.0.0.2"
    assert _origin_behind(("Forwarded", ", ".join(["for=10.0.0.2"] * 100))).address == "10.0.0.2"


@given(st.lists(st.tuples(st.sampled_from(["Forwarded", "X-Forwarded-For", "X-Forwarded-Host"]), st.text())))
def test_no_client_chooses_its_address(headers):
    """The address that the proxy appends decides, for all headers that the client sends."""
    claims = [(name, value.replace("\n", " ")) for name, value in headers]
    origin = origin_behind(PEER, [*claims, ("X-Forwarded-For", "198.51.100.9")], PROXIES)
    assert origin.address == "198.51.100.9"
    forwarded = [(name, value) for name, value in claims if name == "Forwarded"]
    assert origin_behind(PEER, [*forwarded, ("Forwarded", "for=198.51.100.9")], PROXIES).address == "198.51.100.9"


def test_nobody_is_believed_behind_a_proxy_that_does_not_know_its_client():
    """A connection for which the PROXY protocol names no client may be anybody's, although its peer is trusted."""
    headers = [("X-Forwarded-For", "198.51.100.9")]
    unknown = replace(PEER, is_stand_in=True)
    assert origin_behind(unknown, headers, PROXIES) == unknown


IPV4_ADDRESSES = bytes([192, 0, 2, 1, 10, 0, 0, 1, 0x12, 0x34, 0, 80])
IPV6_ADDRESSES = bytes.fromhex("20010db8000000000000000000000001" * 2) + b"\x12\x34\x00\x50"


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
    """The line of version 1 has the client's address, unless the proxy doesn't know it."""
    assert read_proxy_line(line) == address


@pytest.mark.parametrize(
    "line",
    [
        b"PROXY TCP4 192.0.2.1 10.0.0.1 4711\r\n",
        b"PROXY TCP4 192.0.2.300 10.0.0.1 1 2\r\n",
        b"PROXY TCP4 192.0.2.1 10.0.0.1 99999 80\r\n",
        b"PROXY TCP4 192.0.2.1 10.0.0.1 80 65536\r\n",
        b"PROXY TCP4 192.0.2.1 x 1 2\r\n",
        b"PROXY TCP4 ::1 ::1 1 2\r\n",
        b"PROXY TCP6 192.0.2.1 ::1 1 2\r\n",
        b"PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n",
        b"GET / HTTP/1.1\r\n",
        b"PROXY TCP4 192.0.2.1 10.0.0.1 1 2\n",
        b"PROXY\r\n",
    ],
)
def test_a_malformed_line_of_version_1_is_refused(line):
    with pytest.raises(NotProxied):
        read_proxy_line(line)


def _head(command, family, length):
    return PROXY_SIGNATURE + bytes([command, family]) + length.to_bytes(2, "big")


@pytest.mark.parametrize(
    ("command", "family", "rest", "address"),
    [
        (0x21, 0x11, IPV4_ADDRESSES, "192.0.2.1"),
        (0x21, 0x21, IPV6_ADDRESSES, "2001:db8::1"),
        (0x21, 0x11, IPV4_ADDRESSES + b"\x03\x00\x04abcd", "192.0.2.1"),
        (0x20, 0x00, b"", None),
        (0x20, 0x11, IPV4_ADDRESSES, None),
        (0x21, 0x31, b"x" * 216, None),
        (0x21, 0x00, b"", None),
    ],
)
def test_a_header_of_version_2_names_the_client(command, family, rest, address):
    """The header of version 2 has the client's IP address; extensions are ignored, and the proxy's own health checks have no client."""
    head = _head(command, family, len(rest))
    assert proxy_header_rest(head) == len(rest)
    assert read_proxy_header(head, rest) == address


@given(st.binary(max_size=120))
def test_any_bytes_are_read_or_refused(data):
    """Any bytes give an address or None, or raise NotProxied."""
    for read in (lambda: read_proxy_line(data), lambda: read_proxy_header(_head(0x21, 0x11, len(data)), data)):
        with suppress(NotProxied):
            assert read() is None or isinstance(read(), str)


@pytest.mark.parametrize("host", ["a b", "a/b", "a@b", "a.test:80:80", "a?b", "", "a" * 400, "é"])
def test_an_invalid_host_is_ignored(host):
    assert _origin_behind(("X-Forwarded-Host", host)) == PEER


@pytest.mark.parametrize("command", [0x11, 0x22, 0x31])
def test_an_unknown_version_or_command_is_refused(command):
    with pytest.raises(NotProxied):
        proxy_header_rest(_head(command, 0x11, 12))
    with pytest.raises(NotProxied):
        proxy_header_rest(b"GET / HTTP/1.1\r\n")


def test_a_header_shorter_than_its_addresses_is_refused():
    with pytest.raises(NotProxied):
        read_proxy_header(_head(0x21, 0x11, 4), IPV4_ADDRESSES[:4])


def test_a_proxy_without_such_headers_is_the_client():
    assert _origin_behind(("Accept", "*/*")) == PEER


@pytest.mark.parametrize(
    ("text", "path"), [("/files", "/files"), ("/a/b-c_d.e~1/", "/a/b-c_d.e~1"), ("/...", "/..."), ("/", ""), ("", "")]
)
def test_the_path_that_a_proxy_takes_off(text, path):
    """It has no closing slash; `/` is none."""
    assert read_public_path(text) == path


@pytest.mark.parametrize(
    "text",
    [
        *(
            "//evil.test", "/..", "/a/../b", "/.", "/%2e%2e", '/"><b>', "/a b", "/a,/b", "files",
            "http://evil.test", "/a//b",
        ),
        *("/\\evil.test", "/a?b", "/a#b", "/a;b", "/a\r\nX: y", "/a\n", "/\xe9", "/" + "a" * 256, "//"),
    ],
)  # fmt: skip
def test_any_other_text_is_no_public_path(text):
    """It could name another host, leave its place, or end a header, a cookie or an attribute."""
    assert read_public_path(text) is None


@pytest.mark.parametrize(
    ("header", "groups"), [("", ()), ("staff", ("staff",)), (" staff,press , ", ("staff", "press")), (",", ())]
)
def test_groups_in_a_header_are_separated_by_commas(header, groups):
    """Spaces around a group and empty groups are left out."""
    assert groups_of(header) == groups


def test_the_data_of_a_request_is_frozen():
    with pytest.raises(AttributeError):
        User("ann").username = "bob"


def test_the_identifier_of_a_user_is_a_name_or_an_address():
    assert User("ann", email="ann@example.org").identifier == "ann"
    assert User("", email="ann@example.org").identifier == "ann@example.org"


def test_the_first_of_several_parameters_of_a_name_counts():
    assert Request(query=(("a", "1"), ("b", ""), ("a", "2"))).parameters == {"a": "1", "b": ""}


@pytest.mark.parametrize(("status", "by_client"), [(304, True), (404, True), (499, True), (500, False), (503, False)])
def test_the_status_says_who_caused_an_error(status, by_client):
    """The service and the store cause the statuses from 500 on, the client all others."""
    error = type("Each", (StatusError,), {"status": status})("x")
    assert (error.by_client, error.public_message) == (by_client, None)


def _raised_from(cause: BaseException) -> BaseException:
    error = ValueError("it did not work")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS])
def test_a_shortage_is_found_among_causes(number):
    """The system's error about a shortage may be the cause of another exception."""
    error = OSError(number, "the system's words")
    assert shortage(error) == shortage(_raised_from(_raised_from(error))) == "the system's words"


@pytest.mark.parametrize("error", [None, ValueError("x"), OSError(errno.ENOENT, "x"), _raised_from(KeyError("x"))])
def test_other_errors_are_not_shortages(error):
    assert shortage(error) is None


def test_a_circle_of_causes_is_searched_once():
    error, cause = ValueError("one"), ValueError("other")
    error.__context__, cause.__context__ = cause, error
    assert shortage(error) is None


def test_the_public_path_of_a_request_is_what_its_client_knows():
    """Proxies have taken its beginning off."""
    assert Request(path=RequestPath("/a"), public_path="/files").public("/a") == "/files/a"
