"""An S3 that breaks off its answers to writes after any number of bytes, and may not have carried the write out.

The key of an object says which of its answers break off: `WRITE.FRAMING/BYTES/FATE/TIMES`, a `Cut`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from tornado_proxy.s3.upload import whole_etag
from tornado_proxy.storage.store import UploadedPart

Write = Literal["put", "remove", "create", "part", "complete", "abort"]


class Cut(NamedTuple):
    """The answers to a kind of write end after some bytes; what was written is `lost` unless they tell the outcome."""

    write: Write
    framing: Literal["length", "chunked", "close"] = "length"
    after: int = 10**9
    fate: Literal["done", "lost"] = "lost"
    times: Literal["once", "always"] = "always"

    @property
    def key(self) -> str:
        """The key whose answers are cut."""
        return "/".join(map(str, self))

    @classmethod
    def of(cls, key: str) -> Cut:
        """The cut that a key says."""
        write, framing, after, fate, times = key.split("/")
        return cls(write, framing, int(after), fate, times)  # type: ignore[arg-type]


@dataclass
class CuttingS3:
    """The running S3: its objects, as ETag and size, and its uploads, as those of their parts."""

    url: str = ""
    objects: dict[str, tuple[str, int]] = field(default_factory=dict)
    uploads: dict[str, dict[int, tuple[str, int]]] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)  # bytes of the last answer that may be cut, by key
    _cuts: Counter[str] = field(default_factory=Counter)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers the requests of a connection until an answer breaks off."""
        try:
            while await self._answer(reader, writer):
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        line, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        headers = dict(each.lower().split(": ", 1) for each in lines if each)
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        method, target, _ = line.split(" ")
        path, query = urlsplit(target).path, parse_qs(urlsplit(target).query, keep_blank_values=True)
        key = unquote(path).removeprefix("/bucket/")
        if "list-type" in query:  # tells a missing object from a missing bucket
            writer.write(_document("ListBucketResult", "", "length"))
            return True
        cut = Cut.of(key)
        write, answer, carry_out = self._plan(method, key, query, body, cut.framing)
        is_cut = write == cut.write and (cut.times == "always" or not self._cuts[key])
        sent = answer[: cut.after] if is_cut else answer
        told = answer.rfind(b">") + 1 or len(answer)  # the last byte of the outcome: of the document, or of the head
        self._cuts[key] += is_cut
        if is_cut:
            self.sent[key] = len(sent)
        if cut.fate == "done" or len(sent) >= told:
            carry_out()
        writer.write(sent)
        return len(sent) == len(answer) and b"Connection: close" not in answer

    def _plan(
        self, method: str, key: str, query: dict[str, list[str]], body: bytes, framing: str
    ) -> tuple[Write | None, bytes, Callable[[], object]]:
        """The kind of a request, its whole answer, and what carries it out."""
        upload = query.get("uploadId", [""])[0]
        if upload and upload not in self.uploads:
            return None, _answer("404 Not Found", f"Content-Length: {len(_NO_UPLOAD)}", body=_NO_UPLOAD), _nothing
        parts = self.uploads.get(upload, {})
        etag = f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'
        stored = _answer("200 OK", f"ETag: {etag}", "Content-Length: 0")
        whole = whole_etag([UploadedPart(number, size, etag) for number, (etag, size) in parts.items()]) or ""

        def complete() -> None:
            self.objects[key] = whole, sum(size for _, size in parts.values())
            del self.uploads[upload]

        plans: dict[tuple[str, bool], tuple[Write | None, bytes, Callable[[], object]]] = {
            ("HEAD", False): (None, self._head(key), _nothing),
            ("PUT", False): ("put", stored, lambda: self.objects.update({key: (etag, len(body))})),
            ("DELETE", False): ("remove", _removed(framing), lambda: self.objects.pop(key, None)),
            ("POST", False): (
                "create",
                _document("InitiateMultipartUploadResult", f"<UploadId>{key}</UploadId>", framing),
                lambda: self.uploads.setdefault(key, {}),
            ),
            ("PUT", True): (
                "part",
                stored,
                lambda: parts.update({int(query["partNumber"][0]): (etag, len(body))}),
            ),
            ("GET", True): (
                None,
                _document("ListPartsResult", "".join(map(_listed, parts.items())), "length"),
                _nothing,
            ),
            ("DELETE", True): ("abort", _removed(framing), lambda: self.uploads.pop(upload)),
            ("POST", True): (
                "complete",
                _document("CompleteMultipartUploadResult", f"<ETag>{whole}</ETag>", framing),
                complete,
            ),
        }
        return plans[method, bool(upload)]

    def _head(self, key: str) -> bytes:
        if key not in self.objects:
            return _answer("404 Not Found", "Content-Length: 0")
        etag, size = self.objects[key]
        return _answer("200 OK", f"ETag: {etag}", f"Content-Length: {size}")


def _listed(part: tuple[int, tuple[str, int]]) -> str:
    number, (etag, size) = part
    return f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag><Size>{size}</Size></Part>"


_NO_UPLOAD = b"<Error><Code>NoSuchUpload</Code></Error>"


def _nothing() -> None:
    """A read carries nothing out."""


def _answer(status: str, *lines: str, body: bytes = b"") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode() + body


def _removed(framing: str) -> bytes:
    """204 as S3's, or a 200 as that of others."""
    return _answer("204 No Content") if framing == "length" else _answer("200 OK", "Content-Length: 2", body=b"ok")


def _document(name: str, content: str, framing: str) -> bytes:
    """A document as S3 sends it: white space while it is at work, then the outcome."""
    body = f" <{name}>{content}</{name}>".encode()
    match framing:
        case "chunked":
            pieces = b"1\r\n \r\n", b"%x\r\n%b\r\n" % (len(body) - 1, body[1:]), b"0\r\n\r\n"
            return _answer("200 OK", "Transfer-Encoding: chunked", body=b"".join(pieces))
        case "close":
            return _answer("200 OK", "Connection: close", body=body)
    return _answer("200 OK", f"Content-Length: {len(body)}", body=body)


@asynccontextmanager
async def cutting_s3() -> AsyncIterator[CuttingS3]:
    """Runs the S3 on a free port."""
    s3 = CuttingS3()
    server = await asyncio.start_server(s3.serve, "127.0.0.1", 0, backlog=1024)
    s3.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield s3
    finally:
        server.close()
