"""Steady traffic during reloads of every kind: no request fails, no answer is mixed, and no resource leaks."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from administering import CONFIGURATION, eventually
from endless_s3 import endless_s3_elsewhere
from running import start_proxy

CLIENTS = 12
RATE = 300  # requests per second, of all clients together
GENERATION = "X-Tornado-Proxy-Generation"


def _rules(path: str, edit: int) -> str:
    return f'target site {{ rewrite `^/{path}$` -> "/edit-{edit}/{path}.txt" }}\n'


@dataclass
class Editor:
    """Edits the rule files of a running service; each edit has another number."""

    folder: Path
    edit: int = 0

    def rule_file(self, path: str = "a") -> Path:
        """Returns the path of a rule file."""
        return self.folder / f"{path}.rules"

    def in_place(self) -> None:
        """Overwrites both files, as one edit."""
        for path in ("a", "b"):
            self._overwrite(path)

    def _overwrite(self, path: str) -> None:
        # Another process writes, because the clients' threads could interrupt this process between emptying a file and
        # writing it, and an empty file is a good one.
        new_text = self.folder.with_name("written")
        new_text.write_text(_rules(path, self.edit))
        subprocess.run(["cp", str(new_text), str(self.rule_file(path))], check=True)

    def by_rename(self) -> None:
        """Saves as editors do: writes other files and renames them over both files."""
        for path in ("a", "b"):
            self.rule_file(f".{path}.swp").write_text(_rules(path, self.edit))
        for path in ("a", "b"):
            self.rule_file(f".{path}.swp").rename(self.rule_file(path))

    def new_file(self) -> None:
        """Adds a third file and overwrites both files."""
        self.rule_file("extra").write_text(f"target site {{}} # {self.edit}\n")
        self.in_place()

    def delete(self) -> None:
        """Deletes the third file and replaces both files."""
        self.rule_file("extra").unlink(missing_ok=True)
        self.by_rename()

    def directory(self) -> None:
        """Renames a directory with the second file into the folder; at no time is that file missing."""
        prepared = self.folder.parent / f"prepared-{self.edit}"
        prepared.mkdir()
        (prepared / "b.rules").write_text(_rules("b", self.edit))
        self._overwrite("a")
        prepared.rename(self.folder / "deep")
        self.rule_file("b").unlink(missing_ok=True)

    def undo_directory(self) -> None:
        """Renames the directory out of the folder."""
        self.in_place()
        (self.folder / "deep").rename(self.folder.parent / f"gone-{self.edit}")

    def swap(self) -> None:
        """Updates as Kubernetes updates a ConfigMap: the files are links through `..data`, which is replaced."""
        revision = self.folder / f"..{self.edit}"
        revision.mkdir()
        for path in ("a", "b"):
            (revision / f"{path}.rules").write_text(_rules(path, self.edit))
        (self.folder / "..data_tmp").symlink_to(revision.name)
        (self.folder / "..data_tmp").rename(self.folder / "..data")
        for path in ("a", "b"):
            if not self.rule_file(path).is_symlink():
                self.rule_file(f".{path}.link").symlink_to(f"..data/{path}.rules")
                self.rule_file(f".{path}.link").rename(self.rule_file(path))

    def unlink_swap(self) -> None:
        """Replaces the links by plain files."""
        self.by_rename()

    good = (in_place, by_rename, new_file, delete, directory, undo_directory, swap, swap, unlink_swap)

    def syntax_error(self) -> None:
        """Truncates a file."""
        self.rule_file("a").write_text("target site { rewrite `^/a")

    def dangling(self) -> None:
        """Adds a file that cannot be read."""
        self.rule_file("lost").symlink_to("nowhere")

    def all_gone(self) -> None:
        """Removes all rule files at once; removed one by one, the first ones would leave a good set."""
        self.folder.rename(self.folder.with_name("away"))

    bad = (syntax_error, dangling, all_gone)

    def repair(self) -> None:
        """Restores good files after a bad edit."""
        if not self.folder.exists():
            self.folder.with_name("away").rename(self.folder)
        self.rule_file("lost").unlink(missing_ok=True)
        self.in_place()


@dataclass
class Traffic:
    """Clients that send requests at a steady rate; records edits by generation, and failures."""

    address: tuple[str, int]
    stop: threading.Event = field(default_factory=threading.Event)
    edits: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    count: int = 0
    failures: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Sends requests on one connection at a steady rate until stopped."""
        with closing(http.client.HTTPConnection(*self.address, timeout=30)) as connection:
            due = time.monotonic()
            while not self.stop.is_set():
                for path in ("a", "b"):
                    self._ask(connection, path)
                due += 2 * CLIENTS / RATE
                self.stop.wait(max(0.0, due - time.monotonic()))

    def _ask(self, connection: http.client.HTTPConnection, path: str) -> None:
        try:
            connection.request("GET", f"/{path}")
            answer = connection.getresponse()
            body = answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            self.failures.append(repr(error))
            return
        self.count += 1
        if answer.status != 200 or not body.endswith(f"/{path}.txt"):
            self.failures.append(f"{answer.status} {body[:80]}")
            return
        self.edits[int(answer.headers[GENERATION].partition("-")[0])].add(body.split("/")[0])


