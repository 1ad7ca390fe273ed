"""The time from a saved edit until it takes effect, and its influence on requests.

    python benchmarks/reload.py [--rewrites N …] [--edits N] [--everything]

A service with one rule file of N rewrites runs as `serve` does. S3 and a client with a steady rate are separate
processes. Each edit changes one rewrite, or with `--everything` nearly all of them. The output shows the time from
saving to activation, how late the event loop was, and how long requests took, without a reload and during one. "Of it
ours" is what this process computed while the loop was late: on a busy machine, other processes make it late, too.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import http.client
import multiprocessing
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from endless_s3 import endless_s3  # noqa: E402 - found by the line above

from tornado_proxy.admin.application import admin_listener  # noqa: E402
from tornado_proxy.config.server import Log  # noqa: E402
from tornado_proxy.service.process import Launch, Process, open_sockets  # noqa: E402
from tornado_proxy.service.runtime import configure_logging, run_event_loop  # noqa: E402
from tornado_proxy.service.serving import SingleProcess  # noqa: E402
from tornado_proxy.service.snapshot import SnapshotReader, compile_snapshot  # noqa: E402

CONFIGURATION = """
server: {{port: 0}}
internalServer: {{port: 0}}
rules: [site.rules]
targets:
  site:
    mount: {{path: [/]}}
    listing: {{readme: true}}
    bucket: {{name: some-bucket, s3Endpoint: "{endpoint}", s3ForcePathStyle: true,
              credentials: {{accessKey: {{env: KEY}}, secretKey: {{env: KEY}}}}}}
"""
PERIOD = 0.01  # seconds between the requests of the client; a tenth of it is between samples of the delay
PAUSE = 1.5  # seconds between edits


@dataclass
class Measurements:
    """The measurements of all edits; times are monotonic, in seconds."""

    spans: list[tuple[float, float]] = field(default_factory=list)  # of each edit: saved, activated
    others: dict[str, tuple[float, float]] = field(default_factory=dict)  # what else may hold up requests: begin, end
    delays: list[tuple[float, float]] = field(default_factory=list)  # time, and delay
    computed: list[tuple[float, float]] = field(default_factory=list)  # time, and what of the delay is our own
    requests: list[tuple[float, float]] = field(default_factory=list)  # time, and duration

    def during(self, samples: Sequence[tuple[float, float]], *, reload: bool) -> list[float]:
        """Returns the samples taken during reloads, or outside of them."""
        first, last = self.spans[0][0] - PAUSE / 2, self.spans[-1][1] + PAUSE / 2  # without the start, and what follows
        return [
            value
            for at, value in samples
            if first < at < last and any(begin - value <= at <= end + 0.1 for begin, end in self.spans) is reload
        ]


class ObservedProcess(SingleProcess):
    """Serves, and records when each generation was activated."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        self.activated = asyncio.Event()

    async def activate(self, *arguments: object) -> None:
        """Activates a generation and records the time."""
        await super().activate(*arguments)
        self.activated.set()


def rules(count: int, edit: int, *, everything: bool = False) -> str:
    """Returns a rule file in which one rewrite depends on the edit, or each but the first ten."""
    kept = 10 if everything else count
    names = ["" if number < kept else f"{edit}-" for number in range(count - 1)]
    lines = [
        f'    rewrite `^/press/{name}{number}/(?P<page>[^/]+)\\.html$` -> "/{number}/$page.txt"'
        for number, name in enumerate(names)
    ]
    lines.insert(count // 2, f'    rewrite `^/edited$` -> "/edit-{edit}.txt"')
    return "target site {\n" + "\n".join(lines) + "\n}\n"


def serve_s3(end: Connection) -> None:
    """Serves an S3 until the other end of the pipe is closed."""
    with endless_s3() as (endpoint, _):
        end.send(endpoint)
        end.recv()


def send_requests(address: tuple[str, int], stop: Event, end: Connection) -> None:
    """Sends requests at a steady rate, and reports how long each took."""
    durations = []
    connection = http.client.HTTPConnection(*address)
    while not stop.wait(PERIOD):
        began = time.monotonic()
        connection.request("GET", "/press/7/spring.html")
        response = connection.getresponse()
        assert response.status == 200, response.status
        response.read()
        durations.append((began, time.monotonic() - began))
    end.send(durations)


@contextmanager
def started_process(target: object, *arguments: object) -> Iterator[Connection]:
    """Starts a process with one end of a pipe."""
    own_end, other_end = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=target, args=(*arguments, other_end))
    process.start()
    try:
        yield own_end
    finally:
        process.terminate()
        process.join()


async def record_delays(measurements: Measurements) -> None:
    """Records how late the loop is, and what this process computed meanwhile: other processes may be in its way."""
    while True:
        due, computed = time.monotonic() + PERIOD / 10, time.process_time()
        await asyncio.sleep(PERIOD / 10)
        now = time.monotonic()
        measurements.delays.append((now, now - due))
        measurements.computed.append((now, min(now - due, time.process_time() - computed)))


