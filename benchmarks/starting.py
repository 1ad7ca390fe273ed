"""The cost of a start: `python benchmarks/starting.py [--starts N] [--workers N]`.

The service starts with one target, one rule and a key pair, and an S3 that answers at once. The output shows medians:
the seconds from the start of the process to the first object, the CPU time until then, the CPU time until all is ready
(admin listener, pages, metrics), and the memory of all processes after that.
"""

from __future__ import annotations

import argparse
import http.client
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from serving import Server, fast_s3, free_port

CONFIGURATION = """\
server: {{port: {port}}}
internalServer: {{port: {admin}}}
rules: [{folder}/site.rules]
targets:
  site:
    mount: {{path: [/]}}
    bucket:
      name: bucket
      s3Endpoint: {s3}
      s3ForcePathStyle: true
      credentials: {{accessKey: {{env: BENCHMARK_KEY}}, secretKey: {{env: BENCHMARK_KEY}}}}
"""
_SETTLED = 3  # seconds


def answers(port: int) -> bool:
    """Returns whether a port answers a request for an object, which is none on the admin port."""
    with suppress(OSError, http.client.HTTPException):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", "/a/file.txt")
        connection.getresponse().read()
        connection.close()
        return True
    return False


def cpu(server: Server) -> float:
    """Returns the seconds of CPU time of all threads of a server, more exact than ticks."""
    tasks = (task for pid in server.processes() for task in Path(f"/proc/{pid}/task").iterdir())
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def start(command: list[str], port: int, admin: int) -> tuple[float, float, float, float]:
    """Starts and stops the service once; returns its times and its memory."""
    environment = {**os.environ, "BENCHMARK_KEY": "benchmark"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    server = Server("tornado-proxy", command, port, environment)
    began = time.perf_counter()
    server.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    while not answers(port):
        time.sleep(0.002)
    seconds, first = time.perf_counter() - began, cpu(server)
    while not answers(admin):
        time.sleep(0.01)
    ready = cpu(server)
    time.sleep(_SETTLED)
    memory = server.memory()
    server.stop()
    return seconds, first, ready, memory


def main() -> None:
    """Measures and prints the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=15, help="how often the service is started")
    parser.add_argument("--workers", type=int, default=1, help="processes that answer requests")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, fast_s3(Path(folder)) as s3:
        port, admin = free_port(), free_port()
        Path(folder, "site.rules").write_text('target site {\n  rewrite `^/old/(.*)$` -> "/new/$1"\n}\n')
        configuration = Path(folder, "proxy.yaml")
        configuration.write_text(CONFIGURATION.format(port=port, admin=admin, folder=folder, s3=s3))
        command = [sys.executable, "-m", "tornado_proxy", "serve", "--config", str(configuration)]
        command += ["--workers", str(arguments.workers)]
        start(command, port, admin)  # compiles the modules
        runs = [start(command, port, admin) for _ in range(arguments.starts)]
    seconds, first, ready, memory = (statistics.median(column) for column in zip(*runs, strict=True))
    print(f"first answer {seconds:.2f} s, CPU {first:.2f} s; all ready, CPU {ready:.2f} s; idle {memory:.0f} MiB")


if __name__ == "__main__":
    main()
