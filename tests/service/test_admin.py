"""The admin listener's pages, over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from coroutines import run
from overviews import overview
from tornado.httpclient import AsyncHTTPClient
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from tornado_proxy.pages.status import Explanation
from tornado_proxy.service.admin import PATHS, AdminServer, admin_application

COMMANDS = ("/-/reload", "/-/purge", "/-/log-level")


@dataclass
class Scripted:
    """An administration that says what it is told to say."""

    ready: bool = True
    in_force: bool = True
    reloads: int = 0
    levels: list[str] = field(default_factory=list)
    purges: list[tuple[str | None, str]] = field(default_factory=list)

    async def status(self):
        """A status."""
        return {"generation": 3}

    async def overview(self, asked):
        """A status page."""
        explanation = Explanation(f"GET {asked['path']}", ()) if "path" in asked else None
        return overview(asked=asked, explanation=explanation)

    async def rewrites(self):
        """The rewrites."""
        return {"rewrites": [{"target": "site", "number": 1, "hits": 3}]}

    async def configuration(self):
        """A configuration."""
        return {"config": {"rules": []}}

    def is_ready(self):
        """Whether it is ready."""
        return self.ready

    async def reload(self):
        """Count a reload."""
        self.reloads += 1
        return self.in_force, {"outcome": "loaded" if self.in_force else "refused"}

    async def purge(self, target, prefix):
        """Note a purge; the target `bare` has no cache."""
        self.purges.append((target, prefix))
        return None if target == "bare" else 3

    def set_log_level(self, level):
        """Note a level."""
        self.levels.append(level)

    async def metrics(self):
        """Metrics."""
        return b"tornado_proxy_generation 3.0\n"


@asynccontextmanager
async def _listener(administration, **options: bool):
    server = HTTPServer(admin_application(administration), **options)
    sockets = bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    client = AsyncHTTPClient(force_instance=True)

    async def ask(method: str, path: str, *, follow: bool = True, body: str = "", **headers: str):
        url = f"http://127.0.0.1:{sockets[0].getsockname()[1]}{path}"
        sent = body if method == "POST" else None
        return await client.fetch(
            url, method=method, body=sent, headers=headers, raise_error=False, follow_redirects=follow
        )

    try:
        yield ask
    finally:
        client.close()
        server.stop()
        await server.close_all_connections()


async def test_a_process_that_answers_is_healthy():
    """The page is 200 as long as the process answers."""
    async with _listener(Scripted(ready=False)) as ask:
        assert (await ask("GET", "/-/healthy")).code == 200


async def test_readiness_is_what_it_is():
    """The page is 200 while requests are served, and 503 otherwise."""
    async with _listener(Scripted()) as ask:
        assert (await ask("GET", "/-/ready")).code == 200
    async with _listener(Scripted(ready=False)) as ask:
        assert (await ask("GET", "/-/ready")).code == 503


async def test_a_reload_answers_when_it_is_done():
    """200 where the files on disk are in force, 422 where they are refused; the report either way."""
    async with _listener(Scripted()) as ask:
        answer = await ask("POST", "/-/reload")
        assert (answer.code, json.loads(answer.body)) == (200, {"outcome": "loaded"})
    async with _listener(Scripted(in_force=False)) as ask:
        answer = await ask("POST", "/-/reload")
        assert (answer.code, json.loads(answer.body)) == (422, {"outcome": "refused"})


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("", (None, "")),
        ("?target=site", ("site", "")),
        ("?prefix=a%2Fb%20", (None, "a/b ")),
        ("?target=site&prefix=a", ("site", "a")),
    ],
)
async def test_a_purge_has_caches_forget(query, asked):
    """All objects, those of a target, those whose keys begin with a prefix; the answer has their number."""
    administration = Scripted()
    async with _listener(administration) as ask:
        answer = await ask("POST", f"/-/purge{query}")
    assert (answer.code, json.loads(answer.body), administration.purges) == (200, {"purged": 3}, [asked])


@pytest.mark.parametrize("query", ["?foo=nope", "?Target=site", "?prefix=a&prefix=b", "?target=site&foo", "?foo="])
async def test_a_mistyped_purge_purges_nothing(query):
    """A parameter that is unknown or repeated is a mistake: without it, the purge would be a larger one."""
    administration = Scripted()
    async with _listener(administration) as ask:
        answer = await ask("POST", f"/-/purge{query}")
    assert (answer.code, administration.purges) == (400, [])
    assert answer.body == b"a purge takes `target` and `prefix` in the query, each once, and nothing else\n"


async def test_a_purge_whose_parameters_are_in_the_body_purges_nothing():
    """`curl -d target=site` sends a form, which is a 400."""
    administration = Scripted()
    async with _listener(administration) as ask:
        answer = await ask("POST", "/-/purge", body="target=site")
    assert (answer.code, administration.purges) == (400, [])


async def test_the_log_level_can_be_set():
    """The levels are those of the configuration."""
    administration = Scripted()
    async with _listener(administration) as ask:
        answer = await ask("POST", "/-/log-level?level=warning")
        refused = await ask("POST", "/-/log-level?level=loud")
    assert (answer.code, json.loads(answer.body), administration.levels) == (200, {"level": "warning"}, ["warning"])
    assert (refused.code, refused.body) == (400, b"name a level: `?level=` and one of debug, info, warning, error\n")


async def test_a_purge_of_what_is_no_cache_is_an_error():
    """The answer names a target that is unknown or has no cache."""
    async with _listener(Scripted()) as ask:
        answer = await ask("POST", "/-/purge?target=bare")
    assert (answer.code, answer.body) == (404, b"target `bare` has no cache\n")


@pytest.mark.parametrize("path", COMMANDS)
async def test_looking_changes_nothing(path):
    """GET of a page that changes something is 405 and does nothing."""
    administration = Scripted()
    async with _listener(administration) as ask:
        answer = await ask("GET", path)
    assert (answer.code, answer.headers["Allow"], administration.reloads, administration.purges) == (405, "POST", 0, [])


@pytest.mark.parametrize("path", COMMANDS)
@pytest.mark.parametrize("header", ["Origin", "Referer", "Sec-Fetch-Site"])
async def test_a_page_in_a_browser_cannot_change_anything(path, header):
    """A request that a web page made is refused."""
    administration = Scripted()
    async with _listener(administration) as ask:
        answer = await ask("POST", path, **{header: "http://example.com"})
    assert (answer.code, administration.reloads, administration.purges) == (403, 0, [])


@pytest.mark.parametrize("path", PATHS)
async def test_a_name_that_is_not_ours_is_refused(path):
    """A web page cannot use DNS rebinding to read a page or to send a command."""
    administration = Scripted()
    async with _listener(administration) as ask:
        method = "POST" if path in COMMANDS else "GET"
        answer = await ask(method, path, Host="evil.example.com")
    assert (answer.code, administration.reloads, administration.purges) == (421, 0, [])
    assert b"generation" not in answer.body


@pytest.mark.parametrize("host", ["localhost:9090", "127.0.0.1", "[::1]:9090", "LOCALHOST"])
async def test_addresses_and_the_local_name_are_ours(host):
    """Addresses and `localhost` are accepted."""
    async with _listener(Scripted()) as ask:
        assert (await ask("GET", "/-/healthy", Host=host)).code == 200


async def test_other_machines_may_use_any_name():
    """A name that leads there from another machine is one that an operator chose."""
    # With `xheaders`, Tornado takes the address of the client from this header.
    async with _listener(Scripted(), xheaders=True) as ask:
        answer = await ask("GET", "/metrics", Host="proxy.example.com", **{"X-Real-Ip": "192.0.2.1"})
        assert answer.code == 200


@pytest.mark.parametrize(
    ("path", "status"), [("/-/healthy", 200), ("/-/status", 200), ("/metrics", 200), ("/-/reload", 405)]
)
async def test_a_head_is_answered_as_a_get(path, status):
    """Status and headers are the same, and there is no body."""
    async with _listener(Scripted()) as ask:
        answer = await ask("HEAD", path)
    assert (answer.code, answer.body) == (status, b"")


async def test_a_method_that_is_not_there_names_those_that_are():
    """A 405 has the header `Allow` (RFC 9110 15.5.6)."""
    async with _listener(Scripted()) as ask:
        answer = await ask("DELETE", "/-/status")
    assert (answer.code, answer.headers["Allow"]) == (405, "GET, HEAD")


async def test_status_is_json_and_metrics_are_prometheus_text():
    """Both are never cached."""
    async with _listener(Scripted()) as ask:
        status, metrics = await ask("GET", "/-/status"), await ask("GET", "/metrics")
    assert json.loads(status.body) == {"generation": 3}
    assert metrics.headers["Content-Type"].startswith("text/plain; version=")
    assert {status.headers["Cache-Control"], metrics.headers["Cache-Control"]} == {"no-store"}


async def test_any_other_page_names_those_that_there_are():
    """A wrong path is 404 with the right ones."""
    async with _listener(Scripted()) as ask:
        answer = await ask("GET", "/nowhere")
    assert answer.code == 404
    assert all(path in answer.body.decode() for path in PATHS)


async def test_health_and_configuration_are_where_s3_proxy_has_them():
    """Monitors of s3-proxy need no change."""
    administration = Scripted()
    async with _listener(administration) as ask:
        up, shown = await ask("GET", "/health"), await ask("GET", "/config")
        administration.ready = False
        down = await ask("GET", "/health")
    assert (up.code, json.loads(up.body)) == (200, {"status": "UP"})
    assert (down.code, json.loads(down.body)) == (503, {"status": "DOWN"})
    assert json.loads(shown.body) == {"config": {"rules": []}}


async def test_the_status_page_is_a_page_that_runs_nothing_of_others():
    """HTML for people, never cached, with a policy that permits its own two files and no inline script or style."""
    async with _listener(Scripted()) as ask:
        answer = await ask("GET", "/-/")
    policy = answer.headers["Content-Security-Policy"]
    assert (answer.code, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert answer.headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


async def test_the_status_page_finds_its_stylesheet_and_its_script():
    """Both are named by their content and may be kept for ever; any other name is 404."""
    async with _listener(Scripted()) as ask:
        names = re.findall(r'"(/-/assets/[^"]+)"', (await ask("GET", "/-/")).body.decode())
        answers = [await ask("GET", name) for name in names]
        missing = await ask("GET", "/-/assets/status.000000000000.css")
    assert [each.headers["Content-Type"] for each in answers] == [
        "text/css; charset=utf-8",
        "text/javascript; charset=utf-8",
    ]
    assert {each.headers["Cache-Control"] for each in answers} == {"public, max-age=31536000, immutable"}
    assert missing.code == 404


async def test_a_path_is_explained_without_a_script():
    """The form is a plain GET, and shows its input again, escaped."""
    async with _listener(Scripted()) as ask:
        answer = await ask("GET", "/-/?method=PUT&path=/%22%3E%3Cscript%3E&host=")
    page = answer.body.decode()
    assert 'value="/&#34;&gt;&lt;script&gt;"' in page
    assert "<option selected>PUT" in page
    assert "<script>" not in page


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize(("mode", "status"), [("no-cors", 403), ("navigate", 200)])
async def test_the_page_of_another_site_may_link_to_an_explanation_and_not_fetch_one(site, mode, status):
    """An explanation takes processor time, so only a person who follows a link gets one."""
    fetched = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": "document"}
    async with _listener(Scripted()) as ask:
        assert (await ask("GET", "/-/?path=/a", **fetched)).code == status


async def test_the_root_leads_to_the_status_page():
    """A browser that opens the address finds the page."""
    async with _listener(Scripted()) as ask:
        answer = await ask("GET", "/", follow=False)
    assert (answer.code, answer.headers["Location"]) == (302, "/-/")


async def test_the_hits_of_all_rewrites_are_json():
    """The page for programs has all rewrites."""
    async with _listener(Scripted()) as ask:
        answer = await ask("GET", "/-/rewrites")
    assert json.loads(answer.body) == {"rewrites": [{"target": "site", "number": 1, "hits": 3}]}


ASK = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"


class _Page(RequestHandler):
    """A page."""

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


@contextmanager
def _no_descriptor_left():
    """Takes every free descriptor."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The limit is on numbers: every number below it must be taken.
    highest = max(int(each.name) for each in Path("/proc/self/fd").iterdir())
    taken = []
    while (number := os.open(os.devnull, os.O_RDONLY)) <= highest:
        taken.append(number)
    os.close(number)
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            os.open(os.devnull, os.O_RDONLY)
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for each in taken:
            os.close(each)


