from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.semantics.proxy_protocol import SIGNATURE, NotProxied, read_binary, read_line, rest_of

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
    """Unless the proxy does not know it."""
    assert read_line(line) == address


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
    """Nobody guesses who a client is."""
    with pytest.raises(NotProxied):
        read_line(line)


def _head(command, family, length):
    return SIGNATURE + bytes([command, family]) + length.to_bytes(2, "big")


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
    """For a client over IP; extensions are passed over, and the proxy's own checks have no client."""
    head = _head(command, family, len(rest))
    assert rest_of(head) == len(rest)
    assert read_binary(head, rest) == address


@pytest.mark.parametrize("command", [0x11, 0x22, 0x31])
def test_an_unknown_version_or_command_is_refused(command):
    """The length cannot be trusted then."""
    with pytest.raises(NotProxied):
        rest_of(_head(command, 0x11, 12))
    with pytest.raises(NotProxied):
        rest_of(b"GET / HTTP/1.1\r\n")


def test_addresses_that_are_cut_short_are_refused():
    """The announced length must hold them."""
    with pytest.raises(NotProxied):
        read_binary(_head(0x21, 0x11, 4), V4[:4])


@given(st.binary(max_size=120))
def test_no_bytes_break_it(data):
    """Whatever comes is an address, nothing, or refused."""
    for read in (lambda: read_line(data), lambda: read_binary(_head(0x21, 0x11, len(data)), data)):
        with suppress(NotProxied):
            assert read() is None or isinstance(read(), str)
