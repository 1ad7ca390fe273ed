"""HAProxy and other programs in front of instances, with the configurations of deploy/."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from administering import eventually
from programs import ROOT, program
from running import Proxy, free_port, listens


def deployed(name: str, ports: Sequence[int], port: int, lines: Mapping[str, str] = MappingProxyType({})) -> str:
    """A configuration of deploy/ for three instances on ports of this machine; the program itself listens on `port`."""
    text = (ROOT / "deploy" / name).read_text()
    for line, other in lines.items():
        text = text.replace(line, other)
    for number, own_port in enumerate(ports):
        text = text.replace(f"10.0.0.1{number + 1}:8080", f"127.0.0.1:{own_port}")
        text = text.replace(f'"10.0.0.1{number + 1}"; .port = "8080"', f'"127.0.0.1"; .port = "{own_port}"')
    return text.replace("bind :80", f"bind 127.0.0.1:{port}").replace("listen 80;", f"listen 127.0.0.1:{port};")


@contextmanager
def running(command: list[str], port: int) -> Iterator[Proxy]:
    """Runs a program until the block ends; the block starts when the program listens on the port."""
    arguments = [program(command[0], "balancing"), *command[1:]]
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        eventually(lambda: process.poll() is not None or listens(port))
        assert process.poll() is None, process.stderr.read()
        yield Proxy(process, f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.communicate(timeout=30)


@contextmanager
def haproxy(ports: Sequence[int], folder: Path, lines: Mapping[str, str] | None = None) -> Iterator[Proxy]:
    """HAProxy in front of three instances; `lines` replace those of its configuration."""
    port = free_port()
    path = folder / "haproxy.cfg"
    path.write_text(deployed("haproxy.cfg", ports, port, lines or {}))
    with running(["haproxy", "-db", "-f", str(path)], port) as proxy:
        yield proxy
