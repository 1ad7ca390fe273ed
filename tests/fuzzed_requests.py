"""Nearly valid HTTP requests made from a seed, with the mistakes that break servers."""

import socket
from collections.abc import Sequence
from random import Random

METHODS = ("GET", "HEAD", "PUT", "DELETE", "POST", "OPTIONS", "BREW", "get", "CONNECT", "PRI", "", "G(T", "A" * 5000)
TARGETS = (
    "/", "/a", "/dir/", "/missing", "/secret/x", "/go/x", "*", "a", "http://h/a", "http://h:1@x/", "/%zz", "/%", "/%2e%2e/a",
    "/../a", "//a", "/a?format=json", "/?limit=0&after=%00", "/%ff", "/ä", "/a b", "/" + "a/" * 2000, "/?" + "a=b&" * 1200,
    "/%C3%28", "/a?" + "%" * 3000, "\x01", "/a#b", "/" + "%41" * 4000, "/?format=" + "x" * 9000,
)  # fmt: skip
VERSIONS = (
    "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/1.9", "http/1.1", "", "HTTP/1.1 ",
)  # fmt: skip
HEADERS = (
    "Host: h", "Host: h", "Host: h", "Host:", "Host: a b", "Host: [::1", "Host: a,b", "Connection: close", "Connection: keep-alive",
    "Connection: upgrade\r\nUpgrade: h2c", "Expect: 100-continue", "Expect: x", "Range: bytes=0-0", "Range: bytes=-0",
    "Range: bytes=9-1", "Range: bytes=" + "0-1," * 900, "If-None-Match: *", 'If-Match: "a", W/"', "If-Range: x",
    "If-Modified-Since: Sat, 99 Foo 0000 00:00:60 GMT", "If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT",
    'Accept: "\\' + '"\\' * 4000, "Accept: text/html;q=" + "0" * 4000, "Accept: " + "a/b," * 4000, "Accept-Encoding: gzip",
    "Authorization: Basic " + "QQ==" * 900, "Authorization: Basic YW5uOndyb25n", "Authorization: Basic YW5uOnBsYWlu",
    "Authorization: Bearer x", "Content-Type: multipart/form-data; boundary=b", "Content-Type: multipart/form-data",
    "Content-Type: multipart/form-data; " + ';a="' * 200, "Content-Type: text/plain", "Content-Length: 0", "Content-Length: 3",
    "Content-Length: 99999999999999999999", "Content-Length: -1", "Content-Length: 3\r\nContent-Length: 4",
    "Transfer-Encoding: chunked", "Transfer-Encoding: gzip", "Transfer-Encoding: chunked, chunked", "X: " + "y" * 60_000,
    "X: \x00", "X y: z", "nonsense", " folded: x", "X:\ty\r\n z", "\r\nX: y", "é: é", ": x", "Cookie: " + "a=b; " * 3000,
)  # fmt: skip
FORM = b'--b\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\nContent-Type: text/html\r\n\r\nhello\r\n--b--\r\n'
BODIES = (
    b"", b"", b"abc", FORM % b"f.txt", FORM % b"..", FORM % b"\xff", FORM[:-20] % b"f", b"--b\r\n" * 2000, b"--b--\r\n", b"\r\n--b" * 900,
    b"3\r\nabc\r\n0\r\n\r\n", b"3;x=y\r\nabc\r\n0\r\nT: x\r\n\r\n", b"xyz\r\n", b"3\r\nabcd\r\n", b"ffffffffffffffffff\r\n", b"0\r\n\r\n",
    b"1\r\na\r\n" * 5000, b"0\r\n" + b"T: x\r\n" * 5000, b"\x00" * 5000, b"%x\r\n" % len(FORM % b"c.txt") + FORM % b"c.txt" + b"\r\n0\r\n\r\n",
)  # fmt: skip
LAST = b"GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"


def fuzzed(seed: int, targets: Sequence[str] = TARGETS, headers: Sequence[str] = HEADERS) -> bytes:
    """The bytes that one connection sends: one or several requests, sometimes cut off or with random bytes inserted."""
    random = Random(seed)
    data = b"".join(_request(random, targets, headers) for _ in range(random.choice((1, 1, 1, 2, 3, 12))))
    if random.random() < 0.15:
        data = data[: random.randrange(len(data) + 1)]
    if random.random() < 0.15:
        changed = bytearray(data)
        for _ in range(random.randrange(1, 6)):
            changed[random.randrange(len(changed) or 1) : 0] = random.randbytes(random.randrange(3))
        data = bytes(changed)
    return data[: 64 * 1024] + (LAST if random.random() < 0.5 else b"")


def sent(address: tuple[str, int], data: bytes) -> bytes:
    """Sends bytes and their end; returns all that the server sends. Raises TimeoutError if that does not end."""
    received = b""
    try:
        with socket.create_connection(address, timeout=5) as client:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            while block := client.recv(1 << 20):
                received += block
    except TimeoutError:
        raise
    except OSError:
        pass  # the server resets a connection after what is too long
    return received


def _request(random: Random, targets: Sequence[str], headers: Sequence[str]) -> bytes:
    if random.random() < 0.3:
        # A valid request, so that the server often gets as far as the requests after it.
        return f"{random.choice(METHODS[:4])} {random.choice(targets[:6])} HTTP/1.1\r\nHost: h\r\n\r\n".encode()
    line = f"{random.choice(METHODS)} {random.choice(targets)} {random.choice(VERSIONS)}"
    lines = random.choices(headers, k=random.randrange(7))
    host = ["Host: h"] if random.random() < 0.8 else []
    body = random.choice(BODIES)
    if random.random() < 0.5 and body:
        lines.append(random.choice((f"Content-Length: {len(body)}", "Transfer-Encoding: chunked")))
    return "\r\n".join([line, *host, *lines, "", ""]).encode() + body
