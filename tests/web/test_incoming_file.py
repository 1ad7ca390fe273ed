"""Uploads: a valid form is stored while it arrives, and nothing of an invalid form is kept."""

import asyncio
import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from fakes import CountingStore, Staff
from hypothesis import given
from hypothesis import strategies as st
from memory_store import MemoryStore
from python_multipart.multipart import MultipartParser
from serving import FORM_TYPE, form, head, part, serve

from tornado_proxy.config.actions import Actions, PutAction, SystemMetadata
from tornado_proxy.config.model import Bucket, Mount
from tornado_proxy.config.providers import Resource
from tornado_proxy.config.server import Limits
from tornado_proxy.pages.custom import Recipe
from tornado_proxy.routing.upload_steps import Properties
from tornado_proxy.storage.store import Write
from tornado_proxy.web.incoming_file import FileHead, FormTooLarge, MalformedForm, MultipartForm, boundary

FILE = 'Content-Disposition: form-data; name="file"; filename="a.txt"'


def _part(head: str, content: bytes = b"") -> bytes:
    return b"--b\r\n" + head.encode() + b"\r\n\r\n" + content + b"\r\n"


def _field(name: str, content: bytes = b"") -> bytes:
    return _part(f'Content-Disposition: form-data; name="{name}"', content)


END = b"--b--\r\n"


async def _pieces(body: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


def _read(body: bytes, *, size: int = 1 << 20, limit: int = 4096, separator: bytes = b"b") -> tuple[FileHead, bytes]:
    async def scenario():
        form = MultipartForm(_pieces(body, size), separator, limit)
        part = await form.file()
        return part, b"".join([chunk async for chunk in form.content()])

    return asyncio.run(scenario())


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_chunks_may_break_anywhere(size):
    """The file is the same for every size of the body's chunks."""
    content = b"x--b is not a boundary\r\n-b\r\n--"
    body = _field("note", b"x") + _part(FILE, content) + _field("more", b"y") + END
    assert _read(body, size=size) == (FileHead("a.txt", None), content)


@given(content=st.binary(max_size=300), size=st.integers(1, 400))
def test_any_content_survives(content, size):
    """Every content without the boundary at the beginning of a line is read unchanged."""
    if not re.search(rb"(?:\A|[\r\n])--b", content):
        assert _read(_part(FILE, content) + END, size=size)[1] == content


@pytest.mark.parametrize("size", [1, 2, 7, 64])
@pytest.mark.parametrize("content", [b"--b", b"--bb", b"x\n--b--\r\n", b"x\r--b", b"\r\n--bc", b"\r\r--b x"])
def test_no_line_of_a_part_begins_with_the_boundary(content, size):
    """Other readers end the part there (RFC 2046 5.1.1)."""
    with pytest.raises(MalformedForm):
        _read(_part(FILE, content) + END, size=size)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "before its closing boundary"),
        (END, "no field `file`"),
        (_field("note", b"x") + END, "no field `file`"),
        (_part(FILE, b"x"), "before its closing boundary"),
        (_part(FILE, b"x")[:-6], "before its closing boundary"),
        (b"--b\r\n" + FILE.encode(), "before its closing boundary"),
        (_part(FILE, b"x") + b"--b", "before its closing boundary"),
        (_part(FILE, b"x") + _part(FILE, b"y") + END, "more than one field `file`"),
        (b"not a form at all", "malformed form"),
        (b"--other\r\n", "malformed form"),
        (b"--b\r\nbad header\r\n\r\n", "malformed form"),
        (_part("X-Nothing: 1", b"x") + END, "a part is not `form-data`"),
        (_part(FILE.replace("form-data", "attachment"), b"x") + END, "a part is not `form-data`"),
        (_part("Content-Disposition: form-data; =", b"x") + END, "malformed or repeated parameter"),
        (_part(f"{FILE}; name*=utf-8''x", b"x") + END, "malformed or repeated parameter"),
        (_part(f"{FILE}; filename*0=x", b"x") + END, "malformed or repeated parameter"),
        (_part(f"{FILE}\r\nContent-Transfer-Encoding: base64", b"eA==") + END, "Content-Transfer-Encoding"),
        (_field("fi\\le", b"x") + _part(FILE, b"x") + END, "has a backslash"),
        (_field("note", b"--b--") + _part(FILE, b"x") + END, "begins with the boundary"),
        (_part('Content-Disposition: form-data; name="file"; name="x"', b"x") + END, "repeated parameter"),
        (_part(f"{FILE}\r\n{FILE.upper()}", b"x") + END, "`content-disposition` of a part is there twice"),
        (_part(f"{FILE}\r\nContent-Type: a/b\r\nContent-type: c/d", b"x") + END, "`content-type` of a part"),
        (_part(f"{FILE}\r\nX: y\n", b"\r\nx") + END, "has a line feed in it"),
        (_part(f"{FILE}\r\nX: y\0", b"x") + END, "or a NUL"),
    ],
)
def test_an_invalid_form_is_refused(body, message):
    with pytest.raises(MalformedForm, match=message):
        _read(body)


