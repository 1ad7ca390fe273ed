"""Steady traffic during reloads of every kind: no request fails, no answer is mixed, and no resource leaks."""

import http.client
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from administering import CONFIGURATION, Admin, eventually
from endless_s3 import endless_s3_elsewhere
from rule_editor import BAD, GOOD, RuleEditor, rule_editor
from running import Proxy, start_proxy

from tornado_proxy.service.watching import Pace

CLIENTS = 12
RATE = 300  # requests per second, of all clients together
GENERATION = "X-Tornado-Proxy-Generation"


@dataclass
class Traffic:
    """Clients that send requests at a steady rate; records edits by generation, and failures."""

    address: tuple[str, int]
    stop: threading.Event = field(default_factory=threading.Event)
    edits: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    count: int = 0
    failures: list[tuple[int | None, str]] = field(default_factory=list)

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
            self.failures.append((None, repr(error)))
            return
        self.count += 1
        generation = int(answer.headers[GENERATION].partition("-")[0])
        if answer.status != 200 or not body.endswith(f"/{path}.txt"):
            self.failures.append((generation, f"{answer.status} {body[:80]}"))
            return
        self.edits[generation].add(body.split("/")[0])


def _size(proxy: Proxy) -> tuple[int, int, int]:
    """Returns memory in MiB, threads and open descriptors of a service."""
    process = Path(f"/proc/{proxy.process.pid}")
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


def _edits(reloads: int) -> Iterator[str]:
    """Yields good edits of every kind in turn, and a bad edit and its repair after every fourth."""
    count = 0
    while count < reloads:
        for number, good in enumerate(GOOD):
            yield good
            count += 1
            if number % 4 == 3:
                yield BAD[(number + count) % 3]
                yield "repair"
                count += 2


def _make_edits(proxy: Proxy, editor: RuleEditor, first: int, reloads: int) -> dict[int, str | None]:
    """Makes edits, numbered from `first`; returns the edit of each generation, and None if it may have half an edit."""
    admin, edits_by_generation = Admin.of(proxy), dict[int, str | None]()
    for number, name in enumerate(_edits(reloads), start=1):
        before = admin.status()["generation"]
        seconds = editor.make(name, first + number)
        if number % 5 == 0:
            proxy.process.send_signal(signal.SIGHUP)
        elif number % 7 == 0:
            admin.reload()
        if name in BAD:
            admin.wait_for_status(lambda status: status["lastFailedAttempt"] is not None)
            continue
        status = admin.wait_for_status(lambda status, before=before: status["generation"] > before)
        if seconds < Pace().quiet:
            edits_by_generation[status["generation"]] = f"edit-{first + number}"
        else:  # the machine interrupted the editor for so long that the service saw the end of an edit
            admin.reload()
            after = admin.status()["generation"]
            edits_by_generation |= dict.fromkeys(range(before + 1, after + 1))
    return edits_by_generation


def _check_answers(traffic: Traffic, edits_by_generation: dict[int, str | None], first: int) -> None:
    # Half an edit may lack the file that a path needs.
    assert [each for each in traffic.failures if edits_by_generation.get(each[0], "") is not None] == []
    for generation, edits in traffic.edits.items():
        # No answer mixes two rule sets: both files of a generation are of the edit that it was made from.
        if edits_by_generation.get(generation, "") is not None:
            assert len(edits) == 1, (generation, edits)
            assert generation == first or edits == {edits_by_generation[generation]}


@pytest.mark.parametrize("reloads", [24, pytest.param(200, marks=pytest.mark.integration)])
def test_reloads_of_every_kind_under_traffic(tmp_path, reloads):
    """Every answer during good and bad edits is complete and of one rule set."""
    with endless_s3_elsewhere() as endpoint, rule_editor(tmp_path / "rules") as editor:
        editor.make("in_place", 0)
        with start_proxy(tmp_path, CONFIGURATION.format(endpoint=endpoint)) as proxy:
            traffic = Traffic(proxy.address)
            _make_edits(proxy, editor, 0, 12)  # modules that the first reloads import are not growth
            totals: list[int] = []
            size = 64 << 20
            threads = [threading.Thread(target=traffic.run, daemon=True) for _ in range(CLIENTS)]
            arguments = (proxy.address, size, reloads / 10, totals)
            threads.append(threading.Thread(target=_download, args=arguments, daemon=True))
            start, first = time.monotonic(), Admin.of(proxy).status()["generation"]
            for thread in threads:
                thread.start()
            eventually(lambda: traffic.failures or traffic.count > RATE)
            before = _size(proxy)
            edits_by_generation = _make_edits(proxy, editor, 100, reloads)
            after, seconds = _size(proxy), time.monotonic() - start
            # Connections that were opened before all reloads get the new rules.
            eventually(lambda: traffic.failures or max(traffic.edits) == max(edits_by_generation))
            traffic.stop.set()
            for thread in threads:
                thread.join()
    _check_answers(traffic, edits_by_generation, first)
    assert totals == [size]
    growth = [b - a for a, b in zip(before, after, strict=True)]
    assert growth[0] < 24, "MiB"
    assert growth[1] <= 4, "threads"
    assert growth[2] <= 12, "descriptors"
    print(
        f"{traffic.count} requests in {seconds:.0f} s, {len(edits_by_generation)} generations; "
        f"grew by {growth[0]} MiB, {growth[1]} threads, {growth[2]} descriptors"
    )
