"""Long runs of the service: whether its memory stays flat, and whether reloads with faults lose anything.

    python benchmarks/soak.py [--requests N] [--reloads N] [--seed N] [--workers N]

Mixed requests are sent by 8 clients, and the memory of the process is printed ten times. Then edits follow each other,
most with a fault, and some with a kill and a start after it, while clients read, download and upload: every answer must
be whole and of the last good edit, and every good edit in force when its reload says so. What was lost is printed, and
the exit status is then 1.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from endless_s3 import endless_s3_elsewhere  # noqa: E402 - found by the line above
from serving import Client, form, part  # noqa: E402

FORM_TYPE = {"Content-Type": "multipart/form-data; boundary=form-boundary-7c1d"}
CONFIGURATION = """
server: {{listenAddr: 127.0.0.1, port: {port}, gracePeriod: 2s, cors: {{enabled: true, allowOrigins: ["https://a.test"]}},
          compress: {{enabled: true}}}}
internalServer: {{listenAddr: 127.0.0.1, port: {admin}}}
log: {{level: error}}
reload: {{tests: refuse}}
rules: [rules]
targets:
  site:
    mount: {{path: [/]}}
    bucket: &bucket {{name: bucket, s3Endpoint: "{s3}", s3ForcePathStyle: true,
              credentials: {{accessKey: {{path: secret}}, secretKey: {{path: secret}}}}}}
    listing: {{archive: {{enabled: true}}}}
    resources:
      - {{path: /closed/*, provider: staff, basic: {{credentials: [{{user: ann, password: {{value: a-long-word}}}}]}}}}
      - {{path: /**, methods: [GET, PUT, DELETE], whiteList: true}}
    actions: {{PUT: {{enabled: true, config: {{allowOverride: true, rawUploads: true}}}}, DELETE: {{enabled: true}}}}
  kept:
    mount: {{path: [/kept/]}}
    bucket: *bucket
    cache: {{maxAge: 1h}}
authProviders: {{basic: {{staff: {{realm: staff}}}}}}
"""
RULES = 'target site {{\nrewrite `^/edit$` -> "/now/{0}.txt"\ntest "/edit" -> "/now/{0}.txt"\n'
MORE = 'rewrite `^/moved/(?P<rest>.*)$` -> "/new/$rest"\n}\n'


def faults(folder: Path, good: str, text: str) -> dict[str, list[tuple[Path, str | None]]]:
    """What is written for each fault, None if the file goes; `good` is the configuration, `text` the rules."""
    rules, config = folder / "rules" / "site.rules", folder / "proxy.yaml"
    return {
        "a bad pattern": [(rules, text.replace("moved/(", "moved/(("))],
        "a test that fails": [(rules, text.replace('test "/edit"', 'test "/edit/"'))],
        "half a file": [(rules, text[: len(text) // 2])],
        "no rules": [(rules, "target other {}\n")],
        "bytes that are no text": [(rules, text.replace("moved", "\udcff"))],
        "a broken configuration": [(config, "targets: [")],
        "an unknown option": [(config, good + "unknown: 1\n")],
        "an unknown provider": [(config, good.replace("provider: staff", "provider: other"))],
        "no configuration": [(config, None)],
        "no secret": [(folder / "secret", None)],
        "no secret, and a bad pattern": [(folder / "secret", None), (rules, text.replace("moved/(", "moved/(("))],
    }


class Service:
    """The service in a process of its own, with its files."""

    def __init__(self, folder: Path, s3: str, port: int, workers: int) -> None:
        self.folder, self.port, self.workers, self.log = folder, port, workers, folder / "log"
        self.configuration = CONFIGURATION.format(port=port, admin=port + 1, s3=s3)
        (folder / "rules").mkdir()
        self.write(0)

    def text(self, edit: int) -> str:
        """The rules of an edit."""
        return RULES.format(edit) + MORE

    def write(self, edit: int) -> None:
        """Writes good files."""
        put(self.folder / "secret", "secret\n")
        put(self.folder / "proxy.yaml", self.configuration)
        put(self.folder / "rules" / "site.rules", self.text(edit))

    async def start(self) -> None:
        """Starts the process, and waits until it answers."""
        command = [sys.executable, "-m", "tornado_proxy", "serve", "--config", str(self.folder / "proxy.yaml")]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with self.log.open("ab") as log:
            command += ["--last-good", str(self.folder / "kept"), "--workers", str(self.workers)]
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)  # noqa: ASYNC220 - it is quick
        while (await self.ask("GET", "/-/ready"))[0] != 200:
            assert self.process.poll() is None, self.log.read_text()[-1000:]
            await asyncio.sleep(0.02)

    async def ask(self, method: str, path: str) -> tuple[int, bytes]:
        """Asks the admin listener; 0 if it does not answer."""
        try:
            client = Client(*await asyncio.open_connection("127.0.0.1", self.port + 1))
            answer = await client.request(method, path, {"Host": "127.0.0.1", "Content-Length": "0"})
            await client.close()
        except (OSError, asyncio.IncompleteReadError):
            return 0, b""
        return answer.status, answer.body

    def memory(self) -> float:
        """The memory of the process without its workers, MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


def put(path: Path, text: str | None) -> None:
    """Replaces a file at once, or removes it."""
    if text is None:
        path.unlink(missing_ok=True)
        return
    aside = path.with_name(f".{path.name}")
    aside.write_bytes(text.encode(errors="surrogateescape"))
    aside.replace(path)


def mixed(number: int) -> tuple[str, str, dict[str, str], bytes, int]:
    """The request of a number, and its status; nearly all have a path of their own."""
    body = b"x" * (number % 50_000)
    kinds = (
        ("GET", f"/a/{number}.txt", {}, b"", 200),
        ("GET", f"/kept/{number % 1000}.txt", {"Accept-Encoding": "gzip"}, b"", 200),
        ("HEAD", f"/a/{number}.txt", {}, b"", 200),
        ("GET", f"/moved/{number}.txt", {"User-Agent": f"agent {number}"}, b"", 200),
        ("GET", f"/{number % 200_000}.bin", {}, b"", 200),
        ("GET", f"/{number % 200_000 + 10}.bin", {"Range": "bytes=3-8"}, b"", 206),
        ("GET", f"/{number}/missing", {"Accept": "text/html"}, b"", 404),
        ("GET", f"/of-5/?format=json&n={number}", {}, b"", 200),
        ("GET", "/of-5/", {"Accept": "text/html"}, b"", 200),
        ("GET", f"/of-5/{number}/?format=zip", {}, b"", 404),
        ("GET", f"/closed/{number}", {}, b"", 401),
        ("GET", f"/%2e%2e/{number}", {}, b"", 400),
        ("PUT", f"/up/{number}", {}, body, 201),
        ("PUT", "/up/", FORM_TYPE, form(part("file", body, filename=f"{number}.dat")), 201),
        ("DELETE", f"/{number % 1000}.bin", {}, b"", 204),
        ("OPTIONS", f"/a/{number}.txt", {"Origin": "https://a.test", "Access-Control-Request-Method": "GET"}, b"", 200),
        ("PATCH", f"/a/{number}.txt", {}, b"", 405),
    )
    return kinds[number % len(kinds)]


async def flat_memory(service: Service, count: int) -> int:
    """Sends mixed requests, and prints the memory after each tenth; returns how many had another answer."""
    numbers, wrong, reported = iter(range(count)), Counter[str](), time.monotonic()

    async def send() -> None:
        client = None
        for number in numbers:
            method, path, headers, body, status = mixed(number)
            client = client or Client(*await asyncio.open_connection("127.0.0.1", service.port))
            answer = await client.request(method, path, headers, body)
            if answer.status != status or not answer.complete:
                wrong[f"{method} {path.replace(str(number), 'N')}: {answer.status}"] += 1
            if answer.headers.get("connection") == "close" or number % 100 == 0:
                await client.close()
                client = None
            if (number + 1) % (count // 10) == 0:
                print(
                    f"{number + 1:>8} requests  {time.monotonic() - reported:6.0f} s  {service.memory():6.1f} MiB",
                    flush=True,
                )

    print(f"{0:>8} requests         {service.memory():6.1f} MiB", flush=True)
    await asyncio.gather(*(send() for _ in range(8)))
    for what, times in wrong.most_common(20):
        print(f"not as expected, {times} times: {what}")
    return wrong.total()


class Readers:
    """Clients that read, download and upload without a pause; each answer must be whole, and of a good edit."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.good = {0}  # edits that may answer: the last good one, and the one that is being loaded
        self.asked, self.lost = Counter[str](), Counter[str]()
        self._may, self._busy = asyncio.Event(), Counter[str]()
        self._may.set()

    async def run(self, method: str, path: str, body: bytes = b"") -> None:
        """Sends one request after another."""
        while True:
            await self._may.wait()
            self._busy["all"] += 1
            try:
                client = Client(*await asyncio.open_connection("127.0.0.1", self.service.port))
                for _ in range(20):
                    allowed = set(self.good)
                    answer = await client.request(method, path, {}, body)
                    self._check(f"{method} {path}", answer, allowed | self.good)
                    if not self._may.is_set():
                        break
                await client.close()
            except (OSError, asyncio.IncompleteReadError) as error:
                self.lost[f"{method} {path}: {error!r}"] += 1
            finally:
                self._busy["all"] -= 1

    def _check(self, name: str, answer: object, allowed: set[int]) -> None:
        self.asked[name] += 1
        if answer.status not in (200, 201) or not answer.complete:
            self.lost[f"{name}: {answer.status}, complete: {answer.complete}"] += 1
        elif name == "GET /edit" and answer.body not in [f"now/{edit}.txt".encode() for edit in allowed]:
            self.lost[f"{name}: {answer.body[:40]!r} is none of {sorted(allowed)}"] += 1

    async def pause(self) -> None:
        """Lets all requests end, before a kill."""
        self._may.clear()
        while self._busy["all"]:  # noqa: ASYNC110 - of many tasks
            await asyncio.sleep(0.005)

    def go_on(self) -> None:
        """Lets clients send again."""
        self._may.set()


async def _reloaded(service: Service, edit: int) -> tuple[str, str]:
    """Reloads by a command, or by SIGHUP; returns the outcome, and the first mistake."""
    if edit % 3 == 0:
        with suppress(ProcessLookupError):
            os.kill(service.process.pid, signal.SIGHUP)
    status, body = await service.ask("POST", "/-/reload")
    report = json.loads(body) if body else {"outcome": f"no answer ({status})", "diagnostics": []}
    return report["outcome"], next((each["message"] for each in report["diagnostics"]), "")


async def _killed(service: Service, readers: Readers, after: float) -> None:
    """Kills the process in the middle of a reload, and starts it from the files as they are, or from the copy."""
    await readers.pause()
    reload = asyncio.ensure_future(service.ask("POST", "/-/reload"))
    await asyncio.sleep(after)
    service.process.kill()
    service.process.wait()
    await reload
    await service.start()
    readers.go_on()


async def faulty_reloads(service: Service, count: int, seed: int) -> int:
    """Makes edits, most with a fault; returns how many things were lost."""
    readers, chance, outcomes, last = Readers(service), random.Random(seed), Counter[str](), 0
    requests = [("GET", "/edit")] * 3 + [("GET", "/3000000.bin"), ("GET", "/of-5/?format=json"), ("PUT", "/up/x")]
    clients = [asyncio.ensure_future(readers.run(*each, b"x" * 100_000 * (each[0] == "PUT"))) for each in requests]
    for edit in range(1, count + 1):
        fault = chance.choice([*faults(service.folder, "", ""), *["none"] * 5])
        service.write(last)
        if fault == "none":
            readers.good.add(edit)
            service.write(edit)
        for path, text in faults(service.folder, service.configuration, service.text(edit)).get(fault, ()):
            put(path, text)
        if chance.random() < 0.03 and "secret" not in fault:  # no copy has secrets
            await _killed(service, readers, chance.random() * 0.1)
            outcomes["killed"] += 1
        outcome, why = await _reloaded(service, edit)
        outcomes[f"{fault}: {outcome}"] += 1
        if (fault == "none") != (outcome in ("loaded", "unchanged", "reverted")):
            readers.lost[f"edit with {fault}: {outcome}: {why}"] += 1
        if fault == "none":
            readers.good, last = {edit}, edit
        if edit % (count // 10 or 1) == 0:
            figures = f"{readers.asked.total():>8} requests  {service.memory():6.1f} MiB  lost {readers.lost.total()}"
            print(f"{edit:>8} reloads  {figures}", flush=True)
    for each in clients:
        each.cancel()
    await asyncio.gather(*clients, return_exceptions=True)
    for what, times in [*sorted(outcomes.items()), *(("lost: " + name, times) for name, times in readers.lost.items())]:
        print(f"{times:>8}  {what}")
    return readers.lost.total()


async def run(arguments: argparse.Namespace) -> int:
    """Runs both; returns the exit status."""
    with tempfile.TemporaryDirectory() as folder, endless_s3_elsewhere() as s3:
        service = Service(Path(folder), s3, arguments.port, arguments.workers)
        await service.start()
        try:
            wrong = await flat_memory(service, arguments.requests) if arguments.requests else 0
            lost = await faulty_reloads(service, arguments.reloads, arguments.seed) if arguments.reloads else 0
        finally:
            service.process.terminate()
            service.process.wait()
        tracebacks = service.log.read_bytes().count(b"Traceback")
    print(f"{tracebacks:>8}  tracebacks in the log")
    return int(bool(wrong or lost or tracebacks))


def main() -> None:
    """Reads the arguments, and runs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--reloads", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--port", type=int, default=18_080)
    sys.exit(asyncio.run(run(parser.parse_args())))


if __name__ == "__main__":
    main()
