"""Several workers on one port: all serve the same generation, and a lost worker is replaced."""

import http.client
import json
import os
import re
import resource
import signal
import socket
import time
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from administering import RULES, Admin, eventually, service
from running import START_LIMIT, listens
from steady_load import under_load

from tornado_proxy.service import supervisor

SIZE = 16 << 20
CLIENTS = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of the service's files."""
    return tmp_path_factory.mktemp("workers")


@pytest.fixture(scope="module")
def pair(folder):
    """A service of two workers for all tests that don't end it, started with few descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    with service(folder, "--workers", "2") as (proxy, admin):
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        yield proxy, admin


@pytest.fixture
def second_pair(tmp_path):
    """Another service of two workers, for tests that end it."""
    with service(tmp_path, "--workers", "2") as (proxy, admin):
        yield proxy, admin


def _edit(folder: Path, admin: Admin, word: str) -> None:
    """Makes the service answer `/NAME` with `word/NAME.txt`."""
    (folder / "rules" / "site.rules").write_text(RULES.format(word))
    assert admin.reload()[0] == 200


def _pids(admin: Admin) -> set[int]:
    return {worker["pid"] for worker in admin.status()["workers"]}


def _begin_download(address: tuple[str, int], stack: ExitStack) -> http.client.HTTPResponse:
    """Starts a download and reads only its head."""
    connection = stack.enter_context(closing(http.client.HTTPConnection(*address, timeout=20)))
    connection.connect()
    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    connection.request("GET", f"/{SIZE}.bin")
    return connection.getresponse()


def _is_complete(download: http.client.HTTPResponse) -> bool:
    try:
        return len(download.read()) == SIZE
    except (OSError, http.client.HTTPException):
        return False


def test_the_soft_limit_of_descriptors_is_raised(pair):
    """Each process that serves raises its soft limit of descriptors to the hard limit."""
    proxy, admin = pair
    limits = {resource.prlimit(pid, resource.RLIMIT_NOFILE) for pid in (proxy.process.pid, *_pids(admin))}
    assert limits == {(resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2}


def test_a_killed_worker_loses_only_its_own_requests(pair):
    """A kill -9 under load loses only the requests in progress in that worker, and no connection is refused."""
    proxy, admin = pair
    with ExitStack() as stack:
        downloads = [_begin_download(proxy.address, stack) for _ in range(6)]
        status = admin.wait_for_status(lambda status: sum(each["inFlight"] for each in status["workers"]) == 6)
        victim = max(status["workers"], key=lambda worker: worker["inFlight"])
        load = stack.enter_context(under_load(proxy.address, CLIENTS))
        load.wait_for_answers(20)
        os.kill(victim["pid"], signal.SIGKILL)
        admin.wait_for_status(lambda status: victim["pid"] not in [each["pid"] for each in status["workers"]])
        before = load.answered
        admin.wait_for_status(lambda status: len(status["workers"]) == 2)
        eventually(lambda: load.answered > before + 50)
        lost = [download for download in downloads if not _is_complete(download)]
    print(f"{len(lost)} of {len(downloads)} downloads and {len(load.failures)} of {load.answered} requests were lost")
    assert len(lost) == victim["inFlight"]
    # Each client has at most one request in progress.
    assert len(load.failures) <= CLIENTS
    assert not any("Refused" in failure for failure in load.failures)


def test_the_log_level_applies_to_every_worker(pair, folder):
    proxy, admin = pair
    before = _pids(admin)
    assert admin.request("POST", "/-/log-level?level=debug") == (200, '{"level": "debug"}')
    os.kill(min(before), signal.SIGKILL)
    admin.wait_for_status(lambda status: len({worker["pid"] for worker in status["workers"]} | before) == 3)
    _edit(folder, admin, "louder")
    eventually(lambda: sum("has retired" in line for line in proxy.lines) == 2)
    admin.request("POST", "/-/log-level?level=info")


def test_a_request_is_explained_to_its_answer(pair):
    """The status page follows a request to what S3 answers, although the supervisor answers no requests."""
    _, page = pair[1].request("GET", "/-/?path=/abc")
    assert '<mark class="g1">abc</mark>' in page
    assert re.search(r"<b>answer now</b>\n<span class=\"line\">200 OK, ", page)


def test_a_reload_reaches_every_worker(pair, folder):
    proxy, admin = pair
    _edit(folder, admin, "second")
    status = admin.status()
    generation = status["generation"]
    name = f"{generation}-{status['digest'][:12]}"
    answers = [proxy.request("GET", "/a") for _ in range(40)]
    assert {(each.body, each.headers["x-tornado-proxy-generation"]) for each in answers} == {(b"second/a.txt", name)}
    assert {worker["generation"] for worker in admin.status()["workers"]} == {generation}


def _hits(admin: Admin) -> int:
    return sum(rewrite["hits"] for rewrite in json.loads(admin.request("GET", "/-/rewrites")[1])["rewrites"])


@dataclass(frozen=True)
class Replacement:
    """What was seen as both workers were killed and replaced; `requests` and `hits` were counted before and after."""

    pids: set[int]
    page: str
    requests: tuple[float, float]
    hits: tuple[int, int]


@pytest.fixture(scope="module")
def replacement(pair, folder) -> Replacement:
    """After thirty requests, and as many that are refused, both workers are killed; the files on disk are bad by then."""
    proxy, admin = pair
    _edit(folder, admin, "third")
    before = admin.metric("tornado_proxy_requests_total")
    for number in range(30):
        proxy.request("GET", "/a")
        proxy.request("POST", f"/refused{number}")
    eventually(lambda: admin.metric("tornado_proxy_requests_total") == before + 60)
    eventually(lambda: _hits(admin) == 30)
    pids, page = _pids(admin), admin.request("GET", "/-/")[1]
    (folder / "rules" / "site.rules").write_text("target site { rewrite")
    admin.wait_for_status(lambda status: status["lastFailedAttempt"] is not None)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: admin.request("GET", "/-/ready")[0] == 503)
    # The connection waits in the kernel's queue until a worker has started.
    proxy.request("GET", "/a")
    eventually(lambda: admin.request("GET", "/-/ready")[0] == 200)
    admin.wait_for_status(lambda status: ["generation" in worker for worker in status["workers"]] == [True, True])
    eventually(lambda: _hits(admin) > 0 and admin.metric("tornado_proxy_requests_total") > before + 60)
    return Replacement(pids, page, (before, admin.metric("tornado_proxy_requests_total")), (30, _hits(admin)))


def test_without_a_worker_the_service_is_not_ready(pair, replacement):
    assert _pids(pair[1]).isdisjoint(replacement.pids)


def test_a_new_worker_serves_the_generation_in_force(pair, replacement):
    assert {pair[0].request("GET", "/a").body for _ in range(10)} == {b"third/a.txt"}


def test_metrics_are_summed_over_workers(replacement):
    for (before, after), more in ((replacement.requests, 61), (replacement.hits, 1)):
        assert after == before + more


def test_the_status_page_covers_all_workers(replacement):
    assert all(f">{pid}</th>" in replacement.page for pid in replacement.pids)
    assert all(f"/refused{number}<" in replacement.page for number in range(15, 30))


def test_an_edit_of_another_rewrite_keeps_hits_of_killed_workers(pair, folder, replacement):
    """They are counted on, by the workers that there are."""
    proxy, admin = pair
    before = _hits(admin)
    (folder / "rules" / "site.rules").write_text(f"target site {{ rewrite `^/new$` -> `/n` }}\n{RULES.format('third')}")
    assert admin.reload()[0] == 200
    proxy.request("GET", "/a")
    eventually(lambda: _hits(admin) == before + 1)


def test_workers_end_when_the_supervisor_is_killed(second_pair):
    """After a kill -9 of the supervisor, the workers finish their requests and free the port."""
    proxy, admin = second_pair
    with ExitStack() as stack:
        download = _begin_download(proxy.address, stack)
        admin.wait_for_status(lambda status: sum(worker["inFlight"] for worker in status["workers"]) == 1)
        pids = _pids(admin)
        proxy.process.kill()
        proxy.process.wait()
        assert _is_complete(download)
    eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    assert not listens(proxy.address[1])


@contextmanager
def _stopped_during_a_download(proxy, admin):
    """Stops the service during a download, which then completes; the exit status is 0."""
    with ExitStack() as stack:
        download = _begin_download(proxy.address, stack)
        admin.wait_for_status(lambda status: sum(worker["inFlight"] for worker in status["workers"]) == 1)
        proxy.process.terminate()
        yield
        assert _is_complete(download)
    assert proxy.process.wait(timeout=START_LIMIT) == 0


def test_a_stop_completes_downloads(second_pair):
    proxy, _ = second_pair
    with _stopped_during_a_download(*second_pair):
        eventually(lambda: not listens(proxy.address[1]))


@pytest.mark.integration
def test_a_draining_worker_is_not_killed_as_stuck(second_pair):
    with _stopped_during_a_download(*second_pair):
        time.sleep(supervisor.limits.WORKER_STUCK * supervisor.limits.WORKER_TICK + 3)
