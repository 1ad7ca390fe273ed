"""The memory of the first upload: `python benchmarks/upload_memory.py [--starts N]`.

The service starts with one target, and gets a form of 256 MiB, which its S3 takes with 100 ms for each call. The output
shows medians: the memory of the process before, the most that it has meanwhile, and the rate of the upload. Libraries
that other processes have mapped as well, such as Python's, count by share: run nothing else beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import starting
from serving import Server, free_port, running

HERE = Path(__file__).parent
SIZE = 256 * 1024 * 1024
CONFIGURATION = f"""\
{starting.CONFIGURATION}\
    actions: {{{{PUT: {{{{enabled: true, config: {{{{allowOverride: true}}}}}}}}}}}}
"""
LOAD = {"method": "PUT", "path": "/up/", "requests": 1, "clients": 1, "statuses": [200, 201, 204], "upload": SIZE}


def upload(command: list[str], port: int) -> tuple[float, float, float]:
    """Starts the service, uploads a file, and stops the service; returns memory in MiB and MiB/s."""
    environment = {**os.environ, "BENCHMARK_KEY": "benchmark"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    server = Server("tornado-proxy", command, port, environment)
    server.start()
    try:
        idle = most = server.settled_memory()
        client = [sys.executable, str(HERE / "serving_load.py"), str(port), json.dumps(LOAD)]
        with subprocess.Popen(client, stdout=subprocess.PIPE, text=True) as process:
            while process.poll() is None:
                most = max(most, server.memory())
                time.sleep(0.005)
            result = json.loads(process.stdout.read())
    finally:
        server.stop()
    if result["wrong"]:
        raise SystemExit("the upload failed")
    return idle, most, SIZE / 2**20 / result["seconds"]


def main() -> None:
    """Measures and prints the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=3, help="how often the service starts (default: 3)")
    arguments = parser.parse_args()
    s3, port = free_port(), free_port()
    slow = (sys.executable, str(HERE / "serving_s3.py"), str(s3), "0.1")
    with running(*slow, port=s3) as endpoint, tempfile.TemporaryDirectory() as folder:
        Path(folder, "site.rules").write_text("target site {\n}\n")
        configuration = Path(folder, "proxy.yaml")
        configuration.write_text(CONFIGURATION.format(port=port, admin=free_port(), folder=folder, s3=endpoint))
        command = [sys.executable, "-m", "tornado_proxy", "serve", "--config", str(configuration)]
        figures = [upload(command, port) for _ in range(arguments.starts)]
    idle, most, rate = (statistics.median(column) for column in zip(*figures, strict=True))
    print(f"idle {idle:.0f} MiB, at most {most:.0f} MiB during an upload of {SIZE >> 20} MiB at {rate:.0f} MiB/s")


if __name__ == "__main__":
    main()
