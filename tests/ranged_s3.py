"""An S3 with versions that serves ranges of objects, over connections that break off where a test says."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import parse_qs, urlsplit

from hostile_s3 import HostileS3
from scripted_s3 import MODIFIED, Reply, Then, error_reply


@lru_cache(64)
def etag_of(body: bytes) -> str:
    """The ETag of a body."""
    return f'"{hashlib.md5(body).hexdigest()}"'


Break = Callable[[int], "tuple[int, Then] | None"]
"""After how many bytes of its body the answer to the request of a number breaks off, and how; None for a whole one."""


@dataclass
class RangedS3:
    """What answers a `hostile_s3`: the current body of every key, and those of its versions."""

    body: bytes | None  # None is a delete marker
    breaks: Break = lambda _: None
    versions: dict[str, bytes] = field(default_factory=dict)
    has_etag: bool = True
    etag: str = ""  # of all bodies, instead of their MD5
    added: dict[str, str] = field(default_factory=dict)  # headers of each answer
    s3: HostileS3 | None = None

    def replace(self, body: bytes | None) -> None:
        """Puts another object, or a delete marker, in the place of this one."""
        self.body = body

    def __call__(self, number: int) -> Reply:
        """The reply to a request."""
        assert self.s3 is not None
        request = self.s3.requests[number]
        line, *lines = request.splitlines()
        headers = {name.lower(): value for name, value in (each.split(": ", 1) for each in lines if each)}
        method, target, _ = line.split(" ")
        version = parse_qs(urlsplit(target).query).get("versionId", [None])[0]
        body = self.versions[version] if version else self.body
        if body is None:
            return error_reply(404, "NoSuchKey")
        etag = self.etag or etag_of(body)
        if headers.get("if-match", etag) != etag:
            return error_reply(412, "PreconditionFailed")
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("range", ""))
        first, last = (int(asked[1]), int(asked[2] or len(body) - 1)) if asked else (0, len(body) - 1)
        head = {"Content-Length": last - first + 1, "Last-Modified": MODIFIED, **self.added}
        if self.has_etag:
            head["ETag"] = etag
        if asked:
            head["Content-Range"] = f"bytes {first}-{last}/{len(body)}"
        version_ids = [name for name, content in self.versions.items() if content == body]
        if version_ids:
            head["x-amz-version-id"] = version_ids[0]
        lines = "".join(f"{key}: {value}\r\n" for key, value in head.items())
        sent = f"HTTP/1.1 {206 if asked else 200} OK\r\n{lines}"
        end, then = self.breaks(number) or (len(body), Then.KEEP_OPEN)
        content = b"" if method == "HEAD" else body[first : last + 1][:end]
        return Reply(f"{sent}\r\n".encode() + content, then)

    def gets(self) -> list[str | None]:
        """The `Range` of each GET so far."""
        assert self.s3 is not None
        return [self.s3.header(number, "range") for number in range(len(self.s3.requests))]
