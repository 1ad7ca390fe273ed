"""The cost of serving: `python benchmarks/serving.py [--rounds N] [--scale X] [--load NAME]… [--beside NAME=COMMAND]…`.

The service, a plain Tornado application with boto3, and the servers given by `--beside` serve the same objects from an
S3 that is started here. It is nginx if installed, or a small asyncio server, which also serves as the slow S3 and
accepts the uploads. If nginx is installed, its `proxy_pass` is measured, too, which neither signs nor decides. Each
load runs against one server after the other, in alternating order, round after round; a figure is the median of the
rounds. CPU time is that of all processes of a server, from `/proc`.

COMMAND contains `{port}`, and the endpoints `{fast}` and `{slow}`. It serves the bucket `bucket` at `/`, from a memory
cache (if it has one) at `/hot/`, through 1,000 rewrites (`^moved/N/(.*)$` to `new/N/$1`) at `/rw/`, and from the slow
S3, with uploads, at `/slow/`. A load without the right status has no figure.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shlex
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

_HERE = Path(__file__).parent
sys.path.insert(0, str(_HERE))

import serving_s3  # noqa: E402 - beside this file

_TICKS = os.sysconf("SC_CLK_TCK")
_START_LIMIT = 20  # seconds
_SETTLED = 3  # seconds
_MIB = 1024**2

CONFIGURATION = """\
server: {{port: {port}, healthPath: /-/healthz}}
internalServer: {{port: {admin}}}
rules: [{folder}/site.rules]
s3: {{reads: {reads}}}
targets:
  site:
    mount: {{path: [/]}}
    bucket: &bucket
      name: bucket
      s3Endpoint: {fast}
      s3ForcePathStyle: true
      credentials: {{accessKey: {{env: BENCHMARK_KEY}}, secretKey: {{env: BENCHMARK_KEY}}}}
  hot:
    mount: {{path: [/hot/]}}
    bucket: *bucket
    cache: {{maxAge: 10s}}
  rewritten:
    mount: {{path: [/rw/]}}
    bucket: *bucket
  slow:
    mount: {{path: [/slow/]}}
    bucket: {{<<: *bucket, s3Endpoint: '{slow}'}}
    actions: {{PUT: {{enabled: true, config: {{allowOverride: true}}}}}}