async def _asked(client: socket.socket, address: object) -> bytes:
    """The status line of an answer."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(5):
        await loop.sock_connect(client, address)
        await loop.sock_sendall(client, ASK)
        return (await loop.sock_recv(client, 65536))[:15]


@contextmanager
def _clients(count: int) -> Iterator[list[socket.socket]]:
    """Sockets, made while there are descriptors."""
    with ExitStack() as opened:
        made = [opened.enter_context(socket.socket()) for _ in range(count)]
        for each in made:
            each.setblocking(False)
        yield made


def test_it_answers_without_a_descriptor_left():
    """Its connections use spare descriptors; when they end, nothing else gets them."""
    run(_one_after_the_other())


async def _one_after_the_other() -> None:
    with _clients(24) as clients:
        async with _listening() as address:
            with _no_descriptor_left():
                for client in clients:
                    assert await _asked(client, address) == b"HTTP/1.1 200 OK"
                    # Closing would leave a descriptor for others; ending both sides does not.
                    client.shutdown(socket.SHUT_RDWR)
                    await _until_none_is_free()


async def _until_none_is_free() -> None:
    async with asyncio.timeout(5):
        while True:
            try:
                os.close(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                return
            await asyncio.sleep(0.01)


def _open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_the_end_gives_back_what_was_kept():
    """No descriptor stays open."""

    async def story() -> None:
        before = _open_descriptors()
        async with _listening():
            assert _open_descriptors() > before + 1
        assert _open_descriptors() == before

    run(story())


def test_more_connections_than_are_kept_back_wait(caplog):
    """They are answered once there are descriptors, and the log says why they wait."""
    run(_all_at_once())
    assert set(caplog.messages) == {"connections to the admin listener cannot be accepted: Too many open files"}


async def _all_at_once() -> None:
    with _clients(9) as clients:
        async with _listening() as address:
            with _no_descriptor_left():
                answers = [asyncio.ensure_future(_asked(client, address)) for client in clients]
                answered = asyncio.as_completed(answers)
                for _ in range(8):
                    await next(answered)
                _, waiting = await asyncio.wait(answers, timeout=0.3)
                assert len(waiting) == 1
            assert {await each for each in answers} == {b"HTTP/1.1 200 OK"}
