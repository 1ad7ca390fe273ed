"""What clients get from a process with few descriptors: twice as many clients as it may open files, all at once.

    python benchmarks/descriptors.py [ROOT]

ROOT is the directory of another version to measure. S3 answers after a tenth of a second, on connections that it keeps.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

LIMITS = (64, 256, 1024)
ROUNDS = 3
PATIENCE = 5.0  # seconds
CONFIGURATION = """\
server: {{port: 0}}
internalServer: {{port: 0}}
log: {{access: false}}
targets:
  site: {{bucket: {{name: bucket, s3Endpoint: "{endpoint}", s3ForcePathStyle: true, anonymous: true}}}}
"""


async def s3(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serves an S3 whose objects have one byte."""
    with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):  # at the end
        while await reader.readuntil(b"\r\n\r\n"):
            await asyncio.sleep(0.1)
            writer.write(b'HTTP/1.1 200 OK\r\nETag: "e"\r\nContent-Length: 1\r\n\r\nx')
    writer.close()


async def ask(port: int) -> str:
    """Returns the status of an answer on a new connection, or what came instead."""
    writer = None
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            line = await reader.readline()
            await reader.read()
            return line.split()[1].decode() if line else "closed"
    except TimeoutError:
        return "none"
    except ConnectionError:
        return "closed"
    finally:
        if writer is not None:
            writer.close()


def started(folder: Path, root: str, limit: int) -> subprocess.Popen[str]:
    """Starts a service with a limit of descriptors."""
    command = ["prlimit", f"--nofile={limit}:{limit}", sys.executable, "-m", "tornado_proxy", "serve"]
    environment = {**os.environ, "PYTHONPATH": root, "NO_PROXY": "*"}
    arguments = ["--config", str(folder / "proxy.yaml")]
    # Python looks for modules in the current directory before it looks in PYTHONPATH.
    return subprocess.Popen([*command, *arguments], env=environment, cwd=folder, stderr=subprocess.PIPE, text=True)


async def measure(folder: Path, root: str, limit: int) -> Counter[str]:
    """Returns how often each answer came from a service with a limit of descriptors."""
    server = await asyncio.start_server(s3, "127.0.0.1", 0, backlog=4096)
    endpoint = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    (folder / "proxy.yaml").write_text(CONFIGURATION.format(endpoint=endpoint))
    service = started(folder, root, limit)
    assert service.stderr is not None
    try:
        found = None
        while found is None:
            found = re.search(
                r"listening on http://127\.0\.0\.1:(\d+)", await asyncio.to_thread(service.stderr.readline)
            )
        threading.Thread(target=service.stderr.read, daemon=True).start()  # the pipe must not fill
        answers: Counter[str] = Counter()
        for _ in range(ROUNDS):
            answers.update(await asyncio.gather(*(ask(int(found[1])) for _ in range(2 * limit))))
        return answers
    finally:
        service.kill()
        service.wait()
        server.close()


def main() -> None:
    """Prints a line for each limit."""
    root = str(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else Path(__file__).parent.parent)
    for limit in LIMITS:
        with tempfile.TemporaryDirectory() as folder:
            answers = asyncio.run(measure(Path(folder), root, limit))
        print(limit, ", ".join(f"{count} times {answer}" for answer, count in sorted(answers.items())), flush=True)


main()
