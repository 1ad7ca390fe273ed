"""An S3 in memory that differs from Amazon's by quirks, each named as the stores are known for it."""

import asyncio
import hashlib
import zlib
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tornado_proxy.s3.upload import whole_etag
from tornado_proxy.storage.store import UploadedPart

QUIRKS = {
    "conditions-unknown": "501 to If-Match and If-None-Match of a write",
    "conditions-invalid": "400 InvalidArgument to them",
    "conditions-ignored": "writes in spite of them",
    "conditions-304": "304 instead of 412",
    "completions-ignore-conditions": "ignores them in CompleteMultipartUpload",
    "etags-bare": "compares If-Match with ETags that have no quotes",
    "if-match-ignored": "ignores If-Match",
    "checksum-needed": "400 to a PUT without Content-MD5 or x-amz-checksum-*, as with Object Lock",
    "crc32-needed": "400 to a PUT without x-amz-checksum-crc32",
    "checksum-in-vain": "400 to a PUT with any checksum or none",
    "checksums-unknown": "501 to x-amz-checksum-*",
    "busy-once": "503 to the first PUT",
    "locked": "403 to a write or removal of an object that exists, as with Object Lock and no versions",
    "checksum-mode-unknown": "400 to x-amz-checksum-mode of a read",
    "missing-denied": "403 to a HEAD of a missing object, as without the permission to list",
    "even-parts": "400 to parts of several sizes",
    "ascii-only": "400 to other characters in headers",
    "acl-demanded": "403 to a write without x-amz-acl, as a policy of a bucket may say",
    "properties-unknown": "501 to x-amz-acl and x-amz-storage-class",
    "removal-200": "200 to a removal",
    "removal-404": "404 to the removal of a missing object",
    "removal-ignored": "200 to a removal that removes nothing",
}
"""The quirks, and what each does."""

_UNKNOWN_MODE = "Unsupported header 'x-amz-checksum-mode' received for this API call."
_PROPERTIES = {"x-amz-acl", "x-amz-storage-class"}
_CHECKSUMS = {
    "content-md5": lambda body: b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode(),
    "x-amz-checksum-crc32": lambda body: b64encode(zlib.crc32(body).to_bytes(4, "big")).decode(),
}


class Refusal(Exception):
    """An error answer: its status and code."""

    def __init__(self, status: int, code: str, message: str = "So it is") -> None:
        super().__init__(status, code, message)
        self.status, self.code, self.message = status, code, message


@dataclass(frozen=True)
class Request:
    """A request: the key and the query are decoded, the names of headers are in lower case."""

    method: str
    key: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass
