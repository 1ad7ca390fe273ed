"""Several processes on one port: all serve the same, each is replaced, and none is missed."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from administering import RULES, Admin, eventually, service
from running import START_LIMIT

from tornado_proxy.service import supervisor

SIZE = 16 << 20
CLIENTS = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the files of the service are."""
    return tmp_path_factory.mktemp("workers")


@pytest.fixture(scope="module")
def pair(folder):
    """A service of two workers, which all tests share but those that end it."""
    with service(folder, "--workers", "2") as (proxy, admin):
        yield proxy, admin


@pytest.fixture
def doomed(tmp_path):
    """Another, to be ended."""
    with service(tmp_path, "--workers", "2") as (proxy, admin):
        yield proxy, admin


def _edit(folder: Path, admin: Admin, word: str) -> None:
    """Have `/NAME` answered with `word/NAME.txt`."""
    (folder / "rules" / "site.rules").write_text(RULES.format(word))
    assert admin.reload()[0] == 200


def _pids(admin: Admin) -> set[int]:
    return {worker["pid"] for worker in admin.status()["workers"]}


@dataclass
class Load:
    """Clients that ask again and again, each time on a connection of its own."""

    address: tuple[str, int]
    stop: threading.Event = field(default_factory=threading.Event)
    answered: int = 0
    lost: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Ask until told to stop."""
        # At a rate that leaves the machine to the worker that starts.
        while not self.stop.wait(0.01):
            with closing(http.client.HTTPConnection(*self.address, timeout=20)) as connection:
                try:
                    connection.connect()
                except OSError as error:
                    self.refused.append(repr(error))
                    continue
                try:
                    connection.request("GET", "/a")
                    assert connection.getresponse().read() == b"first/a.txt"
                    self.answered += 1
                except (OSError, http.client.HTTPException) as error:
                    self.lost.append(repr(error))


def _begin_download(address: tuple[str, int], stack: ExitStack) -> http.client.HTTPResponse:
    """A download whose client has read only its head so far."""
    link = stack.enter_context(closing(http.client.HTTPConnection(*address, timeout=20)))
    link.connect()
    link.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    link.request("GET", f"/{SIZE}.bin")
    return link.getresponse()


def _is_whole(download: http.client.HTTPResponse) -> bool:
    try:
        return len(download.read()) == SIZE
    except (OSError, http.client.HTTPException):
        return False


def _memory(pid: int) -> float:
    """What a process and its children take in MiB, shared pages counted once."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    own = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    return int(own[1]) / 1024 + sum(_memory(int(child)) for child in children)


def test_workers_share_their_memory(pair):
    """All processes of a service with two workers take less than two that were started separately."""
    proxy, _ = pair
    assert _memory(proxy.process.pid) < 125


def test_a_killed_worker_loses_its_own_requests_only(pair):
    """A kill -9 under load: what was in flight in that worker is lost, nothing else, and the port serves on."""
    proxy, admin = pair
    load = Load(proxy.address)
    threads = [threading.Thread(target=load.run) for _ in range(CLIENTS)]
    with ExitStack() as stack:
        downloads = [_begin_download(proxy.address, stack) for _ in range(6)]
        status = admin.wait_for_status(
            lambda status: sum(worker["inFlight"] for worker in status["workers"]) == len(downloads)
        )
        victim = max(status["workers"], key=lambda worker: worker["inFlight"])
        for thread in threads:
            thread.start()
        eventually(lambda: load.answered > 20)
        os.kill(victim["pid"], signal.SIGKILL)
        admin.wait_for_status(
            lambda status: {worker["pid"] for worker in status["workers"]}.isdisjoint({victim["pid"]})
        )
        before = load.answered
        admin.wait_for_status(lambda status: len(status["workers"]) == 2)
        eventually(lambda: load.answered > before + 50)
        load.stop.set()
        for thread in threads:
            thread.join()
        lost = [download for download in downloads if not _is_whole(download)]
    print(f"{len(lost)} of {len(downloads)} downloads and {len(load.lost)} of {load.answered} short requests were lost")
    assert len(lost) == victim["inFlight"]
    # Each client has one request under way at most.
    assert len(load.lost) <= CLIENTS
    assert load.refused == []


def test_the_log_level_reaches_every_worker(doomed):
    """Those that start later log by it too."""
    proxy, admin = doomed
    before = _pids(admin)
    assert admin.request("POST", "/-/log-level?level=debug") == (200, '{"level": "debug"}')
    os.kill(min(before), signal.SIGKILL)
    admin.wait_for_status(lambda status: len({worker["pid"] for worker in status["workers"]} | before) == 3)
    _edit(Path(admin.status()["files"][0]).parent, admin, "louder")
    eventually(lambda: sum("has retired" in line for line in proxy.lines) == 2)


