"""An S3 that breaks off its answers to writes after any number of bytes, and may not have carried the write out.

The key of an object says which of its answers break off: `WRITE.FRAMING/BYTES/FATE/TIMES`, a `Cut`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from quirky_s3 import QuirkyS3, Request

Write = Literal["put", "remove", "create", "part", "complete", "abort"]

_WRITES: dict[tuple[str, bool, bool], Write] = {
    ("PUT", False, False): "put",
    ("DELETE", False, False): "remove",
    ("POST", True, False): "create",
    ("PUT", False, True): "part",
    ("POST", False, True): "complete",
    ("DELETE", False, True): "abort",
}
"""The kind of a write, by its method and whether its query has `uploads` and `uploadId`."""


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
class CuttingS3(QuirkyS3):
    """The running S3, and the bytes of the last answer that may be cut, by key."""

    sent: dict[str, int] = field(default_factory=dict)
    _cuts: Counter[str] = field(default_factory=Counter)

    def reply(self, request: Request) -> tuple[bytes, bool]:
        """An answer, or its beginning."""
        key = request.key
        write = _WRITES.get((request.method, "uploads" in request.query, "uploadId" in request.query))
        found, begun = self.objects.get(key), self.uploads.get(key)
        begun = begun and (begun[0], dict(begun[1]))
        plain, _ = super().reply(request)
        if write is None or not plain.startswith(b"HTTP/1.1 2"):
            return plain, True
        cut = Cut.of(key)
        whole = _framed(plain, cut.framing) if write in ("create", "complete", "remove", "abort") else plain
        is_cut = write == cut.write and (cut.times == "always" or not self._cuts[key])
        sent = whole[: cut.after] if is_cut else whole
        told = whole.rfind(b">") + 1 or len(whole)  # the last byte of the outcome: of the document, or of the head
        self._cuts[key] += is_cut
        if is_cut:
            self.sent[key] = len(sent)
        if cut.fate == "lost" and len(sent) < told:
            for kept, before in ((self.objects, found), (self.uploads, begun)):
                kept.pop(key, None)
                kept.update({key: before} if before else {})  # type: ignore[call-overload]
        return sent, len(sent) == len(whole) and b"Connection: close" not in whole


def _framed(plain: bytes, framing: str) -> bytes:
    """A document as S3 sends it, white space while it is at work, then the outcome; 204 as S3's, or a 200 as of others."""
    document = plain.partition(b"\r\n\r\n")[2]
    if not document:
        return plain if framing == "length" else b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    if framing == "chunked":
        pieces = b"1\r\n \r\n", b"%x\r\n%b\r\n" % (len(document), document), b"0\r\n\r\n"
        return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(pieces)
    head = b"Connection: close" if framing == "close" else b"Content-Length: %d" % (len(document) + 1)
    return b"HTTP/1.1 200 OK\r\n%b\r\n\r\n %b" % (head, document)
