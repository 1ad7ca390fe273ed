"""The clients of `serving.py`: `python serving_load.py PORT LOAD`, with the load in JSON, prints results in JSON."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator

from httptools import HttpParserError, HttpResponseParser

_BLOCK = bytes(256 * 1024)
_BOUNDARY = "------------------------d74496d66958873e"  # as long as curl's: a short one is slow to search for
_PART = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'.encode()
_END = f"\r\n--{_BOUNDARY}--\r\n".encode()
_SILENCE = 30  # seconds after which a request counts as failed


class Client(asyncio.Protocol):
    """A connection that sends requests one after another."""

    def __init__(self, port: int, head: str, *, is_head: bool) -> None:
        self._port = port
        self._head = head
        self._is_head = is_head
        self._transport: asyncio.Transport | None = None
        self._sent = asyncio.Event()
        self._sent.set()

    async def send_request(self, number: int, upload: int) -> int:
        """Sends a request, with a body of zeros for an upload; returns the status, or 0 for a failure."""
        loop = asyncio.get_running_loop()
        if self._transport is None or self._transport.is_closing():
            try:
                await loop.create_connection(lambda: self, "127.0.0.1", self._port)
            except OSError:
                return 0
        self._response_status = loop.create_future()
        self._parser = HttpResponseParser(self)
        self._transport.write(self._head.replace("{}", str(number)).encode())
        if upload:
            await self._send(upload)
        try:
            async with asyncio.timeout(_SILENCE):
                return await self._response_status
        except TimeoutError:
            self._transport.abort()
            return 0

    async def _send(self, upload: int) -> None:
        for piece in (_PART, *(_BLOCK for _ in range(upload // len(_BLOCK))), _END):
            self._transport.write(piece)
            await self._sent.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport."""
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        """Fails the current request."""
        self._sent.set()
        self._end(0)

    def pause_writing(self) -> None:
        """Waits for the server to read."""
        self._sent.clear()

    def resume_writing(self) -> None:
        """Continues to send."""
        self._sent.set()

    def data_received(self, data: bytes) -> None:
        """Parses the response."""
        try:
            self._parser.feed_data(data)
        except HttpParserError:
            self._transport.abort()

    def on_headers_complete(self) -> None:
        """Ends the response to a HEAD."""
        if self._is_head:
            self._end(self._parser.get_status_code())

    def on_message_complete(self) -> None:
        """Ends any other response."""
        self._end(self._parser.get_status_code())

    def _end(self, status: int) -> None:
        if not self._response_status.done():
            self._response_status.set_result(status)


async def run(port: int, load: dict) -> dict:
    """Sends all requests of a load by concurrent clients."""
    upload = load.get("upload", 0)
    headers = {"Host": f"127.0.0.1:{port}", **load.get("headers", {})}
    if upload:
        upload = upload // len(_BLOCK) * len(_BLOCK)
        length = len(_PART) + upload + len(_END)
        headers |= {"Content-Type": f"multipart/form-data; boundary={_BOUNDARY}", "Content-Length": str(length)}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"{load['method']} {load['path']} HTTP/1.1\r\n{lines}\r\n"
    turns = iter(range(load["requests"]))
    times: list[float] = []
    statuses: list[int] = []

    async def client(turns_left: Iterator[int]) -> None:
        connection = Client(port, head, is_head=load["method"] == "HEAD")
        for number in turns_left:
            began = time.perf_counter()
            statuses.append(await connection.send_request(number, upload))
            times.append(time.perf_counter() - began)

    began = time.perf_counter()
    await asyncio.gather(*(client(turns) for _ in range(load["clients"])))
    seconds = time.perf_counter() - began
    times.sort()
    wrong = sum(status not in load["statuses"] for status in statuses)
    return {"rate": len(times) / seconds, "p99": times[int(len(times) * 0.99)], "wrong": wrong, "seconds": seconds}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(int(sys.argv[1]), json.loads(sys.argv[2])))))