"""

NGINX = """\
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 8192; }}
http {{
  access_log off; sendfile on; tcp_nodelay on; keepalive_requests 1000000000; default_type text/plain;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  map $args $listing {{ default /listing.xml; "~(^|&)max-keys=2(&|$)" /probed.xml; }}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    root {folder};
    location = /bucket {{ try_files $listing =404; }}
    location / {{ try_files $uri /small =404; }}
  }}
}}
"""

PROXY_PASS = """\
daemon off; worker_processes 1; pid {folder}/proxy.pid; error_log {folder}/proxy.log;
events {{ worker_connections 8192; }}
http {{
  access_log {folder}/access.log; keepalive_requests 1000000000; default_type text/plain;
  client_body_temp_path {folder}/pb; proxy_temp_path {folder}/pp; fastcgi_temp_path {folder}/pf;
  uwsgi_temp_path {folder}/pu; scgi_temp_path {folder}/ps;
  upstream s3 {{ server {fast}; keepalive 64; keepalive_requests 1000000000; }}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{
      proxy_pass http://s3/bucket/; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_max_temp_file_size 0;
    }}
  }}
}}
"""
# The loads of a proxy that only forwards.
FORWARDED_LOADS = ("GET 1 KiB", "HEAD", "304", "100 MiB")


@dataclass(frozen=True)
class Load:
    """Requests of one kind by concurrent clients; `unit` is the unit of its figure."""

    name: str
    path: str  # `{}` becomes the number of the request
    requests: int
    method: str = "GET"
    clients: int = 16
    statuses: tuple[int, ...] = (200,)
    headers: dict[str, str] = field(default_factory=dict)
    upload: int = 0
    unit: str = "µs"


LOADS = (
    Load("GET 1 KiB", "/a/file.txt", 4000),
    Load("GET 1 KiB, always at another address", "/a/{}.txt", 4000),
    Load("HEAD", "/a/file.txt", 4000, method="HEAD"),
    Load("304", "/a/file.txt", 4000, statuses=(304,)),
    Load("GET from the cache", "/hot/file.txt", 4000),
    Load("GET through 1,000 rewrites", "/rw/moved/999/{}.txt", 4000),
    Load("100 MiB, one client", "/big", 8, clients=1, unit="s/GB"),
    Load("100 MiB, four clients", "/big", 16, clients=4, unit="s/GB"),
    Load("1,000 clients, S3 answers after 100 ms", "/slow/file.txt", 8000, clients=1000, unit="requests/s, p99"),
    Load("listing of 1,000 entries", "/list/", 60, clients=2, unit="ms"),
    Load("form upload of 256 MiB", "/slow/up/", 1, "PUT", 1, (200, 201, 204), upload=256 * _MIB, unit="s/GB"),
)


@dataclass
class Server:
    """A server under test: its command and its measurements."""

    name: str
    command: list[str]
    port: int
    environment: dict[str, str]
    loads: tuple[str, ...] = ("",)  # prefixes of the names of the loads that the server can answer
    process: subprocess.Popen[bytes] | None = None
    figures: dict[str, list[tuple[float, ...]]] = field(default_factory=dict)

    def start(self) -> float:
        """Starts the server; returns the seconds until it answers."""
        began = time.perf_counter()
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment
        )
        while True:
            with suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", "/a/file.txt")
                connection.getresponse().read()
                connection.close()
                return time.perf_counter() - began
            if time.perf_counter() - began > _START_LIMIT or self.process.poll() is not None:
                raise SystemExit(f"{self.name} does not start: {shlex.join(self.command)}")
            time.sleep(0.01)

    def stop(self) -> None:
        """Stops the server."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait()

    def processes(self) -> Iterator[int]:
        """Yields the ids of all its processes."""
        assert self.process is not None
        waiting = [self.process.pid]
        while waiting:
            pid = waiting.pop()
            yield pid
            with suppress(OSError):
                for task in Path(f"/proc/{pid}/task").iterdir():
                    waiting += [int(child) for child in (task / "children").read_text().split()]

    def cpu(self) -> float:
        """Returns the seconds of CPU time of all its processes."""
        stats = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in self.processes())
        return sum(int(stat[11]) + int(stat[12]) for stat in stats) / _TICKS

    def settled_memory(self) -> float:
        """Returns its memory in MiB after the work that follows its first answer."""
        time.sleep(_SETTLED)
        return self.memory()

    def memory(self) -> float:
        """Returns the memory of its processes in MiB; shared memory counts once."""
        rollups = (
            Path(f"/proc/{pid}/smaps_rollup").read_text().split("\nPss:")[1].split()[0] for pid in self.processes()
        )
        return sum(map(int, rollups)) / 1024


