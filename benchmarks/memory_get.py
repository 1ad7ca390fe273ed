"""The cost of a GET without S3: the CPU time of the server for a file of 1 KiB in memory.

The log is written, and the request is counted and kept.

    python benchmarks/memory_get.py [REQUESTS]

The client is a separate process with 8 connections. The figure is the minimum of ten rounds, since other load only adds
to it.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from memory_store import MemoryStore
from serving import generation
from tornado.netutil import bind_sockets

from tornado_proxy.telemetry.events import Bus, Served
from tornado_proxy.telemetry.log import access_log
from tornado_proxy.telemetry.metrics import KeptRequests, RequestMetrics
from tornado_proxy.web.generation import Generations
from tornado_proxy.web.handlers import ProxyApplication
from tornado_proxy.wire.server import HttpServer

ROUNDS = 10
CONNECTIONS = 8
REQUEST = b"GET /a HTTP/1.1\r\nHost: files.test\r\nUser-Agent: benchmark\r\nAccept: */*\r\n\r\n"


def send_requests(port: int, requests: int) -> None:
    """Sends requests in turn over several connections."""
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(CONNECTIONS)]
    for _ in range(requests // CONNECTIONS):
        for client in clients:
            client.sendall(REQUEST)
        for client in clients:
            received = client.recv(65536)
            assert received.startswith(b"HTTP/1.1 200"), received
            while not received.endswith(b"x" * 1024):
                received += client.recv(65536)


async def measure(requests: int) -> float:
    """Returns the minimum CPU time of a request, in seconds."""
    store = MemoryStore()
    store.add("a", b"x" * 1024)
    bus = Bus()
    bus.add(access_log("text", lambda _line: None), Served)
    RequestMetrics().listen(bus)
    bus.add(KeptRequests(500).add, Served)
    times: list[float] = []
    bus.add(lambda _event: times.append(time.process_time()), Served)
    generations = Generations(generation(store), bus.emit)
    limits = generations.in_force.parts.settings.limits
    server = HttpServer(ProxyApplication(generations, bus.emit), limits)
    (listener,) = bind_sockets(0, "127.0.0.1")
    port = listener.getsockname()[1]
    server.add_sockets([listener])
    gc.collect()
    gc.freeze()
    client = multiprocessing.get_context("spawn").Process(target=send_requests, args=(port, requests * ROUNDS))
    client.start()
    await asyncio.to_thread(client.join)
    await server.shut_down(1)
    rounds = zip(times[::requests], times[requests - 1 :: requests], strict=True)
    return min(after - before for before, after in rounds) / requests


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 800
    print(f"{asyncio.run(measure(count)) * 1e6:.0f} µs of CPU time per GET")
