"""Listening sockets are opened, named and inherited."""

import socket
from contextlib import contextmanager

import pytest

from tornado_proxy.config.server import Listener
from tornado_proxy.service.process import CannotListen, local_socket, named, open_sockets


@contextmanager
def _opened(host: str):
    """The sockets of a listener at any free port."""
    sockets = open_sockets(Listener(host, 0))
    try:
        yield sockets
    finally:
        for each in sockets.sockets:
            each.close()


def test_port_zero_is_any_free_port():
    """The URL has the port that was chosen; an accept without a client returns at once."""
    with _opened("127.0.0.1") as sockets:
        port = sockets.sockets[0].getsockname()[1]
        assert sockets.url == f"http://127.0.0.1:{port}"
        with pytest.raises(BlockingIOError):
            sockets.sockets[0].accept()


def test_an_unknown_host_is_reported():
    with pytest.raises(CannotListen, match=r"cannot listen on no-such-host\.invalid:0"):
        open_sockets(Listener("no-such-host.invalid", 0))


def test_all_addresses_of_a_name_have_one_port(monkeypatch):
    addresses = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, 0)) for address in ("127.0.0.1", "127.0.0.2")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_arguments, **_options: addresses)
    with _opened("localhost") as sockets:
        assert len({sock.getsockname()[1] for sock in sockets.sockets}) == 1


def test_the_url_of_a_unix_socket_is_its_path(tmp_path):
    with socket.socket(socket.AF_UNIX) as inherited:
        inherited.bind(str(tmp_path / "http"))
        assert named([inherited], inherited=True).url == f"unix:{tmp_path / 'http'}"


@pytest.mark.skipif(not socket.has_ipv6, reason="there is no IPv6 here")
def test_an_ipv6_address_has_brackets():
    try:
        with _opened("::1") as sockets:
            assert sockets.url.startswith("http://[::1]:")
    except CannotListen:
        pytest.skip("loopback has no IPv6 here")


def test_a_local_socket_is_for_its_user_only(tmp_path):
    """The mode of a local socket excludes other users, whatever the umask."""
    with local_socket(tmp_path / "admin.sock") as listening:
        assert (tmp_path / "admin.sock").stat().st_mode & 0o777 == 0o600
        with pytest.raises(BlockingIOError):
            listening.accept()


def test_an_unused_local_socket_is_replaced(tmp_path):
    """The socket of a killed process is replaced."""
    local_socket(tmp_path / "admin.sock").close()
    with local_socket(tmp_path / "admin.sock"), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "admin.sock"))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("admin.sock", "Address already in use"),
        ("file", "Address already in use"),
        ("x" * 200, "AF_UNIX path too long"),
    ],
)
def test_an_unusable_local_socket_is_reported(tmp_path, name, reason):
    (tmp_path / "file").write_text("kept")
    with (
        local_socket(tmp_path / "admin.sock"),
        pytest.raises(CannotListen, match=rf"cannot listen on `{tmp_path / name}`: {reason}$"),
    ):
        local_socket(tmp_path / name)
    assert (tmp_path / "file").read_text() == "kept"