def free_port() -> int:
    """Returns a free port."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def _nginx() -> str | None:
    """Returns the path of nginx if it is installed."""
    return shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")


@contextmanager
def running(*command: str, port: int) -> Iterator[str]:
    """Starts a server for the duration of a block; yields its endpoint."""
    with subprocess.Popen(command) as process:
        try:
            while socket.socket().connect_ex(("127.0.0.1", port)):
                time.sleep(0.02)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@contextmanager
def fast_s3(folder: Path) -> Iterator[str]:
    """Starts an S3 that answers at once."""
    port, nginx = free_port(), _nginx()
    if nginx is None:
        with running(sys.executable, str(_HERE / "serving_s3.py"), str(port), port=port) as url:
            yield url
        return
    (folder / "bucket").mkdir()
    (folder / "small").write_bytes(bytes(1024))
    (folder / "listing.xml").write_bytes(serving_s3.LISTING)
    (folder / "probed.xml").write_bytes(serving_s3.PROBED)
    with (folder / "bucket" / "big").open("wb") as big:
        big.write(bytes(100 * _MIB))
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
    folder.chmod(0o755)
    with running(nginx, "-c", str(folder / "nginx.conf"), port=port) as url:
        yield url


def measure(server: Server, load: Load, scale: float) -> None:
    """Runs a load once and records its cost, unless a response was wrong."""
    if server.figures.get(load.name) == [] or not load.name.startswith(server.loads):
        return
    figures = server.figures.setdefault(load.name, [])
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    if not load.upload:
        connection.request("HEAD" if load.method == "HEAD" else "GET", load.path.format(0))
        response = connection.getresponse()
        response.read()
    connection.close()
    headers = {"If-None-Match": response.headers["ETag"] or "*"} if 304 in load.statuses else {}
    requests = max(1, int(load.requests * scale))
    options = {**vars(load), "headers": headers, "requests": requests}
    cpu_before = server.cpu()
    client = [sys.executable, str(_HERE / "serving_load.py"), str(server.port), json.dumps(options)]
    result = json.loads(subprocess.run(client, capture_output=True, check=True).stdout)
    cpu_time = server.cpu() - cpu_before
    if result["wrong"] * 1000 > requests:
        return
    size = load.upload or 100 * _MIB
    cost = {"µs": cpu_time / requests * 1e6, "ms": cpu_time / requests * 1e3, "s/GB": cpu_time / requests / size * 1e9}
    figures.append((cost[load.unit],) if load.unit in cost else (result["rate"], result["p99"]))


def format_medians(load: Load, server: Server) -> str:
    """Returns the medians of a load as text."""
    figures = server.figures.get(load.name)
    if not figures:
        return "-"
    medians = [statistics.median(column) for column in zip(*figures, strict=True)]
    if len(medians) == 2:
        return f"{medians[0]:.0f}/s, {medians[1]:.2f} s"
    return f"{medians[0]:.0f}" if load.unit == "µs" else f"{medians[0]:.2f}"


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="how often each load is run")
    parser.add_argument("--scale", type=float, default=1, help="requests of each load, as a part of the usual number")
    parser.add_argument("--load", action="append", help="a load to run, by the beginning of its name")
    parser.add_argument("--beside", action="append", default=[], metavar="NAME=COMMAND", help="another server")
    arguments = parser.parse_args()
    loads = [load for load in LOADS if not arguments.load or load.name.startswith(tuple(arguments.load))]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        fast, slow_port = stack.enter_context(fast_s3(folder)), free_port()
        slow_s3 = (sys.executable, str(_HERE / "serving_s3.py"), str(slow_port), "0.1")
        slow = stack.enter_context(running(*slow_s3, port=slow_port))
        servers = list(_servers(folder, fast, slow, arguments.beside))
        start_figures = {}
        for server in servers:
            stack.callback(server.stop)
            server.start()  # the first start of a Python program compiles its modules
            server.stop()
            start_figures[server.name] = (server.start(), server.settled_memory())
        for number in range(arguments.rounds):
            for load in loads:
                for server in servers if number % 2 else reversed(servers):
                    measure(server, load, arguments.scale)
        print("| load |", " | ".join(server.name for server in servers), "|")
        print("|---|" + "--:|" * len(servers))
        for load in loads:
            print(f"| {load.name}, {load.unit} |", " | ".join(format_medians(load, server) for server in servers), "|")
        times = (f"{seconds:.2f} / {memory:.0f}" for seconds, memory in start_figures.values())
        print("| ready, s / idle memory, MiB |", " | ".join(times), "|")


def _servers(folder: Path, fast: str, slow: str, beside: list[str]) -> Iterator[Server]:
    """Yields the servers, which are not yet started."""
    rewrites = "".join(f'  rewrite `^/moved/{number}/(.*)$` -> "/new/{number}/$1"\n' for number in range(1000))
    (folder / "site.rules").write_text(f"target rewritten {{\n{rewrites}}}\n")
    environment = {**os.environ, "BENCHMARK_KEY": "benchmark", "PYTHONPYCACHEPREFIX": str(folder / "pyc")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for name, reads in (("tornado-proxy", "loop"), ("with boto3 for reads", "executor")):
        port = free_port()
        text = CONFIGURATION.format(port=port, admin=free_port(), folder=folder, fast=fast, slow=slow, reads=reads)
        (folder / f"{reads}.yaml").write_text(text)
        serve = [sys.executable, "-m", "tornado_proxy", "serve", "--config", str(folder / f"{reads}.yaml")]
        yield Server(name, serve, port, environment)
    port = free_port()
    stock = [sys.executable, str(_HERE / "serving_stock.py"), str(port), fast, slow]
    yield Server("stock Tornado + boto3", stock, port, environment)
    if (nginx := _nginx()) is not None:
        port = free_port()
        values = {"folder": folder, "port": port, "fast": fast.removeprefix("http://")}
        (folder / "proxy.conf").write_text(PROXY_PASS.format(**values))
        yield Server("nginx proxy_pass", [nginx, "-c", str(folder / "proxy.conf")], port, environment, FORWARDED_LOADS)
    for name_and_command in beside:
        name, _, command = name_and_command.partition("=")
        port = free_port()
        words = shlex.split(command.format(port=port, fast=fast, slow=slow))
        yield Server(name, words, port, environment)


if __name__ == "__main__":
    main()
