"""Listening sockets: opened, named, inherited."""

from __future__ import annotations

import socket

import pytest

from tornado_proxy.config.server import Listener
from tornado_proxy.service.sockets import CannotListen, local_socket, named, open_sockets


def test_port_zero_is_any_free_one_and_the_url_says_which():
    """The URL is one that people can use."""
    sockets = open_sockets(Listener("127.0.0.1", 0))
    port = sockets.sockets[0].getsockname()[1]
    assert sockets.url == f"http://127.0.0.1:{port}"
    sockets.close()


def test_a_taken_address_is_reported_plainly():
    """The message names the address and why."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match=rf"cannot listen on 127\.0\.0\.1:{port}: Address already in use$"):
            open_sockets(Listener("127.0.0.1", port))


def test_an_address_that_is_none_is_reported_plainly():
    """A name that resolves to nothing cannot be listened on."""
    with pytest.raises(CannotListen, match=r"cannot listen on no-such-host\.invalid:0"):
        open_sockets(Listener("no-such-host.invalid", 0))


def test_all_addresses_of_a_name_have_one_port(monkeypatch):
    """The free port that the first address gets is that of the others."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, 0)) for address in ("127.0.0.1", "127.0.0.2")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_arguments, **_options: found)
    sockets = open_sockets(Listener("localhost", 0))
    assert len({each.getsockname()[1] for each in sockets.sockets}) == 1
    sockets.close()


def test_sockets_do_not_block():
    """An accept without a client returns at once."""
    sockets = open_sockets(Listener("127.0.0.1", 0))
    with pytest.raises(BlockingIOError):
        sockets.sockets[0].accept()
    sockets.close()


def test_a_unix_socket_has_its_path_as_url(tmp_path):
    """A service manager may hand over a socket in the file system."""
    with socket.socket(socket.AF_UNIX) as given:
        given.bind(str(tmp_path / "http"))
        assert named([given], inherited=True).url == f"unix:{tmp_path / 'http'}"


@pytest.mark.skipif(not socket.has_ipv6, reason="there is no IPv6 here")
def test_an_ipv6_address_stands_in_brackets():
    """The URL of `::1` is one that a browser takes."""
    try:
        sockets = open_sockets(Listener("::1", 0))
    except CannotListen:
        pytest.skip("loopback has no IPv6 here")
    assert sockets.url.startswith("http://[::1]:")
    sockets.close()


def test_a_socket_in_the_file_system_is_for_its_user_only(tmp_path):
    """Nobody else may connect, whatever the umask."""
    with local_socket(tmp_path / "admin.sock") as made:
        assert (tmp_path / "admin.sock").stat().st_mode & 0o777 == 0o600
        with pytest.raises(BlockingIOError):
            made.accept()


def test_a_socket_that_a_process_left_is_replaced(tmp_path):
    """A process that was killed removes nothing."""
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
def test_a_socket_that_cannot_be_had_is_reported_plainly(tmp_path, name, reason):
    """Another service answers there, there is another file, or the path is too long; neither is touched."""
    (tmp_path / "file").write_text("kept")
    with (
        local_socket(tmp_path / "admin.sock"),
        pytest.raises(CannotListen, match=rf"cannot listen on `{tmp_path / name}`: {reason}$"),
    ):
        local_socket(tmp_path / name)
    assert (tmp_path / "file").read_text() == "kept"