@pytest.mark.parametrize(
    "body",
    [
        _field("note", b"x" * 200) + _part(FILE, b"x") + END,
        _part(FILE, b"x") + _field("note", b"x" * 200) + END,
        b"".join(_field(str(number)) for number in range(10)) + _part(FILE, b"x") + END,
        _part(FILE, b"x") + END + b"epilogue " * 30,
        b"\r\n" * 120 + _part(FILE, b"x") + END,
    ],
)
def test_everything_but_the_file_is_limited(body):
    """Other fields, headers of parts, preamble and epilogue count together."""
    with pytest.raises(FormTooLarge, match="more than 200 bytes besides its file"):
        _read(body, limit=200, size=16)


async def test_line_feeds_hold_nobody_up(monkeypatch):
    """Lines of a field are looked at one by one, but no more than the limit, and with turns of other requests between."""
    turn, lines, write = 0, Counter(), MultipartParser.write

    def counted(parser: MultipartParser, data: bytes) -> int:
        lines[turn] += 1
        return write(parser, data)

    async def take_turns() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    monkeypatch.setattr(MultipartParser, "write", counted)
    others = asyncio.ensure_future(take_turns())
    with pytest.raises(FormTooLarge, match="more than 50000 bytes"):
        await MultipartForm(_pieces(_field("note", b"\n" * 500_000), 1 << 20), b"b", 50_000).file()
    others.cancel()
    assert lines.total() < 60_000
    assert max(lines.values()) < 5000


def test_the_file_is_not_limited_by_the_parser():
    """The bytes of the file do not count, since `maxSize` of the target limits them."""
    assert len(_read(_part(FILE, b"x" * 100_000) + END, limit=200, size=4096)[1]) == 100_000


def test_a_long_header_is_refused():
    """The header line of a part has its own limit."""
    body = _part(f"{FILE}\r\nX-Long: {'x' * 20_000}", b"x") + END
    with pytest.raises(MalformedForm, match="header size"):
        _read(body, limit=1 << 20)


def test_a_name_that_is_not_utf8_is_escaped():
    """Bytes that are not UTF-8 become surrogates, which no key may contain."""
    body = _part(FILE, b"x").replace(b"a.txt", b"\xff.txt") + END
    assert _read(body)[0].file_name == "\udcff.txt"


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("multipart/form-data; boundary=b", b"b"),
        ('Multipart/Form-Data; charset=utf-8; boundary="b"', b"b"),
        ('multipart/form-data; boundary="a; the boundary"', b"a; the boundary"),
    ],
)
def test_the_boundary_is_read(content_type, expected):
    assert boundary(content_type) == expected


@pytest.mark.parametrize(
    ("content_type", "message"),
    [
        ("multipart/form-data", "has no boundary"),
        ("multipart/form-data; boundary=", "has no boundary"),
        ("multipart/form-data; boundary=a; Boundary=b", "has several boundaries"),
        ("multipart/form-data; boundary=a, multipart/form-data;boundary=b", "has several boundaries"),
        ("multipart/form-data; boundary*=utf-8''a; boundary =b", "has several boundaries"),
        ("multipart/form-data; boundary=b" + ";a" * 1000, "the Content-Type is too long"),
    ],
)
def test_a_form_has_one_boundary(content_type, message):
    """Two, also of two headers, are refused: what reads the form first may choose the other one."""
    with pytest.raises(MalformedForm, match=message):
        boundary(content_type)


def test_a_long_boundary_is_refused():
    with pytest.raises(MalformedForm, match="boundary is unusable"):
        _read(b"", separator=b"x" * 1000)


def test_mistakes_of_clients_are_not_logged(caplog):
    """An invalid form logs nothing, since the access log has the reason."""
    with pytest.raises(MalformedForm):
        _read(b"not a form at all")
    assert caplog.records == []


A_FILE = part("file", b"hello", filename="a.txt", content_type="text/plain")


def _put_actions(**options) -> Actions:
    return Actions(put=PutAction(enabled=True, **options))


RAW = _put_actions(raw_uploads=True)


