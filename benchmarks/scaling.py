"""The cost of one and of three instances behind HAProxy: `python benchmarks/scaling.py [--rounds N] [--requests N]`.

Each instance is a process in front of the same S3; HAProxy runs with deploy/haproxy.cfg. The load is a GET of 1 KiB by
64 clients. CPU time is that of all instances, and of HAProxy, from `/proc`. A figure is the median of the rounds. On a
machine with few cores the client, S3 and HAProxy compete with the instances: the CPU time per request can be compared
with that of other machines, the rate cannot.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from serving import CONFIGURATION, Load, Server, fast_s3, free_port

_DEPLOY = Path(__file__).parent.parent / "deploy"


def fleet(stack: ExitStack, folder: Path, count: int, endpoint: str) -> tuple[list[Server], Server]:
    """Starts instances and HAProxy in front of them."""
    environment = {**os.environ, "BENCHMARK_KEY": "benchmark"}
    (folder / "site.rules").write_text('target rewritten { rewrite `^/old/(.*)$` -> "/new/$1" }\n')
    instances = []
    server_lines = []
    for number in range(count):
        port = free_port()
        path = folder / f"proxy-{count}-{number}.yaml"
        path.write_text(CONFIGURATION.format(port=port, admin=free_port(), folder=folder, fast=endpoint, slow=endpoint))
        command = [sys.executable, "-m", "tornado_proxy", "serve", "--config", str(path)]
        instances.append(Server(f"instance {number}", command, port, environment))
        server_lines.append(f"    server s{number} 127.0.0.1:{port}\n")
    front = free_port()
    text = (_DEPLOY / "haproxy.cfg").read_text().replace("bind :80", f"bind 127.0.0.1:{front}")
    other_lines = [line for line in text.splitlines(keepends=True) if not line.lstrip().startswith("server ")]
    (folder / f"haproxy-{count}.cfg").write_text("".join([*other_lines, *server_lines]))
    haproxy = Server("HAProxy", ["haproxy", "-db", "-f", str(folder / f"haproxy-{count}.cfg")], front, environment)
    for server in (*instances, haproxy):
        stack.callback(server.stop)
        server.start()
    return instances, haproxy


def measure(instances: list[Server], haproxy: Server, requests: int) -> tuple[float, ...]:
    """Returns requests per second, the 99th percentile in ms, and µs of CPU per request of instances and HAProxy."""
    load = {**vars(Load("GET 1 KiB", "/a/file.txt", requests, clients=64)), "requests": requests}
    cpu_before = sum(instance.cpu() for instance in instances), haproxy.cpu()
    client = [sys.executable, str(Path(__file__).parent / "serving_load.py"), str(haproxy.port), json.dumps(load)]
    result = json.loads(subprocess.run(client, capture_output=True, check=True).stdout)
    assert result["wrong"] == 0, result
    cpu_time = sum(instance.cpu() for instance in instances) - cpu_before[0], haproxy.cpu() - cpu_before[1]
    return result["rate"], result["p99"] * 1000, *(1e6 * seconds / requests for seconds in cpu_time)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="how often each load is run")
    parser.add_argument("--requests", type=int, default=10000, help="requests of each round")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        endpoint = stack.enter_context(fast_s3(folder))
        fleets = {count: fleet(stack, folder, count, endpoint) for count in (1, 3)}
        figures: dict[int, list[tuple[float, ...]]] = {count: [] for count in fleets}
        for _ in range(arguments.rounds):
            for count, (instances, haproxy) in fleets.items():
                figures[count].append(measure(instances, haproxy, arguments.requests))
        print(
            "| instances | requests/s | 99th percentile, ms | CPU of instances, µs | CPU of HAProxy, µs | memory, MiB |"
        )
        print("|--:|--:|--:|--:|--:|--:|")
        for count, (instances, _) in fleets.items():
            columns = [statistics.median(column) for column in zip(*figures[count], strict=True)]
            memory = sum(instance.memory() for instance in instances)
            print(f"| {count} |", " | ".join(f"{figure:.0f}" for figure in (*columns, memory)), "|")


if __name__ == "__main__":
    main()
