"""The rooms of a request and of an edit: `python benchmarks/rooms.py [--all]`.

Serves one GET, the first one, through a rewrite and from an S3, then takes in an edit of the rules. Prints how many
files of the two packages, how many of their classes, and how many calls each runs through; with `--all`, which.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import FrameType

import serving_s3

import tornado_proxy
from tornado_proxy.cli.main import main as serve

_ROOT = f"{Path(tornado_proxy.__file__).parents[1]}/"
_PACKAGES = (f"{_ROOT}tornado_proxy/", f"{_ROOT}gotemplate/")
# Seconds: until everything of the start is done; for the log, which is written a moment later; for an edit.
_SETTLED, _LOGGED, _TAKEN_IN = 5.0, 0.2, 1.0

CONFIGURATION = """\
server: {{port: {port}, generationHeader: true}}
internalServer: {{port: {admin}}}
rules: [site.rules]
targets:
  site:
    mount: {{path: [/]}}
    bucket:
      name: bucket
      s3Endpoint: http://127.0.0.1:{s3}
      s3ForcePathStyle: true
      credentials: {{accessKey: {{value: key}}, secretKey: {{value: key}}}}
"""
RULES = 'target site { rewrite `^/old/(.*)$` -> "/new/$1" }\n'
EDITED = 'target site { rewrite `^/old/(.*)$` -> "/newer/$1" }\n'


class Trace:
    """The files of the two packages, with the classes in them, that calls in any thread run through while it `runs`."""

    def __init__(self) -> None:
        self.runs = False
        self.files: set[str] = set()
        self.classes: set[tuple[str, str]] = set()
        self.calls = 0

    def note(self, frame: FrameType, event: str, _argument: object) -> None:
        """Notes a call."""
        code = frame.f_code
        if not self.runs or event != "call" or code.co_name == "<module>":
            return
        if not code.co_filename.startswith(_PACKAGES):
            return
        file = code.co_filename.removeprefix(_ROOT)
        self.calls += 1
        self.files.add(file)
        if "." in code.co_qualname:
            self.classes.add((file, code.co_qualname.partition(".")[0]))

    def show(self, what: str, *, names: bool) -> None:
        """Prints the figures, and forgets them."""
        self.runs = False
        print(f"{what}: {len(self.files)} files, {len(self.classes)} classes, {self.calls} calls", file=sys.stderr)
        for file in sorted(self.files) if names else ():
            print(f"  {file}: {', '.join(sorted(name for of, name in self.classes if of == file))}", file=sys.stderr)
        self.files.clear()
        self.classes.clear()
        self.calls = 0


def get(port: int) -> str:
    """Returns the head of the answer to a GET that a rule rewrites."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(b"GET /old/a.txt HTTP/1.1\r\nHost: files.test\r\nConnection: close\r\n\r\n")
        received = b""
        while piece := client.recv(65536):
            received += piece
    assert received.startswith(b"HTTP/1.1 200"), received
    return received.partition(b"\r\n\r\n")[0].decode()


def use(trace: Trace, port: int, rules: Path, *, names: bool) -> None:
    """Sends the GET and makes the edit, then ends the service."""
    try:
        while not is_listened_at(port):
            time.sleep(0.1)
        time.sleep(_SETTLED)
        trace.runs = True
        get(port)
        time.sleep(_LOGGED)
        trace.show("a first GET with a rewrite", names=names)
        trace.runs = True
        rules.write_text(EDITED)
        time.sleep(_TAKEN_IN)
        trace.show("an edit", names=names)
        assert "X-Tornado-Proxy-Generation: 2-" in get(port), "the edit is not in force"
    finally:
        os.kill(os.getpid(), signal.SIGTERM)


def is_listened_at(port: int) -> bool:
    """Whether somebody listens at a port."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """Returns a port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def main(*, names: bool) -> None:
    """Traces both."""
    with tempfile.TemporaryDirectory() as name:
        folder, (port, admin, s3_port) = Path(name), (free_port() for _ in range(3))
        (folder / "site.rules").write_text(RULES)
        (folder / "config.yaml").write_text(CONFIGURATION.format(port=port, admin=admin, s3=s3_port))
        # On a thread, which ends with this process in whatever way that ends.
        threading.Thread(target=asyncio.run, args=(serving_s3.serve(s3_port, 0),), daemon=True).start()
        trace = Trace()
        client = threading.Thread(target=use, args=(trace, port, folder / "site.rules"), kwargs={"names": names})
        client.start()
        threading.setprofile(trace.note)
        sys.setprofile(trace.note)
        try:
            serve(("serve", "--config", str(folder / "config.yaml")))
        finally:
            sys.setprofile(None)
            client.join()


if __name__ == "__main__":
    main(names="--all" in sys.argv)