def _chunked(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


async def test_an_upload_is_stored_in_its_directory():
    """A PUT of a form is a 201 with the address, size and ETag of the file, which GET returns."""
    async with serve({}) as site:
        answer = await site.upload("/docs/", A_FILE)
        stored = await site.get(answer.headers["location"])
    assert (answer.status, answer.headers["location"]) == (201, "/docs/a.txt")
    assert json.loads(answer.body) == {"location": "/docs/a.txt", "size": 5, "etag": stored.headers["etag"]}
    assert (stored.body, stored.headers["content-type"]) == (b"hello", "text/plain; charset=utf-8")


async def test_an_upload_can_be_answered_in_text():
    async with serve({}) as site:
        answer = await site.upload("/docs/", A_FILE, Accept="text/plain")
    assert (answer.headers["content-type"], answer.text) == ("text/plain; charset=utf-8", "/docs/a.txt\n")


async def test_the_path_of_an_upload_is_rewritten():
    """Rules rewrite directory and name, the prefix is added, and the answer reveals neither."""
    store = MemoryStore()
    rules = 'rewrite `^/in/(?P<name>.*)$` -> "/kept/$name"'
    async with serve(store, rules=rules, bucket=Bucket("b", prefix="p/"), mount=Mount("", ("/m/",))) as site:
        answer = await site.upload("/m/in/", A_FILE)
    assert store.keys() == ("p/kept/a.txt",)
    assert answer.headers["location"] == "/m/in/a.txt"
    assert "kept" not in answer.text + str(answer.headers)


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("../../etc/passwd", "/passwd"),
        ("C:\\dir\\a.txt", "/C%3A%5Cdir%5Ca.txt"),
        ("größe 日本.txt", "/gr%C3%B6%C3%9Fe%20%E6%97%A5%E6%9C%AC.txt"),
        ("a%22b.txt", "/a%22b.txt"),
        ("100%.txt", "/100%25.txt"),
        ("a;b=c.txt", "/a%3Bb=c.txt"),
        ("x" * 1024, "/" + "x" * 1024),
        ("", 400),
        (".", 400),
        ("..", 400),
        ("a/..", 400),
        ("dir/", 400),
        ("a\x00b", 400),
        ("a%0D%0Ab", 400),
        ("a\x1b[31mb", 400),
        ("x" * 1025, 400),
    ],
)
async def test_an_unsafe_name_is_shortened_or_refused(name, outcome):
    store = MemoryStore()
    async with serve(store) as site:
        answer = await site.upload("/", part("file", b"x", filename=name))
    if outcome == 400:
        assert (answer.status, store.keys()) == (400, ())
    else:
        expected = outcome.replace("%3A", ":")  # a colon may stand in a path as it is
        assert (answer.status, answer.headers["location"], len(store.keys())) == (201, expected, 1)


@pytest.mark.parametrize("body", [form(A_FILE)[:-40], form(A_FILE, part("file", b"x", filename="b.txt")), b""])
async def test_an_invalid_form_stores_nothing(body):
    store = MemoryStore()
    async with serve(store) as site:
        answer = await site.request("PUT", "/", FORM_TYPE, body)
    assert (answer.status, store.keys()) == (400, ())


@pytest.mark.parametrize(
    "content_type", ["application/octet-stream", "application/x-www-form-urlencoded", "multipart/mixed; boundary=b", ""]
)
async def test_another_content_type_is_unsupported(content_type):
    async with serve({}) as site:
        answer = await site.request("PUT", "/", {"Content-Type": content_type}, b"hello")
    assert answer.status == 415


@pytest.mark.parametrize(("allowed", "status", "content"), [(False, 409, b"first"), (True, 201, b"hello")])
async def test_an_existing_file_is_replaced_if_that_is_allowed(allowed, status, content):
    async with serve({"a.txt": b"first"}, actions=_put_actions(allow_override=allowed)) as site:
        answer, stored = await site.upload("/", A_FILE), await site.get("/a.txt")
    assert (answer.status, stored.body) == (status, content)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"If_None_Match": "*"}, 412),
        ({"If_Match": '"other"'}, 412),
        ({"If_Match": ""}, 412),
        ({"If_None_Match": '"other"'}, 201),
    ],
)
async def test_conditions_apply_to_an_upload(headers, status):
    async with serve({"a.txt": b"first"}, actions=_put_actions(allow_override=True)) as site:
        answer = await site.upload("/", A_FILE, **headers)
    assert answer.status == status


async def test_a_file_of_the_maximum_size_is_stored():
    """`maxSize` counts only the bytes of the file."""
    async with serve({}, actions=_put_actions(max_size=5)) as site:
        answer = await site.upload("/", part("note", b"x" * 500), A_FILE)
    assert answer.status == 201


@pytest.mark.parametrize("chunked", [False, True])
async def test_one_byte_more_is_too_large(chunked):
    store, body = MemoryStore(), form(A_FILE)
    headers = {**FORM_TYPE, **({"Transfer-Encoding": "chunked"} if chunked else {"Content-Length": str(len(body))})}
    async with serve(store, actions=_put_actions(max_size=4)) as site, site.connect() as client:
        await client.send(head("PUT", "/", headers) + (_chunked(body) if chunked else body))
        answer = await client.receive()
    assert (answer.status, store.keys()) == (413, ())


