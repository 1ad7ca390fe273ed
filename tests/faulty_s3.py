"""An S3 with a different fault for each key: it never answers `GET /bucket/silent`, and always `GET /bucket/healthy`.

Every method meets the fault of its key, after the request's body was read.
"""

from urllib.parse import parse_qs, urlsplit

from scripted_s3 import MODIFIED, Reply, Then

BODY = b"healthy"
LENGTH = 600 * 1024


def answer(status: str, *lines: str, body: bytes = b"") -> bytes:
    """An answer with only these header lines."""
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode() + body


_LONG = answer("200 OK", f"Content-Length: {LENGTH}", 'ETag: "1"', body=bytes(1000))
_ERROR = b"<Error><Code>InternalError</Code><Message>An internal error</Message></Error>"
_NO_BUCKET = b"<Error><Code>NoSuchBucket</Code></Error>"


def _ok(*lines: str) -> Reply:
    return Reply(answer("200 OK", *lines, body=b"ab"), Then.CLOSE)


def _part(*lines: str, body: bytes) -> Reply:
    return Reply(answer("206 Partial", *lines, body=body), Then.CLOSE)


FAULTS: dict[str, Reply] = {
    "silent": Reply(b"", Then.SILENCE),
    "closed": Reply(b"", Then.CLOSE),
    "reset": Reply(b"", Then.RESET),
    "drip": Reply(b"", drop=b"H"),
    "drip-headers": Reply(b"HTTP/1.1 200 OK\r\n", drop=b"A"),
    "drip-body": Reply(_LONG, drop=b"x"),
    "stalled-head": Reply(b"HTTP/1.1 200 OK\r\nContent-Le", Then.SILENCE),
    "stalled-body": Reply(_LONG, Then.SILENCE),
    "reset-in-head": Reply(b"HTTP/1.1 200 OK\r\nContent-Le", Then.RESET),
    "reset-in-body": Reply(_LONG, Then.RESET),
    "short-body": Reply(_LONG, Then.CLOSE),
    "garbage": Reply(b"\x00\x01\x02 nonsense\r\n\r\n", Then.CLOSE),
    "no-number": Reply(b"HTTP/1.1 two hundred\r\n\r\n", Then.CLOSE),
    "long-line": Reply(b"HTTP/1.1 200 " + b"x" * 100_000 + b"\r\n\r\n", Then.CLOSE),
    "many-headers": _ok(*[f"x-{number}: 1" for number in range(20_000)], "Content-Length: 2"),
    "negative-length": _ok("Content-Length: -5"),
    "no-length": _ok("Connection: close"),
    "broken-head": _ok("Content-Length: 2", "a line without a colon", 'ETag: "1"'),
    "two-lengths": _ok("Content-Length: 1", "Content-Length: 2"),
    "word-length": _ok("Content-Length: two"),
    "word-date": _ok("Content-Length: 2", "Last-Modified: yesterday"),
    "number-date": _ok("Content-Length: 2", "Last-Modified: 99999999999999999999"),
    "part-unasked": _part("Content-Length: 2", "Content-Range: bytes 0-1/10", body=b"ab"),
    "part-unnamed": _part("Content-Length: 2", body=b"ab"),
    "part-shorter": _part("Content-Length: 5", "Content-Range: bytes 0-1/10", body=b"abcde"),
    "error": Reply(answer("500 Oops", f"Content-Length: {len(_ERROR)}", body=_ERROR), Then.CLOSE),
    "error-page": Reply(answer("503 Oops", "Content-Type: text/html", "Content-Length: 6", body=b"<html>"), Then.CLOSE),
    "empty-error": Reply(answer("500 Oops", "Content-Length: 0"), Then.CLOSE),
    "slow-down": Reply(answer("503 Slow Down", "Content-Length: 0"), Then.CLOSE),
    "no-bucket": Reply(answer("404 Not Found", f"Content-Length: {len(_NO_BUCKET)}", body=_NO_BUCKET), Then.CLOSE),
    "teapot": Reply(answer("418 Teapot", "Content-Length: 0"), Then.CLOSE),
    "moved": Reply(answer("301 Moved", "Location: http://127.0.0.1:9/", "Content-Length: 0"), Then.CLOSE),
}
"""The faults, by key."""


def reply_to(request: str) -> Reply:
    """The reply to a request, which meets the fault of its key."""
    method, target, _ = request.splitlines()[0].split(" ")
    path = urlsplit(target)
    key = path.path.removeprefix("/bucket").strip("/").partition("/")[0]
    key = key or parse_qs(path.query).get("prefix", [""])[0].strip("/")
    if key in FAULTS:
        return FAULTS[key]
    body = b"" if method in ("PUT", "DELETE") else BODY
    status = "204 No Content" if method == "DELETE" else "200 OK"
    head = answer(status, f"Content-Length: {len(body)}", 'ETag: "1"', f"Last-Modified: {MODIFIED}")
    return Reply(head + (b"" if method == "HEAD" else body))
