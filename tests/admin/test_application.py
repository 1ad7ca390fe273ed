"""Pages and commands of the admin listener over HTTP."""

import asyncio
import json
import os
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from admin_listeners import FakeAdministration, listener
from descriptors import no_descriptor_left
from tornado.netutil import bind_sockets, bind_unix_socket
from tornado.web import Application, RequestHandler

from tornado_proxy.admin.application import PATHS, AdminServer, admin_application

COMMANDS = ("/-/reload", "/-/purge", "/-/log-level")


@pytest.mark.parametrize(
    ("query", "purge"),
    [
        ("", (None, "")),
        ("?target=site", ("site", "")),
        ("?prefix=a%2Fb%20", (None, "a/b ")),
        ("?target=site&prefix=a", ("site", "a")),
    ],
)
async def test_a_purge_reports_its_number(query, purge):
    administration = FakeAdministration()
    async with listener(administration) as ask:
        answer = await ask("POST", f"/-/purge{query}")
    assert (answer.code, json.loads(answer.body), administration.purges) == (200, {"purged": 3}, [purge])


@pytest.mark.parametrize(
    ("query", "body"),
    [
        *((query, "") for query in ("?foo=nope", "?Target=site", "?prefix=a&prefix=b", "?target=site&foo", "?foo=")),
        ("", "target=site"),
    ],
)
async def test_an_invalid_purge_purges_nothing(query, body):
    """An unknown or repeated parameter, and the form that `curl -d` sends, is a 400: ignoring it would purge more."""
    administration = FakeAdministration()
    async with listener(administration) as ask:
        answer = await ask("POST", f"/-/purge{query}", body=body)
    assert (answer.code, administration.purges) == (400, [])
    assert answer.body == b"a purge takes `target` and `prefix` in the query, each once, and nothing else\n"


async def test_the_log_level_can_be_set():
    administration = FakeAdministration()
    async with listener(administration) as ask:
        answer = await ask("POST", "/-/log-level?level=warning")
    assert (answer.code, json.loads(answer.body), administration.levels) == (200, {"level": "warning"}, ["warning"])


@pytest.mark.parametrize(
    ("command", "code", "text"),
    [
        ("log-level?level=loud", 400, b"missing or unknown level: use `?level=` with one of debug, info, warning, error\n"),
        ("purge?target=bare", 404, b"target `bare` has no cache\n"),
    ],
)  # fmt: skip
async def test_a_command_that_cannot_be_obeyed_says_why(command, code, text):
    async with listener(FakeAdministration()) as ask:
        answer = await ask("POST", f"/-/{command}")
    assert (answer.code, answer.body) == (code, text)


@pytest.mark.parametrize("path", COMMANDS)
@pytest.mark.parametrize(
    ("method", "headers", "is_read_only", "status"),
    [
        ("GET", {}, False, 405),
        *(("POST", {name: "http://example.com"}, False, 403) for name in ("Origin", "Referer", "Sec-Fetch-Site")),
        ("POST", {}, True, 403),
    ],
)
async def test_a_refused_command_does_nothing(path, method, headers, is_read_only, status):
    """A GET is refused, a header that only browsers send, and any command to a listener that can only be read."""
    administration = FakeAdministration(is_read_only=is_read_only)
    async with listener(administration) as ask:
        answer = await ask(method, path, **headers)
        assert (await ask("GET", "/metrics")).code == 200
    assert (answer.code, administration.reloads, administration.purges) == (status, 0, [])


async def test_a_read_only_listener_takes_commands_on_a_unix_socket(tmp_path):
    """The permissions of the socket say who may use it."""
    administration = FakeAdministration(is_read_only=True)
    server = AdminServer(admin_application(administration))
    server.add_sockets([bind_unix_socket(str(tmp_path / "admin.sock"))])
    reader, writer = await asyncio.open_unix_connection(str(tmp_path / "admin.sock"))
    writer.write(b"POST /-/reload HTTP/1.0\r\nHost: localhost\r\n\r\n")
    assert b" 200 " in await reader.readline()
    writer.close()
    server.stop()
    await server.close_all_connections()
    assert administration.reloads == 1