async def test_other_fields_are_limited():
    async with serve({}, limits=Limits(max_form_field_size=1000)) as site:
        answer = await site.upload("/", part("note", b"x" * 2000), A_FILE)
    assert answer.status == 413


@pytest.mark.parametrize("pieces", [1, 7])
async def test_an_upload_can_be_chunked(pieces):
    """A form with Transfer-Encoding is stored like one with Content-Length."""
    body = form(A_FILE)
    size = -(-len(body) // pieces)
    chunks = [body[start : start + size] for start in range(0, len(body), size)]
    async with serve({}) as site, site.connect() as client:
        await client.send(head("PUT", "/", {**FORM_TYPE, "Transfer-Encoding": "chunked"}) + _chunked(*chunks))
        answer, stored = await client.receive(), await client.request("GET", "/a.txt")
    assert (answer.status, stored.body) == (201, b"hello")


@pytest.mark.parametrize("chunked", [False, True])
async def test_an_upload_can_be_larger_than_any_buffer(chunked):
    """Tornado's limit of 100 MiB on bodies and buffers does not apply to uploads."""
    store, piece, count = CountingStore(), bytes(1 << 20), 101
    opening, closing = A_FILE[:-7], b"\r\n" + form()
    length = len(opening) + len(closing) + count * len(piece)
    framing = {"Transfer-Encoding": "chunked"} if chunked else {"Content-Length": str(length)}
    wrap = (lambda data: b"%x\r\n%s\r\n" % (len(data), data)) if chunked else bytes
    async with serve(store) as site, site.connect() as client:
        await client.send(head("PUT", "/", {**FORM_TYPE, **framing}) + wrap(opening))
        for _ in range(count):
            await client.send(wrap(piece))
        await client.send(wrap(closing) + (b"0\r\n\r\n" if chunked else b""))
        answer = await client.receive()
    assert (answer.status, store.bytes_received) == (201, count * len(piece))


async def test_a_slow_store_slows_down_the_client():
    """While the store does not read, the server reads only a few chunks from the socket."""
    store, total = CountingStore(), 24 << 20  # bytes: several times what the sockets' own buffers hold
    store.may_continue.clear()
    body = form(part("file", bytes(total), filename="a.bin"))
    async with serve(store) as site, site.connect() as client:
        client.writer.write(head("PUT", "/", FORM_TYPE, len(body)) + body)
        await store.first_chunk_arrived.wait()
        for _ in range(1000):
            await asyncio.sleep(0)
        unsent, bytes_read = client.writer.transport.get_write_buffer_size(), store.bytes_received
        store.may_continue.set()
        answer = await client.receive()
    assert unsent > total // 2
    assert bytes_read <= 1 << 20
    assert answer.status == 201


async def test_an_interrupted_upload_stores_nothing():
    store = CountingStore()
    async with serve(store) as site:
        async with site.connect() as client:
            await client.send(head("PUT", "/", FORM_TYPE, 10_000) + A_FILE[:-2])
            await store.first_chunk_arrived.wait()
            client.abort()
        await store.finished.wait()
        event = await site.last_event()
    assert (store.outcomes, store.keys()) == (["ClientDisconnected"], ())
    assert event.is_error
    assert (event.status, event.reason) == (499, "the client closed the connection")


async def test_a_stalled_upload_times_out():
    store = CountingStore()
    async with serve(store, limits=Limits(body_timeout=0.3)) as site, site.connect() as client:
        await client.send(head("PUT", "/", FORM_TYPE, 10_000) + A_FILE[:-2])
        answer = await client.receive()
    assert (answer.status, answer.headers["connection"]) == (408, "close")
    assert store.outcomes == ["BodyTimeout"]


async def test_a_malformed_chunk_stores_nothing():
    store = CountingStore()
    async with serve(store) as site:
        async with site.connect() as client:
            await client.send(head("PUT", "/", {**FORM_TYPE, "Transfer-Encoding": "chunked"}))
            await client.send(_chunked(A_FILE[:-2]).removesuffix(b"0\r\n\r\n"))
            await store.first_chunk_arrived.wait()
            await client.send(b"xyz\r\n")
            assert (await client.receive_head())[0] == 400
        event = await site.last_event()
    assert (store.outcomes, event.status) == (["MalformedMessage"], 400)


@pytest.mark.parametrize("expectation", ["100-continue", "100-Continue"])
async def test_expect_is_answered_with_100(expectation):
    body = form(A_FILE)
    async with serve({}) as site, site.connect() as client:
        await client.send(head("PUT", "/", {**FORM_TYPE, "Expect": expectation}, len(body)))
        status, _ = await client.receive_head()
        await client.send(body)
        answer = await client.receive()
    assert (status, answer.status) == (100, 201)


@pytest.mark.parametrize(("version", "expectation"), [(b"1.0", "100-continue"), (b"1.1", "a-miracle")])
async def test_other_expectations_get_no_100(version, expectation):
    """HTTP/1.0 has no 100 (RFC 9110 10.1.1), and other expectations have no meaning."""
    body = form(A_FILE)
    request_head = head("PUT", "/", {**FORM_TYPE, "Expect": expectation}, len(body)).replace(b"1.1", version)
    async with serve({}) as site, site.connect() as client:
        await client.send(request_head + body)
        answer = await client.receive()
    assert answer.status == 201


STAFF = {"staff": Staff()}


def _resource(path: str) -> Resource:
    return Resource(path, ("PUT",), provider="staff")


EARLY_REFUSALS = [
    (401, "/", {}, {"resources": [_resource("/**")], "authenticators": STAFF}),
    (403, "/", {}, {"resources": [_resource("/other/**")], "authenticators": STAFF}),
    (405, "/", {}, {"actions": Actions()}),
    (400, "/file", {}, {}),
    (400, "/%zz/", {}, {}),
    (404, "/", {}, {"mount": Mount("elsewhere.test")}),
    (413, "/", {}, {"actions": _put_actions(max_size=1)}),
    (415, "/", {"Content-Type": "text/plain"}, {}),
    (403, "/a.txt", {"Content-Type": "text/plain"}, {"actions": RAW, "resources": [_resource("/other/**")]}),
]


@pytest.mark.parametrize(("status", "target", "headers", "parts"), EARLY_REFUSALS)
async def test_expect_can_be_answered_with_a_refusal(status, target, headers, parts):
    """An error replaces the 100 and ends the connection."""
    request_headers = {**FORM_TYPE, **headers, "Expect": "100-continue"}
    async with serve({}, **parts) as site, site.connect() as client:
        await client.send(head("PUT", target, request_headers, 10**7))
        received_status, received_headers = await client.receive_head()
        client.writer.write_eof()
        body = await client.reader.read(-1)
    assert (received_status, received_headers["connection"], len(body)) == (
        status,
        "close",
        int(received_headers["content-length"]),
    )


@pytest.mark.parametrize(("status", "target", "headers", "parts"), EARLY_REFUSALS)
async def test_a_client_without_expect_gets_the_refusal(status, target, headers, parts):
    """A client that sends the whole body before it reads gets the answer, not a reset connection."""
    body = form(part("file", bytes(6 << 20), filename="a.bin"))
    async with serve({}, **parts) as site, site.connect() as client:
        answer = await client.request("PUT", target, {**FORM_TYPE, **headers}, body)
        assert (answer.status, answer.complete, await client.is_closed()) == (status, True, True)


async def test_an_upload_needs_access_to_its_file():
    resources = [Resource("/*.exe", ("PUT",), provider="staff"), Resource("/**", ("PUT",), white_list=True)]
    store = MemoryStore()
    async with serve(store, resources=resources, authenticators=STAFF) as site:
        refused = await site.upload("/", part("file", b"x", filename="a.exe"))
        public = await site.upload("/", A_FILE)
        signed_in = await site.upload("/", part("file", b"x", filename="a.exe"), Authorization="ann")
    assert (refused.status, public.status, signed_in.status) == (401, 201, 201)
    assert store.keys() == ("a.exe", "a.txt")


async def test_a_rewritten_upload_can_be_refused():
    rules = 'rewrite `^/a\\.txt$` -> "/dir/"\nrewrite `^/b\\.txt$` -> "/x/../y"'
    async with serve({}, rules=rules) as site:
        answers = [await site.upload("/", part("file", b"x", filename=name)) for name in ("a.txt", "b.txt")]
    assert [answer.status for answer in answers] == [403, 400]


@pytest.mark.parametrize(
    ("content_type", "name", "expected"),
    [
        ("text/x-own; charset=utf-8", "a.txt", "text/x-own; charset=utf-8"),
        ("text/x-own;\tcharset=utf-8", "a.txt", "text/x-own; charset=utf-8"),
        (None, "a.txt", "text/plain"),
        (None, "a.tar.gz", "application/gzip"),
        (None, "noname", "application/octet-stream"),
        ("nonsense", "a.html", "text/html"),
        ("text/html\x00", "a.png", "image/png"),
        ("text/html\xff", "a.png", "image/png"),
        ("text/" + "x" * 300, "a.png", "image/png"),
    ],
)
def test_a_file_has_a_type(content_type, name, expected):
    """The type of the part is used if it is valid; otherwise the name decides."""
    assert FileHead(name, content_type).content_type == expected


class _RecordingStore(MemoryStore):
    """A store that records the options of each write, and the forms that it signs."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[Write] = []
        self.signed: list[tuple[str, Write]] = []

    async def put(self, key, chunks, write):
        self.writes.append(write)
        return await super().put(key, chunks, write)

    async def presign_upload(self, key, write, expires):
        self.signed.append((key, write))
        return await super().presign_upload(key, write, expires)


@pytest.mark.parametrize(
    ("name", "content", "content_type"),
    [
        ("a.txt", "Grüße – naïve".encode(), "text/plain; charset=utf-8"),
        ("a.txt", "Grüße".encode("latin-1"), "text/plain"),
        ("a.bin", b"text", "application/octet-stream"),
    ],
)
async def test_a_text_in_utf8_is_stored_with_its_charset(name, content, content_type):
    """A form and a body are looked at as they pass; the client may say more."""
    async with serve({}, actions=RAW) as site:
        await site.upload("/form/", part("file", content, filename=name))
        await site.request("PUT", f"/{name}", {}, content)
        await site.request("PUT", f"/told/{name}", {"Content-Type": "text/plain; charset=latin1"}, content)
        types = [(await site.get(f"{path}{name}")).headers["content-type"] for path in ("/form/", "/", "/told/")]
    assert types == [content_type, content_type, "text/plain; charset=latin1"]


async def test_an_empty_charset_says_nothing():
    """Some clients name a charset without a value; the content decides as without one."""
    async with serve({}, actions=RAW) as site:
        await site.request("PUT", "/a.txt", {"Content-Type": "text/plain;charset="}, "Grüße".encode())
        assert (await site.get("/a.txt")).headers["content-type"] == "text/plain; charset=utf-8"


async def test_the_type_of_an_upload_in_parts_is_what_its_client_says():
    """The type is stored before the first byte arrives, so the name adds no charset."""
    store = MemoryStore()
    async with serve(store, actions=RAW) as site:
        for name, headers in (("a.txt", {}), ("b.txt", {"Content-Type": "text/plain; charset=utf-8"})):
            begun = await site.request("PUT", f"/{name}?upload=start&size=1", headers)
            step = f"/{name}?upload=%s&id={json.loads(begun.body)['id']}"
            await site.request("PUT", f"{step % 'part'}&number=1", {}, b"x")
            await site.request("PUT", f"{step % 'complete'}&size=1")
        types = [(await site.get(path)).headers["content-type"] for path in ("/a.txt", "/b.txt")]
    assert types == ["text/plain", "text/plain; charset=utf-8"]


async def test_the_name_of_a_file_is_stored_in_ascii():
    """A disposition with the name of a file is one that every S3 and every reader takes."""
    saved = SystemMetadata(content_disposition='attachment; filename="{{ .Input.Filename }}"')
    async with serve({}, actions=_put_actions(raw_uploads=True, system_metadata=saved)) as site:
        await site.request("PUT", "/Caf%C3%A9%22.txt", {}, b"x")
        answer = await site.get("/Caf%C3%A9%22.txt")
    expected = "attachment; filename=\"Cafe_.txt\"; filename*=UTF-8''Caf%C3%A9%22.txt"
    assert answer.headers["content-disposition"] == expected


async def test_an_upload_has_properties_from_templates():
    """Configured metadata and headers are passed to the store."""
    store = _RecordingStore()
    actions = _put_actions(
        metadata=(("by", "{{ .Input.Filename }} {{ .Input.ContentSize }} {{ .Key }}"),),
        system_metadata=SystemMetadata(cache_control="max-age=5"),
    )
    async with serve(store, actions=actions, bucket=Bucket("b", prefix="p/"), mount=Mount("", ("/m/",))) as site:
        answer = await site.upload("/m/docs/", A_FILE)
        stored = await site.get("/m/docs/a.txt")
    assert (answer.status, stored.headers["cache-control"]) == (201, "max-age=5")
    assert store.writes[0].properties == Properties({"by": "a.txt 5 p/docs/a.txt"}, cache_control="max-age=5")


async def test_a_template_gets_no_directory_of_the_client():
    """The name of a file is what follows its last slash, in templates and in the answer as in the key."""
    store, custom = _RecordingStore(), {"put": Recipe("put", "{{ .PutData.Filename }}")}
    actions = _put_actions(metadata=(("by", "{{ .Input.Filename }}"),))
    async with serve(store, actions=actions, custom=custom) as site:
        answer = await site.upload("/d/", part("file", b"x", filename="../../etc/a.txt"))
    assert (answer.text, list(store.keys())) == ("a.txt", ["d/a.txt"])
    assert store.writes[0].properties.metadata == {"by": "a.txt"}


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({}, form(part("note", b"x"), A_FILE), 201),
        ({}, form(A_FILE, part("note", b"x")), 400),
        ({"Transfer-Encoding": "chunked"}, _chunked(form(A_FILE)), 411),
    ],
    ids=["the file is last", "the file is not last", "no length"],
)
async def test_a_template_gets_the_exact_size(headers, body, status):
    """The size is exact if the file is the last part; otherwise nothing is stored."""
    store = _RecordingStore()
    actions = _put_actions(metadata=(("size", "{{ .Input.ContentSize }}"),))
    async with serve(store, actions=actions) as site, site.connect() as client:
        request_headers = {**FORM_TYPE, **headers}
        await client.send(head("PUT", "/", request_headers, 0 if headers else len(body)) + body)
        answer = await client.receive()
    assert (answer.status, len(store.keys())) == (status, int(status == 201))
    if status == 201:
        assert store.writes[0].properties.metadata == {"size": "5"}


async def test_a_failing_template_stores_nothing():
    store = MemoryStore()
    async with serve(store, actions=_put_actions(metadata=(("by", "{{ .User.GetUsername }}"),))) as site:
        answer = await site.upload("/", A_FILE)
        event = await site.last_event()
    assert (answer.status, store.keys()) == (500, ())
    assert "the template of `by` failed" in event.reason


async def test_a_file_can_be_the_body():
    """A raw PUT to the path of a file stores the body with its content type."""
    async with serve({}, actions=RAW) as site:
        answer = await site.request("PUT", "/docs/a.txt", {"Content-Type": "text/css"}, b"hello")
        stored = await site.get("/docs/a.txt")
        empty = await site.request("PUT", "/empty", {"Content-Length": "0"})
    assert (answer.status, answer.headers["location"], empty.status) == (201, "/docs/a.txt", 201)
    assert json.loads(answer.body)["size"] == 5
    assert (stored.body, stored.headers["content-type"]) == (b"hello", "text/css; charset=utf-8")


async def test_a_raw_upload_can_be_chunked():
    store = MemoryStore()
    async with serve(store, actions=RAW) as site, site.connect() as client:
        await client.send(head("PUT", "/a.txt", {"Transfer-Encoding": "chunked"}) + _chunked(b"he", b"llo"))
        answer = await client.receive()
        stored = await site.get("/a.txt")
    assert (answer.status, stored.body, stored.headers["content-type"]) == (201, b"hello", "text/plain; charset=utf-8")


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({}, b"", 411),
        ({"Content-Type": "multipart/form-data; boundary=x"}, b"x", 415),
        ({"Content-Encoding": "gzip"}, b"x", 415),
        ({"Content-Range": "bytes 0-0/9"}, b"x", 400),
        ({}, b"x" * 11, 413),
        ({"If-Match": '"other"'}, b"x", 412),
    ],
)
async def test_an_invalid_raw_upload_is_refused(headers, body, status):
    """A form, an encoded body, a range, an unmet condition and a missing or large length are refused."""
    store = MemoryStore()
    async with serve(store, actions=_put_actions(raw_uploads=True, max_size=10)) as site:
        answer = await site.request("PUT", "/a.txt", headers, body)
    assert (answer.status, store.keys()) == (status, ())


@pytest.mark.parametrize(
    "lengths", [["1, 1"], ["1", "1"], ["one"], ["9" * 5000]], ids=["list", "two", "word", "digits"]
)
@pytest.mark.parametrize(("target", "headers"), [("/a.txt", {}), ("/", FORM_TYPE)], ids=["raw", "form"])
async def test_an_upload_with_an_invalid_length_is_refused(target, headers, lengths):
    """A length that is not one number is the client's mistake on every server, also where Tornado would take it."""
    sent = head("PUT", target, headers)[:-2] + "".join(f"Content-Length: {each}\r\n" for each in lengths).encode()
    async with serve({}, actions=RAW) as site, site.connect() as client:
        await client.send(sent + b"\r\nx")
        answer = await client.receive()
        event = await site.last_event()
    assert (answer.status, event.is_error, event.status) == (400, True, 400)


async def test_a_chunked_raw_upload_is_limited():
    """A size that is not announced is counted while the body arrives."""
    store = MemoryStore()
    async with serve(store, actions=_put_actions(raw_uploads=True, max_size=10)) as site, site.connect() as client:
        await client.send(head("PUT", "/a.txt", {"Transfer-Encoding": "chunked"}) + _chunked(b"x" * 11))
        answer = await client.receive()
    assert (answer.status, store.keys()) == (413, ())


DIRECT = _put_actions(
    direct_uploads=True,
    allow_override=True,
    max_size=10,
    allowed_types=("text/*",),
    metadata=(("by", "{{ .Input.Filename }} {{ .Input.ContentType }}"),),
)


async def test_a_client_can_get_a_form_for_s3():
    """The form is for the rewritten key, the requested type and the limits of the target, and is not cached."""
    store = _RecordingStore()
    async with serve(store, actions=DIRECT, rules="rewrite `^/in/(.+)$` -> `/archive/$1`") as site:
        answer = await site.request("PUT", "/in/a.css?upload=direct", {"Content-Type": "text/css"})
    signed_form = json.loads(answer.body)
    assert answer.status == 200
    assert answer.headers["cache-control"] == "no-store"
    assert {name: signed_form[name] for name in ("location", "maxSize", "expiresIn")} == {
        "location": "/in/a.css",
        "maxSize": 10,
        "expiresIn": 300,
    }
    assert (signed_form["url"], signed_form["fields"]["key"]) == ("https://memory.invalid/", "archive/a.css")
    ((key, write),) = store.signed
    assert (key, write.content_type, write.max_size) == ("archive/a.css", "text/css", 10)
    assert write.properties.metadata == {"by": "a.css text/css"}
    assert store.keys() == ()


async def test_a_form_for_s3_is_refused_as_the_upload_would_be():
    """A forbidden type is a 415, a condition a 400, an unknown size a 411, and missing access a 403."""
    sizes = _put_actions(direct_uploads=True, allow_override=True, metadata=(("size", "{{ .Input.ContentSize }}"),))
    store = _RecordingStore()
    async with serve(store, actions=DIRECT) as site:
        wrong_type = await site.request("PUT", "/a.png?upload=direct")
        condition = await site.request("PUT", "/a.css?upload=direct", {"If-None-Match": "*"})
    async with serve(store, actions=sizes) as site:
        unknown_size = await site.request("PUT", "/a.png?upload=direct")
    async with serve(store, actions=DIRECT, resources=[Resource("/public/**", ("PUT",), white_list=True)]) as site:
        no_access = await site.request("PUT", "/a.css?upload=direct")
    assert (wrong_type.status, condition.status) == (415, 400)
    assert (unknown_size.status, no_access.status) == (411, 403)
    assert store.signed == []


@pytest.mark.parametrize("path", ["/a.css", "/d/"])
@pytest.mark.parametrize("headers", [{}, {"Content-Length": "0"}])
async def test_a_form_for_s3_must_be_enabled(path, headers):
    """The request is a 403, and its empty body is not stored, even with raw uploads enabled."""
    store = _RecordingStore()
    async with serve(store, actions=_put_actions(raw_uploads=True)) as site:
        answer = await site.request("PUT", f"{path}?upload=direct", headers)
    assert (answer.status, store.keys()) == (403, ())
    assert "Uploads straight to S3 are not enabled here" in answer.text


async def test_a_form_for_s3_needs_the_path_of_a_file():
    async with serve(_RecordingStore(), actions=DIRECT) as site:
        answer = await site.request("PUT", "/d/?upload=direct")
    assert answer.status == 400
    assert "An upload of this kind needs the path of a file" in answer.text


RIGHT_DIGEST, WRONG_DIGEST = "XUFAKrxLKna5cZ2REBfFkg==", "1B2M2Y8AsgTpgAmY7PhCfg=="


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-MD5": RIGHT_DIGEST}, 201),
        ({"Content-MD5": WRONG_DIGEST}, 400),
        ({"Content-Digest": f"md5=:{RIGHT_DIGEST}:"}, 201),
        ({"Content-Digest": f"md5=:{WRONG_DIGEST}:"}, 400),
        ({"Content-MD5": "nonsense!"}, 400),
    ],
)
async def test_a_body_is_checked_against_its_digest(headers, status):
    store = MemoryStore()
    async with serve(store, actions=RAW) as site:
        answer = await site.request("PUT", "/a.txt", {**headers, "Accept": "text/plain"}, b"hello")
    assert (answer.status, len(store.keys())) == (status, int(status == 201))
    if status == 400:
        assert "does not match its digest" in answer.text


async def test_a_form_is_checked_against_its_digest():
    """The digest of a form is that of the whole body, not of its file."""
    right = base64.b64encode(hashlib.sha256(form(A_FILE)).digest()).decode()
    store = MemoryStore()
    async with serve(store) as site:
        wrong = await site.upload("/", A_FILE, Content_MD5=RIGHT_DIGEST)
        assert (wrong.status, store.keys()) == (400, ())
        assert (await site.upload("/", A_FILE, Content_Digest=f"sha-256=:{right}:")).status == 201


@pytest.mark.parametrize(
    ("content_type", "status"),
    [("image/png", 201), ("Application/PDF; a=b", 201), ("text/html", 415), ("imagepng", 415), (None, 415)],
)
async def test_only_allowed_types_are_stored(content_type, status):
    store = MemoryStore()
    async with serve(store, actions=_put_actions(allowed_types=("image/*", "application/pdf"))) as site:
        answer = await site.upload("/", part("file", b"x", filename="a", content_type=content_type))
    assert (answer.status, len(store.keys())) == (status, int(status == 201))
