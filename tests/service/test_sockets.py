"""Listening sockets: opened, named, inherited."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys

import pytest

from tornado_proxy.config.model import Listener
from tornado_proxy.service.sockets import CannotListen, inherited_sockets, named, open_sockets, raise_descriptor_limit


def test_port_zero_is_any_free_one_and_the_url_says_which():
    """The URL is one that people can use."""
    sockets = open_sockets(Listener("127.0.0.1", 0))
    port = sockets.sockets[0].getsockname()[1]
    assert sockets.url == f"http://127.0.0.1:{port}"
    sockets.close()


def test_a_taken_address_is_said_plainly():
    """The message names the address and why."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match=rf"cannot listen on 127\.0\.0\.1:{port}: Address already in use$"):
            open_sockets(Listener("127.0.0.1", port))


def test_an_address_that_is_none_is_said_plainly():
    """A name that resolves to nothing cannot be listened on."""
    with pytest.raises(CannotListen, match=r"cannot listen on no-such-host\.invalid:0"):
        open_sockets(Listener("no-such-host.invalid", 0))


def test_sockets_do_not_block():
    """An accept without anybody waiting returns at once."""
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


_CHILD = """
import os, sys
from tornado_proxy.service.sockets import inherited_sockets
for number, given in enumerate(sys.argv[1:], start=3):
    os.dup2(int(given), number)
environment = {**os.environ, "LISTEN_PID": str(os.getpid())}
for name, sockets in inherited_sockets(environment, os.getpid()).items():
    print(name, [one.getsockname()[1] for one in sockets], [os.get_inheritable(one.fileno()) for one in sockets])
"""


def test_sockets_are_taken_over_by_name():
    """Descriptors from 3 on become listening sockets under their names, and are not handed on."""
    environment = {**os.environ, "LISTEN_FDS": "2", "LISTEN_FDNAMES": "http"}
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        given = [one.fileno(), other.fileno()]
        command = [sys.executable, "-c", _CHILD, *map(str, given)]
        result = subprocess.run(command, env=environment, pass_fds=given, capture_output=True, text=True, check=True)
        ports = [one.getsockname()[1], other.getsockname()[1]]
    assert result.stdout.splitlines() == [f"http [{ports[0]}] [False]", f"unknown [{ports[1]}] [False]"]


def test_sockets_of_another_process_are_left_alone():
    """LISTEN_FDS counts for LISTEN_PID only."""
    assert inherited_sockets({"LISTEN_FDS": "1", "LISTEN_PID": "8"}, pid=7) == {}


def test_the_soft_limit_of_descriptors_becomes_the_hard_one():
    """A process may use all that it is permitted."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard - 1, hard))
    try:
        raise_descriptor_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