@pytest.mark.parametrize("path", PATHS)
async def test_an_unknown_host_is_refused(path):
    """A web page cannot use DNS rebinding to read a page or to send a command."""
    administration = FakeAdministration()
    async with listener(administration) as ask:
        method = "POST" if path in COMMANDS else "GET"
        answer = await ask(method, path, Host="evil.example.com")
    assert (answer.code, administration.reloads, administration.purges) == (421, 0, [])
    assert b"generation" not in answer.body


@pytest.mark.parametrize("host", ["localhost:9090", "127.0.0.1", "[::1]:9090", "LOCALHOST"])
async def test_addresses_and_localhost_are_accepted(host):
    async with listener(FakeAdministration()) as ask:
        assert (await ask("GET", "/-/healthy", Host=host)).code == 200


async def test_other_machines_can_use_any_host():
    # With `xheaders`, Tornado takes the address of the client from this header.
    async with listener(FakeAdministration(), xheaders=True) as ask:
        answer = await ask("GET", "/metrics", Host="proxy.example.com", **{"X-Real-Ip": "192.0.2.1"})
        assert answer.code == 200


@pytest.mark.parametrize(
    ("path", "status"), [("/-/healthy", 200), ("/-/status", 200), ("/metrics", 200), ("/-/reload", 405), ("/-", 302)]
)
async def test_head_has_the_status_of_get(path, status):
    async with listener(FakeAdministration()) as ask:
        answer = await ask("HEAD", path, follow=False)
    assert (answer.code, answer.body) == (status, b"")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        *(("DELETE", path, "GET, HEAD") for path in ("/-/status", "/-", "/", "/nowhere")),
        *((method, path, "POST") for path in COMMANDS for method in ("GET", "HEAD", "DELETE", "OPTIONS")),
    ],
)
async def test_a_405_names_the_allowed_methods(method, path, allowed):
    """A 405 has the header `Allow` (RFC 9110 15.5.6): a client that follows that of a command sends POST, and not GET."""
    async with listener(FakeAdministration()) as ask:
        answer = await ask(method, path)
    assert (answer.code, answer.headers["Allow"]) == (405, allowed)


async def test_status_and_hits_are_json_and_metrics_are_prometheus_text():
    """They have a content type for programs and are not cached."""
    async with listener(FakeAdministration()) as ask:
        status, metrics, hits = [await ask("GET", path) for path in ("/-/status", "/metrics", "/-/rewrites")]
    assert json.loads(status.body) == {"generation": 3}
    assert json.loads(hits.body) == {"rewrites": [{"target": "site", "number": 1, "hits": 3}]}
    assert metrics.headers["Content-Type"].startswith("text/plain; version=")
    assert {status.headers["Cache-Control"], metrics.headers["Cache-Control"]} == {"no-store"}


async def test_an_unknown_path_names_the_known_ones():
    async with listener(FakeAdministration()) as ask:
        answer = await ask("GET", "/nowhere")
    assert answer.code == 404
    assert all(path in answer.body.decode() for path in PATHS)


async def test_s3_proxys_paths_exist():
    administration = FakeAdministration()
    async with listener(administration) as ask:
        up, configuration = await ask("GET", "/health"), await ask("GET", "/config")
        administration.ready = False
        down = await ask("GET", "/health")
    assert (up.code, json.loads(up.body)) == (200, {"status": "UP"})
    assert (down.code, json.loads(down.body)) == (503, {"status": "DOWN"})
    assert json.loads(configuration.body) == {"config": {"rules": []}}