async def make_edits(path: Path, texts: Sequence[str], serving: ObservedProcess, measurements: Measurements) -> None:
    """Makes the edits, and records when each was saved and activated."""
    for text in texts:
        await asyncio.sleep(PAUSE)
        serving.activated.clear()
        began = time.monotonic()
        await asyncio.to_thread(path.write_text, text)
        await serving.activated.wait()
        measurements.spans.append((began, time.monotonic()))
    await asyncio.sleep(PAUSE)


def ask(address: tuple[str, int], path: str) -> None:
    """Asks for a page, as a browser does."""
    connection = http.client.HTTPConnection(*address)
    connection.request("GET", path, headers={"Accept": "text/html"})
    connection.getresponse().read()
    connection.close()


async def do_others(site: tuple[str, int], admin: tuple[str, int], measurements: Measurements) -> None:
    """Does what else may hold up requests, once each."""
    others: dict[str, Callable[[], object]] = {
        "first listing": partial(ask, site, "/of-5/"),
        "first README page": partial(ask, site, "/readme/"),
        "first error page": partial(ask, site, "/%zz"),
        "first scrape": partial(ask, admin, "/metrics"),
        "status page": partial(ask, admin, "/-/"),
        "full collection": gc.collect,
    }
    for name, act in others.items():
        began = time.monotonic()
        await (asyncio.to_thread(act) if act is not gc.collect else asyncio.sleep(0, act()))
        await asyncio.sleep(0.05)
        measurements.others[name] = began, time.monotonic()
        await asyncio.sleep(PAUSE / 5)


async def serve(folder: Path, texts: Sequence[str], measurements: Measurements) -> None:
    """Serves during edits and requests."""
    reader = SnapshotReader(folder / "proxy.yaml", {"KEY": "key"})
    configuration = compile_snapshot(reader())
    assert configuration.settings is not None, configuration.diagnostics
    serving = ObservedProcess(configuration)
    sockets = open_sockets(configuration.settings.server)
    admin = open_sockets(configuration.settings.internal_server)
    launch = Launch(sockets, reader, partial(admin_listener, sockets=admin.sockets), lambda: None)
    stop = multiprocessing.get_context("spawn").Event()
    with started_process(send_requests, sockets.sockets[0].getsockname(), stop) as client:
        async with asyncio.TaskGroup() as tasks:
            recording = tasks.create_task(record_delays(measurements))
            editing = tasks.create_task(make_edits(folder / "site.rules", texts, serving, measurements))
            running = tasks.create_task(Process(launch, serving).run())
            await editing
            await do_others(sockets.sockets[0].getsockname(), admin.sockets[0].getsockname(), measurements)
            stop.set()
            measurements.requests += await asyncio.to_thread(client.recv)
            os.kill(os.getpid(), signal.SIGTERM)
            await running
            recording.cancel()


def measure(texts: Sequence[str]) -> Measurements:
    """Measures a service with the first of some rule files, which the others replace."""
    measurements = Measurements()
    with started_process(serve_s3) as s3, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "proxy.yaml").write_text(CONFIGURATION.format(endpoint=s3.recv()))
        (folder / "site.rules").write_text(texts[0])
        run_event_loop(serve(folder, texts[1:], measurements), "auto")
    return measurements


def milliseconds(values: Sequence[float]) -> str:
    """Returns the median and the maximum as text."""
    if not values:
        return "nothing was measured"
    return f"median {statistics.median(values) * 1000:6.1f}  maximum {max(values) * 1000:6.1f}"


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rewrites", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--edits", type=int, default=7)
    parser.add_argument("--everything", action="store_true", help="change every rewrite")
    arguments = parser.parse_args()
    configure_logging(Log(level="error"))
    for count in arguments.rewrites:
        edits = range(arguments.edits + 1)
        measurements = measure([rules(count, edit, everything=arguments.everything) for edit in edits])
        print(f"{count} rewrites, {arguments.edits} edits; milliseconds")
        print(f"  save to activation           {milliseconds([end - begin for begin, end in measurements.spans])}")
        rows = (
            ("loop late", measurements.delays),
            ("of it ours", measurements.computed),
            ("request", measurements.requests),
        )
        for label, samples in rows:
            for reload in (False, True):
                row_label = f"{label}, {'during a reload' if reload else 'otherwise'}"
                print(f"  {row_label:<29}{milliseconds(measurements.during(samples, reload=reload))}")
        for name, (begin, end) in measurements.others.items():
            within = [value for at, value in measurements.computed if begin <= at <= end]
            asked = [value for at, value in measurements.requests if begin - value <= at <= end]
            longest = f", longest request {max(asked) * 1000:.1f}" if asked else ""
            print(f"  loop late, {name:<18}{milliseconds(within)} (of it ours){longest}")


if __name__ == "__main__":
    main()