class Service:
    """The admin listener and the resources of the running service."""

    def __init__(self, proxy) -> None:
        self.proxy = proxy
        self.admin = next(line.rsplit(" ", 1)[1] for line in proxy.lines if "admin listener" in line)

    def ask(self, method: str, path: str) -> dict[str, object]:
        """Sends a request to the admin listener."""
        connection = http.client.HTTPConnection(self.admin.removeprefix("http://"), timeout=10)
        with closing(connection):
            connection.request(method, path)
            return json.loads(connection.getresponse().read())

    def wait(self, condition: Callable[[dict[str, object]], bool]) -> dict[str, object]:
        """Waits until the status meets a condition."""
        end = time.monotonic() + 20
        while True:
            status = self.ask("GET", "/-/status")
            if condition(status):
                return status
            assert time.monotonic() < end, status
            time.sleep(0.01)

    def size(self) -> tuple[int, int, int]:
        """Returns memory in MiB, threads and open descriptors."""
        process = Path(f"/proc/{self.proxy.process.pid}")
        status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
        return int(status["VmRSS"].split()[0]) >> 10, int(status["Threads"]), len(list((process / "fd").iterdir()))


def _download(address: tuple[str, int], size: int, seconds: float, totals: list[int]) -> None:
    """Reads an object slowly, over many reloads."""
    with closing(http.client.HTTPConnection(*address, timeout=60)) as connection:
        connection.request("GET", f"/{size}.bin")
        answer, pieces = connection.getresponse(), 40
        total = 0
        while block := answer.read(size // pieces + 1):
            total += len(block)
            time.sleep(seconds / pieces)
        totals.append(total)


def _edits(editor: Editor, reloads: int) -> Iterator[tuple[bool, Callable[[], None]]]:
    """Yields good edits of every kind in turn, and a bad edit and its repair after every fourth."""
    count = 0
    while count < reloads:
        for number, good in enumerate(Editor.good):
            yield True, lambda good=good: good(editor)
            count += 1
            if number % 4 == 3:
                yield False, lambda number=number, count=count: Editor.bad[(number + count) % 3](editor)
                yield True, editor.repair
                count += 2


def _make_edits(service: Service, editor: Editor, reloads: int) -> dict[int, str]:
    """Makes edits; returns the edit of each generation."""
    edits_by_generation = {}
    for number, (is_good, edit) in enumerate(_edits(editor, reloads), start=1):
        before = service.ask("GET", "/-/status")["generation"]
        editor.edit += is_good
        edit()
        if number % 5 == 0:
            service.proxy.process.send_signal(signal.SIGHUP)
        elif number % 7 == 0:
            service.ask("POST", "/-/reload")
        if is_good:
            status = service.wait(lambda status, before=before: status["generation"] > before)
            edits_by_generation[status["generation"]] = f"edit-{editor.edit}"
        else:
            service.wait(lambda status: status["lastFailedAttempt"] is not None)
    return edits_by_generation


def _reload_under_traffic(tmp_path: Path, reloads: int) -> str:
    with endless_s3_elsewhere() as endpoint:
        (tmp_path / "rules").mkdir()
        editor = Editor(tmp_path / "rules")
        editor.in_place()
        with start_proxy(tmp_path, CONFIGURATION.format(endpoint=endpoint)) as proxy:
            service, traffic = Service(proxy), Traffic(proxy.address)
            _make_edits(service, editor, 12)  # modules that the first reloads import are not growth
            totals: list[int] = []
            size = 64 << 20
            threads = [threading.Thread(target=traffic.run) for _ in range(CLIENTS)]
            threads.append(threading.Thread(target=_download, args=(proxy.address, size, reloads / 10, totals)))
            start, first = time.monotonic(), service.ask("GET", "/-/status")["generation"]
            for thread in threads:
                thread.start()
            eventually(lambda: traffic.failures or traffic.count > RATE)
            before = service.size()
            edits_by_generation = _make_edits(service, editor, reloads)
            after, seconds = service.size(), time.monotonic() - start
            traffic.stop.set()
            for thread in threads:
                thread.join()
    _check_answers(traffic, edits_by_generation, first)
    assert totals == [size]
    growth = [b - a for a, b in zip(before, after, strict=True)]
    assert growth[0] < 24, "MiB"
    assert growth[1] <= 4, "threads"
    assert growth[2] <= 12, "descriptors"
    return (
        f"{traffic.count} requests in {seconds:.0f} s, {len(edits_by_generation)} generations; "
        f"grew by {growth[0]} MiB, {growth[1]} threads, {growth[2]} descriptors"
    )


def _check_answers(traffic: Traffic, edits_by_generation: dict[int, str], first: int) -> None:
    assert traffic.failures == []
    for generation, edits in traffic.edits.items():
        # No answer mixes two rule sets: both files of a generation are of the edit that it was made from.
        assert len(edits) == 1, (generation, edits)
        assert generation == first or edits == {edits_by_generation[generation]}


def test_reloads_of_every_kind_under_traffic(tmp_path):
    """Every answer during two dozen good and bad edits is complete and of one rule set."""
    print(_reload_under_traffic(tmp_path, 24))


@pytest.mark.integration
def test_two_hundred_reloads_under_traffic(tmp_path):
    """Every answer during two hundred edits is complete and of one rule set."""
    print(_reload_under_traffic(tmp_path, 200))


def test_an_idle_connection_is_answered_by_the_new_generation(tmp_path):
    """A connection that was opened before a reload and used after it gets the new rules."""
    with endless_s3_elsewhere() as endpoint:
        (tmp_path / "rules").mkdir()
        editor = Editor(tmp_path / "rules")
        editor.in_place()
        with start_proxy(tmp_path, CONFIGURATION.format(endpoint=endpoint)) as proxy:
            service = Service(proxy)
            with socket.create_connection(proxy.address) as waiting:
                editor.edit = 7
                editor.in_place()
                service.wait(lambda status: status["generation"] == 2)
                waiting.sendall(b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                assert b"edit-7/a.txt" in b"".join(iter(lambda: waiting.recv(65536), b""))