async def test_the_status_page_has_a_strict_policy():
    async with listener(FakeAdministration()) as ask:
        answer = await ask("GET", "/-/")
    policy = answer.headers["Content-Security-Policy"]
    assert (answer.code, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert answer.headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


async def test_the_status_page_has_assets():
    """Style sheet and script have a digest in their names and can be cached for ever."""
    async with listener(FakeAdministration()) as ask:
        names = re.findall(r'"(assets/[^"]+)"', (await ask("GET", "/-/")).body.decode())
        answers = [await ask("GET", f"/-/{name}") for name in names]
        missing = await ask("GET", "/-/assets/status.000000000000.css")
    assert [answer.headers["Content-Type"] for answer in answers] == [
        "text/css; charset=utf-8",
        "text/javascript; charset=utf-8",
    ]
    assert {answer.headers["Cache-Control"] for answer in answers} == {"public, max-age=31536000, immutable"}
    assert missing.code == 404


async def test_a_path_is_explained_without_a_script():
    """The form is a plain GET, and its fields repeat the input, escaped."""
    async with listener(FakeAdministration()) as ask:
        answer = await ask("GET", "/-/?method=PUT&path=/%22%3E%3Cscript%3E&host=")
    page = answer.body.decode()
    assert 'value="/&#34;&gt;&lt;script&gt;"' in page
    assert "<option selected>PUT" in page
    assert "<script>" not in page


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize(("mode", "status"), [("no-cors", 403), ("navigate", 200)])
async def test_another_site_can_link_to_an_explanation(site, mode, status):
    """Another site can link to an explanation but not fetch it, since it takes processor time."""
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": "document"}
    async with listener(FakeAdministration()) as ask:
        assert (await ask("GET", "/-/?path=/a", **headers)).code == status


async def test_the_root_redirects_to_the_status_page():
    """`/` is a 302 to the status page, wherever a proxy offers it."""
    async with listener(FakeAdministration()) as ask:
        answer = await ask("GET", "/", follow=False)
    assert (answer.code, answer.headers["Location"]) == (302, "-/")


REQUEST = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"


class _Page(RequestHandler):
    """A page with a fixed body."""

    def get(self) -> None:
        self.finish("here")


@asynccontextmanager
async def _listening():
    server = AdminServer(Application([("/", _Page)]))
    sockets = bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    try:
        yield sockets[0].getsockname()
    finally:
        server.stop()
        await server.close_all_connections()


async def _status_line(client: socket.socket, address: object) -> bytes:
    """Connects a client, sends a request, and returns the status line of the answer."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(5):
        await loop.sock_connect(client, address)
        await loop.sock_sendall(client, REQUEST)
        return (await loop.sock_recv(client, 65536))[:15]


@contextmanager
def _clients(count: int) -> Iterator[list[socket.socket]]:
    """Sockets for clients, created while descriptors are free."""
    with ExitStack() as opened:
        clients = [opened.enter_context(socket.socket()) for _ in range(count)]
        for client in clients:
            client.setblocking(False)
        yield clients


async def test_requests_are_answered_without_free_descriptors():
    """Connections use reserved descriptors, which are reserved again after each connection."""
    with _clients(24) as clients:
        async with _listening() as address:
            with no_descriptor_left():
                for client in clients:
                    assert await _status_line(client, address) == b"HTTP/1.1 200 OK"
                    # Closing the socket would free a descriptor; shutting it down does not.
                    client.shutdown(socket.SHUT_RDWR)
                    await _wait_until_none_is_free()


async def _wait_until_none_is_free() -> None:
    async with asyncio.timeout(5):
        while True:
            try:
                os.close(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                return
            await asyncio.sleep(0.01)


def _open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_reserved_descriptors_are_closed():
    before = _open_descriptors()
    async with _listening():
        assert _open_descriptors() > before + 1
    assert _open_descriptors() == before


async def test_more_connections_than_reserved_wait(caplog):
    """Connections beyond the reserve are answered once descriptors are free, and the log has the reason."""
    with _clients(9) as clients:
        async with _listening() as address:
            with no_descriptor_left():
                answers = [asyncio.ensure_future(_status_line(client, address)) for client in clients]
                answered = asyncio.as_completed(answers)
                for _ in range(8):
                    await next(answered)
                _, waiting = await asyncio.wait(answers, timeout=0.3)
                assert len(waiting) == 1
            assert {await answer for answer in answers} == {b"HTTP/1.1 200 OK"}
    assert set(caplog.messages) == {"connections to the admin listener cannot be accepted: Too many open files"}
