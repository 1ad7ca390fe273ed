"""Steady traffic through reloads of every kind: no failed request, no mixed answer, nothing that grows."""

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
from administering import CONFIGURATION
from endless_s3 import endless_s3_elsewhere
from running import start_proxy

CLIENTS = 12
RATE = 300  # requests a second, of all clients together
GENERATION = "X-Tornado-Proxy-Generation"


def _rules(path: str, edit: int) -> str:
    return f'target site {{ rewrite `^/{path}$` -> "/edit-{edit}/{path}.txt" }}\n'


@dataclass
class Editor:
    """Edits the rule files of a running service, each edit another number, and says what each generation holds."""

    folder: Path
    edit: int = 0

    def one(self, path: str = "a") -> Path:
        """A rule file."""
        return self.folder / f"{path}.rules"

    def in_place(self) -> None:
        """Write both files where they are, as one edit."""
        for path in ("a", "b"):
            self._overwrite(path)

    def _overwrite(self, path: str) -> None:
        # In a process of its own, as an editor is: the threads of the clients could hold this one after the file was
        # emptied, and an empty file is a good one.
        written = self.folder.with_name("written")
        written.write_text(_rules(path, self.edit))
        subprocess.run(["cp", str(written), str(self.one(path))], check=True)

    def by_rename(self) -> None:
        """Save as editors do: another file, renamed over."""
        for path in ("a", "b"):
            self.one(f".{path}.swp").write_text(_rules(path, self.edit))
        for path in ("a", "b"):
            self.one(f".{path}.swp").rename(self.one(path))

    def new_file(self) -> None:
        """One more file that comes and goes, and both as well."""
        self.one("extra").write_text(f"target site {{}} # {self.edit}\n")
        self.in_place()

    def delete(self) -> None:
        """One file fewer, and both as well."""
        self.one("extra").unlink(missing_ok=True)
        self.by_rename()

    def directory(self) -> None:
        """A whole directory renamed in, with the second file in it; never is there a set without that file."""
        prepared = self.folder.parent / f"prepared-{self.edit}"
        prepared.mkdir()
        (prepared / "b.rules").write_text(_rules("b", self.edit))
        self._overwrite("a")
        prepared.rename(self.folder / "deep")
        self.one("b").unlink(missing_ok=True)

    def undo_directory(self) -> None:
        """The directory renamed out again."""
        self.in_place()
        (self.folder / "deep").rename(self.folder.parent / f"gone-{self.edit}")

    def swap(self) -> None:
        """As a ConfigMap is updated: links through `..data`, which is swapped."""
        dated = self.folder / f"..{self.edit}"
        dated.mkdir()
        for path in ("a", "b"):
            (dated / f"{path}.rules").write_text(_rules(path, self.edit))
        (self.folder / "..data_tmp").symlink_to(dated.name)
        (self.folder / "..data_tmp").rename(self.folder / "..data")
        for path in ("a", "b"):
            if not self.one(path).is_symlink():
                self.one(f".{path}.link").symlink_to(f"..data/{path}.rules")
                self.one(f".{path}.link").rename(self.one(path))

    def unlink_swap(self) -> None:
        """Plain files in the place of links."""
        self.by_rename()

    good = (in_place, by_rename, new_file, delete, directory, undo_directory, swap, swap, unlink_swap)

    def syntax_error(self) -> None:
        """A file that breaks off."""
        self.one("a").write_text("target site { rewrite `^/a")

    def dangling(self) -> None:
        """A file that cannot be read."""
        self.one("lost").symlink_to("nowhere")

    def all_gone(self) -> None:
        """No rule file at all, from one moment to the next: one gone after the other would be two good sets."""
        self.folder.rename(self.folder.with_name("away"))

    bad = (syntax_error, dangling, all_gone)

    def repair(self) -> None:
        """After a bad edit: good files again."""
        if not self.folder.exists():
            self.folder.with_name("away").rename(self.folder)
        self.one("lost").unlink(missing_ok=True)
        self.in_place()