class QuirkyS3:
    """The running S3 with its objects as bodies and headers, its uploads as the bodies of their parts, and its requests."""

    quirks: frozenset[str] = frozenset()
    url: str = ""
    objects: dict[str, tuple[bytes, Mapping[str, str]]] = field(default_factory=dict)
    uploads: dict[str, tuple[Mapping[str, str], dict[int, bytes]]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    connections: dict[asyncio.StreamWriter, asyncio.Task[Any] | None] = field(default_factory=dict)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers the requests of a connection."""
        self.connections[writer] = asyncio.current_task()
        with closing(writer), suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                line, *lines = head.decode("latin-1").splitlines()
                headers = {name.lower(): value for name, value in (each.split(": ", 1) for each in lines if each)}
                method, target, _ = line.split(" ")
                path, query = urlsplit(target).path, parse_qs(urlsplit(target).query, keep_blank_values=True)
                request = Request(
                    method,
                    unquote(path).removeprefix("/bucket").removeprefix("/"),
                    {name: values[0] for name, values in query.items()},
                    headers,
                    await reader.readexactly(int(headers.get("content-length", 0))),
                )
                self.requests.append(request)
                data, is_whole = self.reply(request)
                writer.write(data)
                await writer.drain()
                if not is_whole:
                    return

    def reply(self, request: Request) -> tuple[bytes, bool]:
        """The answer to a request, and whether the connection goes on."""
        try:
            return self._answer(request), True
        except Refusal as refusal:
            error = f"<Error><Code>{refusal.code}</Code><Message>{refusal.message}</Message></Error>".encode()
            return answer(refusal.status, error, is_head=request.method == "HEAD"), True

    def _answer(self, request: Request) -> bytes:
        self._refuse(request)
        if request.query.keys() & {"uploads", "uploadId"}:
            return self._of_upload(request)
        if "list-type" in request.query:
            return answer(200, b"<ListBucketResult></ListBucketResult>")
        match request.method:
            case "PUT":
                self._check_conditions(request)
                self.objects[request.key] = request.body, request.headers
                return answer(200, ETag=etag(request.body))
            case "DELETE":
                if "removal-404" in self.quirks:
                    self._find(request.key)
                if "removal-ignored" not in self.quirks:
                    self.objects.pop(request.key, None)
                return answer(200 if self.quirks & {"removal-200", "removal-ignored"} else 204)
        body, headers = self._find(request.key)
        kept = {name: value for name, value in headers.items() if name.startswith(("content-t", "x-amz-meta"))}
        found = headers.get("etag") or etag(body)
        return answer(200, body, is_head=request.method == "HEAD", ETag=found, **kept)

    def _of_upload(self, request: Request) -> bytes:
        if "uploads" in request.query:
            name = request.key
            while name in self.uploads:
                name += "~"
            self.uploads[name] = request.headers, {}
            element = "InitiateMultipartUploadResult"
            return answer(200, f"<{element}><UploadId>{name}</UploadId></{element}>".encode())
        name = request.query["uploadId"]
        if name not in self.uploads:
            raise Refusal(404, "NoSuchUpload")
        match request.method:
            case "PUT":
                self.uploads[name][1][int(request.query["partNumber"])] = request.body
                sent = {each: request.headers[each] for each in ("x-amz-checksum-crc32",) if each in request.headers}
                return answer(200, ETag=etag(request.body), **sent)
            case "POST":
                return self._complete(request, name)
            case "DELETE":
                del self.uploads[name]
                return answer(204)
        return answer(200, f"<ListPartsResult>{self._listed(name)}</ListPartsResult>".encode())

    def _refuse(self, request: Request) -> None:
        """Raises what a quirk refuses before S3 looks at the object."""
        headers, is_put, is_head = request.headers, request.method == "PUT", request.method == "HEAD"
        sums = {name for name in headers if name in _CHECKSUMS or name.startswith("x-amz-checksum-")}
        sums.discard("x-amz-checksum-mode")
        has_condition = request.method in ("PUT", "POST") and headers.keys() & {"if-match", "if-none-match"}
        needed = "Content-MD5 OR x-amz-checksum- HTTP header is required"
        for quirk, is_refused, status, code, message in (
            ("ascii-only", not "".join(headers.values()).isascii(), 400, "InvalidRequest", "invalid header"),
            ("conditions-unknown", has_condition, 501, "NotImplemented", "a header is not implemented"),
            ("conditions-invalid", has_condition, 400, "InvalidArgument", "invalid argument"),
            ("checksums-unknown", sums - {"content-md5"}, 501, "NotImplemented", "x-amz-checksum- is not implemented"),
            ("checksum-mode-unknown", "x-amz-checksum-mode" in headers, 400, "InvalidArgument", _UNKNOWN_MODE),
            ("checksum-needed", is_put and not sums, 400, "InvalidRequest", needed),
            ("checksum-in-vain", is_put, 400, "InvalidRequest", needed),
            ("crc32-needed", is_put and "x-amz-checksum-crc32" not in sums, 400, "InvalidRequest", needed),
            ("properties-unknown", headers.keys() & _PROPERTIES, 501, "NotImplemented", "a header is not implemented"),
            ("locked", not is_head and self._replaces(request), 403, "AccessDenied", "the object is locked"),
            ("missing-denied", is_head and request.key not in self.objects, 403, "AccessDenied", ""),
            ("acl-demanded", is_put and "x-amz-acl" not in headers, 403, "AccessDenied", "explicit deny"),
            ("busy-once", is_put and len(self.requests) == 1, 503, "SlowDown", "reduce your rate"),
        ):
            if quirk in self.quirks and is_refused:
                raise Refusal(status, code, message)
        if any(headers[name] != made(request.body) for name, made in _CHECKSUMS.items() if name in sums):
            raise Refusal(400, "BadDigest")

    def _replaces(self, request: Request) -> bool:
        is_part = "uploadId" in request.query and request.method != "POST"
        return request.key in self.objects and not is_part and "uploads" not in request.query

    def _check_conditions(self, request: Request) -> None:
        found, quirks = self.objects.get(request.key), self.quirks
        ignoring = "completions-ignore-conditions" if "uploadId" in request.query else "conditions-ignored"
        if quirks & {"conditions-ignored", ignoring}:
            return
        if "if-none-match" in request.headers and found is not None:
            raise Refusal(304 if "conditions-304" in quirks else 412, "PreconditionFailed")
        if "if-match" in request.headers and "if-match-ignored" not in quirks:
            body, _ = self._find(request.key)
            if request.headers["if-match"] != (etag(body).strip('"') if "etags-bare" in quirks else etag(body)):
                raise Refusal(412, "PreconditionFailed")

    def _complete(self, request: Request, upload: str) -> bytes:
        headers, parts = self.uploads[upload]
        self._check_conditions(request)
        if "x-amz-checksum-algorithm" in headers and request.body.count(b"<ChecksumCRC32>") < len(parts):
            raise Refusal(400, "InvalidRequest", "The upload was created with a checksum, which the parts must have")
        *sizes, last = [len(parts[number]) for number in sorted(parts)]
        if "even-parts" in self.quirks and (len(set(sizes)) > 1 or (sizes and last > sizes[0])):
            raise Refusal(400, "InvalidPart", "All non-trailing parts must have the same length")
        body = b"".join(parts[number] for number in sorted(parts))
        made = whole_etag([UploadedPart(number, 0, etag(part)) for number, part in sorted(parts.items())])
        self.objects[request.key] = body, {**headers, "etag": made or ""}
        del self.uploads[upload]
        document = f"<CompleteMultipartUploadResult><ETag>{made}</ETag></CompleteMultipartUploadResult>"
        return answer(200, document.encode())

    def _find(self, key: str) -> tuple[bytes, Mapping[str, str]]:
        if key not in self.objects:
            raise Refusal(404, "NoSuchKey")
        return self.objects[key]

    def _listed(self, upload: str) -> str:
        parts = sorted(self.uploads[upload][1].items())
        listed = (
            f"<PartNumber>{number}</PartNumber><ETag>{etag(body)}</ETag><Size>{len(body)}</Size>"
            f"<ChecksumCRC32>{_CHECKSUMS['x-amz-checksum-crc32'](body)}</ChecksumCRC32>"
            for number, body in parts
        )
        return "".join(f"<Part>{each}</Part>" for each in listed)


def etag(body: bytes) -> str:
    """The ETag of a body, whole or a part."""
    return f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'


def answer(status: int, body: bytes = b"", *, is_head: bool = False, **headers: str) -> bytes:
    """An answer; that to a HEAD has the length of the body without it."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    length = "" if status in (204, 304) else f"Content-Length: {len(body)}\r\n"
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{lines}{length}\r\n"
    return head.encode() + (b"" if is_head or not length else body)


@asynccontextmanager
async def quirky_s3(*quirks: str, s3: QuirkyS3 | None = None) -> AsyncIterator[Any]:
    """Runs the S3 with some quirks, or the given one, on a free port."""
    assert QUIRKS.keys() >= set(quirks)
    s3 = s3 or QuirkyS3(frozenset(quirks))
    server = await asyncio.start_server(s3.serve, "127.0.0.1", 0, limit=1 << 20, backlog=1024)
    s3.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield s3
    finally:
        server.close()
        for writer, task in s3.connections.items():
            writer.close()
            assert task is not None
            await task