def test_a_reload_reaches_every_worker(pair, folder):
    """Once the admin listener has answered, each worker answers by the new rules."""
    proxy, admin = pair
    _edit(folder, admin, "second")
    status = admin.status()
    generation = status["generation"]
    answers = [proxy.request("GET", "/a") for _ in range(40)]
    assert {answer.body for answer in answers} == {b"second/a.txt"}
    assert {answer.headers["x-tornado-proxy-generation"] for answer in answers} == {
        f"{generation}-{status['digest'][:12]}"
    }
    assert {worker["generation"] for worker in admin.status()["workers"]} == {generation}


def test_a_worker_that_starts_while_the_files_are_bad_serves_what_the_others_serve(pair, folder):
    """What takes the place of a killed worker gets the generation in force, not what is on disk."""
    proxy, admin = pair
    _edit(folder, admin, "third")
    before = _pids(admin)
    (folder / "rules" / "site.rules").write_text("target site { rewrite")
    admin.wait_for_status(lambda status: status["lastFailedAttempt"] is not None)
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    admin.wait_for_status(
        lambda status: (
            len(status["workers"]) == 2
            and all(worker["pid"] not in before and "generation" in worker for worker in status["workers"])
        )
    )
    assert proxy.request("GET", "/a").body == b"third/a.txt"


def test_the_metrics_of_all_workers_are_one_view(pair):
    """Requests that different workers answered are added up, and a worker that was replaced is not forgotten."""
    proxy, admin = pair
    before = admin.metric("tornado_proxy_requests_total")
    for _ in range(30):
        proxy.request("GET", "/a")
    eventually(lambda: admin.metric("tornado_proxy_requests_total") == before + 30)
    for pid in _pids(admin):
        os.kill(pid, signal.SIGKILL)
    # Waits in the kernel's queue until there is a worker again.
    proxy.request("GET", "/a")
    eventually(lambda: admin.metric("tornado_proxy_requests_total") == before + 31)


def test_the_status_page_is_of_all_workers(pair, folder):
    """Hits and refused requests are added up, those of a worker that was killed are kept, and an edit keeps both."""
    proxy, admin = pair
    _edit(folder, admin, "fourth")

    def hits():
        return sum(each["hits"] for each in json.loads(admin.request("GET", "/-/rewrites")[1])["rewrites"])

    for number in range(30):
        proxy.request("GET", "/a")
        proxy.request("POST", f"/refused{number}")
    eventually(lambda: hits() == 30)
    shown = admin.request("GET", "/-/")[1]
    assert all(f"/refused{number}<" in shown for number in range(15, 30))
    for pid in _pids(admin):
        os.kill(pid, signal.SIGKILL)
        assert f">{pid}</th>" in shown
    eventually(lambda: hits() == 30)
    rules = (folder / "rules" / "site.rules").read_text()
    (folder / "rules" / "site.rules").write_text(f"target site {{ rewrite `^/new$` -> `/n` }}\n{rules}")
    assert admin.reload()[0] == 200
    proxy.request("GET", "/a")
    eventually(lambda: hits() == 31)


def test_without_a_worker_the_service_is_not_ready(pair):
    """A load balancer is told to go elsewhere until there is one again."""
    _, admin = pair
    for pid in _pids(admin):
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: admin.request("GET", "/-/ready")[0] == 503)
    eventually(lambda: admin.request("GET", "/-/ready")[0] == 200)
    eventually(lambda: len(_pids(admin)) == 2)


def test_workers_end_when_their_keeper_is_killed(doomed):
    """A kill -9 of the process that keeps them: the workers finish what runs, and free the port."""
    proxy, admin = doomed
    with ExitStack() as stack:
        download = _begin_download(proxy.address, stack)
        admin.wait_for_status(lambda status: sum(worker["inFlight"] for worker in status["workers"]) == 1)
        pids = _pids(admin)
        proxy.process.kill()
        proxy.process.wait()
        assert _is_whole(download)
    eventually(lambda: not any(_is_alive(pid) for pid in pids))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(proxy.address)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def _ended_in_a_download(proxy, admin):
    """A service that was asked to end while a client reads: the client gets all, and the exit status is 0."""
    with ExitStack() as stack:
        download = _begin_download(proxy.address, stack)
        admin.wait_for_status(lambda status: sum(worker["inFlight"] for worker in status["workers"]) == 1)
        proxy.process.terminate()
        yield
        assert _is_whole(download)
    assert proxy.process.wait(timeout=START_LIMIT) == 0


def test_the_end_finishes_what_runs(doomed):
    """SIGTERM: no new connection is taken, a download ends whole, and the exit status is 0."""
    proxy, _ = doomed
    with _ended_in_a_download(*doomed):
        eventually(lambda: _refuses(proxy.address))


@pytest.mark.integration
def test_a_download_that_outlasts_the_silence_of_a_stuck_worker_ends_whole(doomed):
    """A worker that drains is not taken for a stuck one, so it has the whole grace period."""
    with _ended_in_a_download(*doomed):
        time.sleep(supervisor.STUCK * supervisor.TICK + 3)


def _refuses(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address).close()
    except ConnectionRefusedError:
        return True
    return False