@dataclass
class Traffic:
    """Clients that ask steadily, and what they were answered."""

    address: tuple[str, int]
    stop: threading.Event = field(default_factory=threading.Event)
    answers: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    count: int = 0
    failures: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Ask until told to stop, on one connection, at a steady rate."""
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
        self.answers[int(answer.headers[GENERATION].partition("-")[0])].add(body.split("/")[0])


class Service:
    """What can be seen of the running service."""

    def __init__(self, proxy) -> None:
        self.proxy = proxy
        self.admin = next(line.rsplit(" ", 1)[1] for line in proxy.lines if "admin listener" in line)

    def ask(self, method: str, path: str) -> dict[str, object]:
        """Ask the admin listener."""
        connection = http.client.HTTPConnection(self.admin.removeprefix("http://"), timeout=10)
        with closing(connection):
            connection.request(method, path)
            return json.loads(connection.getresponse().read())

    def wait(self, condition: Callable[[dict[str, object]], bool]) -> dict[str, object]:
        """Wait until the status is as it should be."""
        end = time.monotonic() + 20
        while True:
            status = self.ask("GET", "/-/status")
            if condition(status):
                return status
            assert time.monotonic() < end, status
            time.sleep(0.01)

    def size(self) -> tuple[int, int, int]:
        """Memory in MiB, threads, open descriptors."""
        process = Path(f"/proc/{self.proxy.process.pid}")
        status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
        return int(status["VmRSS"].split()[0]) >> 10, int(status["Threads"]), len(list((process / "fd").iterdir()))


def _download(address: tuple[str, int], size: int, seconds: float, ended: list[int]) -> None:
    """Read an object slowly, over many reloads."""
    with closing(http.client.HTTPConnection(*address, timeout=60)) as connection:
        connection.request("GET", f"/{size}.bin")
        answer, pieces = connection.getresponse(), 40
        total = 0
        while block := answer.read(size // pieces + 1):
            total += len(block)
            time.sleep(seconds / pieces)
        ended.append(total)


def _edits(editor: Editor, reloads: int) -> Iterator[tuple[bool, Callable[[], None]]]:
    """Good edits of every kind in turn, and after every fourth a bad one and its repair."""
    done = 0
    while done < reloads:
        for number, good in enumerate(Editor.good):
            yield True, lambda good=good: good(editor)
            done += 1
            if number % 4 == 3:
                yield False, lambda number=number, done=done: Editor.bad[(number + done) % 3](editor)
                yield True, editor.repair
                done += 2


def _drive(service: Service, editor: Editor, reloads: int) -> dict[int, str]:
    """Make edits; gives the edit that each generation is made of."""
    held = {}
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
            held[status["generation"]] = f"edit-{editor.edit}"
        else:
            service.wait(lambda status: status["lastFailedAttempt"] is not None)
    return held


def _story(tmp_path: Path, reloads: int) -> str:
    with endless_s3_elsewhere() as endpoint:
        (tmp_path / "rules").mkdir()
        editor = Editor(tmp_path / "rules")
        editor.in_place()
        with start_proxy(tmp_path, CONFIGURATION.format(endpoint=endpoint)) as proxy:
            service, traffic = Service(proxy), Traffic(proxy.address)
            _drive(service, editor, 12)  # what the first reloads load stays
            ended: list[int] = []
            size = 64 << 20
            threads = [threading.Thread(target=traffic.run) for _ in range(CLIENTS)]
            threads.append(threading.Thread(target=_download, args=(proxy.address, size, reloads / 10, ended)))
            began, first = time.monotonic(), service.ask("GET", "/-/status")["generation"]
            for thread in threads:
                thread.start()
            time.sleep(1)
            before = service.size()
            held = _drive(service, editor, reloads)
            after, seconds = service.size(), time.monotonic() - began
            traffic.stop.set()
            for thread in threads:
                thread.join()
    _judge(traffic, held, first)
    assert ended == [size]
    grown = [b - a for a, b in zip(before, after, strict=True)]
    assert grown[0] < 24, "MiB"
    assert grown[1] <= 4, "threads"
    assert grown[2] <= 12, "descriptors"
    return (
        f"{traffic.count} requests in {seconds:.0f} s, {len(held)} generations; "
        f"grew by {grown[0]} MiB, {grown[1]} threads, {grown[2]} descriptors"
    )


def _judge(traffic: Traffic, held: dict[int, str], first: int) -> None:
    assert traffic.failures == []
    for generation, seen in traffic.answers.items():
        # No answer mixes two rule sets: both files of a generation are of one edit, the one that it was made of.
        assert len(seen) == 1, (generation, seen)
        assert generation == first or seen == {held[generation]}


def test_reloads_of_every_kind_under_traffic(tmp_path):
    """Two dozen edits, good and bad, while clients ask: every answer is right and whole."""
    print(_story(tmp_path, 24))


@pytest.mark.integration
def test_two_hundred_reloads_under_traffic(tmp_path):
    """The same for two hundred."""
    print(_story(tmp_path, 200))


def test_a_connection_that_waits_is_answered_by_the_new_generation(tmp_path):
    """A connection opened before a reload and used after it gets the new rules."""
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
