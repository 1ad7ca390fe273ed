"""Uploads: a valid form is stored as it arrives, and nothing of an invalid one."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator

import pytest
from fakes import Counting, Failing
from hypothesis import given
from hypothesis import strategies as st
from memory_store import MemoryStore
from serving import BOUNDARY, FORM_TYPE, form, head, part, serve

from tornado_proxy.auth.authenticator import SignIn
from tornado_proxy.config.actions import Actions, PutAction, SystemMetadata
from tornado_proxy.config.model import Bucket, Mount
from tornado_proxy.config.providers import Resource
from tornado_proxy.config.server import Limits
from tornado_proxy.gateway.upload import (
    FileHead,
    FormTooLarge,
    MalformedForm,
    MultipartForm,
    NotAForm,
    boundary,
)
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.routing.uploads import Properties
from tornado_proxy.storage.errors import Busy
from tornado_proxy.storage.store import Write
from tornado_proxy.telemetry.events import Refused
from tornado_proxy.templates.template import User

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
    async def story():
        form = MultipartForm(_pieces(body, size), separator, limit)
        part = await form.file()
        return part, b"".join([chunk async for chunk in form.content()])

    return asyncio.run(story())


def test_the_file_is_found_and_streamed():
    """The part named `file` gives its name, its type and its bytes."""
    body = _part(f"{FILE}\r\nContent-Type: text/plain", b"hello") + END
    assert _read(body) == (FileHead("a.txt", "text/plain"), b"hello")


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_chunks_may_break_anywhere(size):
    """However the body is cut, the file is the same."""
    body = _field("note", b"x") + _part(FILE, b"--b is not a boundary\r\n--bb\r\n") + _field("more", b"y") + END
    assert _read(body, size=size) == (FileHead("a.txt", None), b"--b is not a boundary\r\n--bb\r\n")


@given(content=st.binary(max_size=300), size=st.integers(1, 400))
def test_any_content_survives(content, size):
    """Whatever the file holds, short of the boundary, comes out as it went in."""
    if b"\r\n--b" not in b"\r\n" + content:
        assert _read(_part(FILE, content) + END, size=size)[1] == content


def test_an_empty_file_is_a_file():
    """A part without bytes is stored as an empty file."""
    assert _read(_part(FILE) + END) == (FileHead("a.txt", None), b"")


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
        (b"not a form at all", "the form is broken"),
        (b"--other\r\n", "the form is broken"),
        (b"--b\r\nbad header\r\n\r\n", "the form is broken"),
        (_part("X-Nothing: 1", b"x") + END, "is not a content disposition"),
        (_part('Content-Disposition: form-data; name="file"; name="x"', b"x") + END, "repeated parameter"),
    ],
)
def test_a_form_that_is_wrong_is_refused(body, message):
    """A form that is broken, truncated, or has not exactly one file is refused."""
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
def test_all_but_the_file_is_bounded(body):
    """Other fields, many small ones, and what stands around the form count together."""
    with pytest.raises(FormTooLarge, match="more than 200 bytes besides its file"):
        _read(body, limit=200, size=16)


def test_the_file_is_not_bounded_here():
    """The file's own bytes do not count: a target's `maxSize` does that."""
    assert len(_read(_part(FILE, b"x" * 100_000) + END, limit=200, size=4096)[1]) == 100_000


def test_a_long_header_is_refused():
    """A part's header line has a limit of its own."""
    body = _part(f"{FILE}\r\nX-Long: {'x' * 20_000}", b"x") + END
    with pytest.raises(MalformedForm, match="header size"):
        _read(body, limit=1 << 20)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (FILE, "a.txt"),
        ('content-disposition: form-data; filename="größe 日本.txt"; name=file', "größe 日本.txt"),
        ('Content-Disposition: form-data; name="file"; filename="%22a%22.txt"', '"a".txt'),
        ('Content-Disposition: form-data; name="file"; filename="../../etc/passwd"', "../../etc/passwd"),
        ("Content-Disposition: form-data; name=\"file\"; filename*=utf-8''%e2%82%ac.txt", "€.txt"),
        ('Content-Disposition: form-data; name="file"', ""),
    ],
)
def test_the_name_is_what_the_client_sent(head, name):
    """The name is read as browsers and curl write it; routing checks it."""
    assert _read(_part(head, b"x") + END)[0].file_name == name


def test_a_name_that_is_no_utf8_shows_it():
    """Bytes that are not UTF-8 become characters that no key may contain."""
    body = _part(FILE, b"x").replace(b"a.txt", b"\xff.txt") + END
    assert _read(body)[0].file_name == "\udcff.txt"


@pytest.mark.parametrize(
    "content_type",
    [None, "", "application/octet-stream", "application/x-www-form-urlencoded", "multipart/mixed; boundary=b"],
)
def test_what_is_no_form_is_distinguished(content_type):
    """Only `multipart/form-data` is a form."""
    with pytest.raises(NotAForm):
        boundary(content_type)


@pytest.mark.parametrize(
    "content_type", ["multipart/form-data; boundary=b", 'Multipart/Form-Data; charset=utf-8; boundary="b"']
)
def test_the_boundary_is_announced(content_type):
    """The boundary is read in any spelling of the header."""
    assert boundary(content_type) == b"b"


@pytest.mark.parametrize("content_type", ["multipart/form-data", "multipart/form-data; boundary="])
def test_a_form_names_its_boundary(content_type):
    """A form without a boundary cannot be read."""
    with pytest.raises(MalformedForm, match="names no boundary"):
        boundary(content_type)


def test_a_type_that_is_too_long_is_not_parsed():
    """A Content-Type of any length costs next to nothing."""
    with pytest.raises(MalformedForm, match="the Content-Type is too long"):
        boundary("multipart/form-data; boundary=b" + ";a" * 1000)


def test_a_boundary_has_a_length():
    """A boundary that is too long is refused."""
    with pytest.raises(MalformedForm, match="boundary is unusable"):
        _read(b"", separator=b"x" * 1000)


def test_mistakes_of_clients_are_not_logged(caplog):
    """The parser's own warnings stay silent: the access log has the reason."""
    with pytest.raises(MalformedForm):
        _read(b"not a form at all")
    assert caplog.records == []


A_FILE = part("file", b"hello", filename="a.txt", content_type="text/plain")


def _putting(**options) -> Actions:
    return Actions(put=PutAction(enabled=True, **options))


def _chunked(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


async def test_an_upload_is_stored_in_its_directory():
    """PUT of a form answers 201 with the file's address, size and ETag, and GET there gives it back."""
    async with serve({}) as site:
        answer = await site.upload("/docs/", A_FILE)
        again = await site.get(answer.headers["location"])
    assert (answer.status, answer.headers["location"]) == (201, "/docs/a.txt")
    assert json.loads(answer.body) == {"location": "/docs/a.txt", "size": 5, "etag": again.headers["etag"]}
    assert (again.body, again.headers["content-type"]) == (b"hello", "text/plain")


async def test_an_upload_may_be_answered_in_text():
    """A client that would rather read text gets the address in a line."""
    async with serve({}) as site:
        answer = await site.upload("/docs/", A_FILE, Accept="text/plain")
    assert (answer.headers["content-type"], answer.text) == ("text/plain; charset=utf-8", "/docs/a.txt\n")


async def test_other_fields_do_not_matter():
    """A form may hold more than its file."""
    async with serve({}) as site:
        answer = await site.upload("/", part("note", b"x"), A_FILE, part("note", b"y"))
    assert answer.status == 201


async def test_an_upload_is_rewritten_and_prefixed_with_its_name():
    """The source sees directory and name, the prefix comes in front, and the answer shows neither."""
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
async def test_a_hostile_name_is_cut_or_refused(name, outcome):
    """The name is the part after the last slash; an invalid name is a 400 and nothing is stored."""
    store = MemoryStore()
    async with serve(store) as site:
        answer = await site.upload("/", part("file", b"x", filename=name))
    if outcome == 400:
        assert (answer.status, store.keys()) == (400, ())
    else:
        expected = outcome.replace("%3A", ":")  # a colon may stand in a path as it is
        assert (answer.status, answer.headers["location"], len(store.keys())) == (201, expected, 1)


BROKEN = {
    "no file": form(part("note", b"x")),
    "two files": form(A_FILE, part("file", b"x", filename="b.txt")),
    "an empty form": form(),
    "no closing boundary": form(A_FILE)[: -len(BOUNDARY) - 8],
    "cut in the file": form(A_FILE)[:-40],
    "cut in a header": form(A_FILE)[:60],
    "no boundary at all": b"hello",
    "nothing": b"",
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
async def test_a_wrong_form_stores_nothing(body):
    """A form without its file, with two, or cut short is a 400, and no object is there."""
    store = MemoryStore()
    async with serve(store) as site:
        answer = await site.request("PUT", "/", FORM_TYPE, body)
    assert (answer.status, store.keys()) == (400, ())


@pytest.mark.parametrize(
    "sent", ["application/octet-stream", "application/x-www-form-urlencoded", "multipart/mixed; boundary=b", ""]
)
async def test_what_is_no_form_is_unsupported(sent):
    """A body of another type is a 415."""
    async with serve({}) as site:
        answer = await site.request("PUT", "/", {"Content-Type": sent}, b"hello")
    assert answer.status == 415


async def test_an_upload_goes_to_a_directory():
    """A path without its closing slash is a 400."""
    async with serve({}) as site:
        answer = await site.upload("/docs/a.txt", A_FILE)
    assert answer.status == 400


async def test_what_is_there_is_not_replaced():
    """Without `allowOverride`, a second upload of a name is a 409."""
    async with serve({"a.txt": b"first"}) as site:
        answer, again = await site.upload("/", A_FILE), await site.get("/a.txt")
    assert (answer.status, again.body) == (409, b"first")


async def test_what_is_there_may_be_replaced():
    """With `allowOverride`, a second upload replaces the first."""
    async with serve({"a.txt": b"first"}, actions=_putting(allow_override=True)) as site:
        answer, again = await site.upload("/", A_FILE), await site.get("/a.txt")
    assert (answer.status, again.body) == (201, b"hello")


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"If_None_Match": "*"}, 412), ({"If_Match": '"other"'}, 412), ({"If_None_Match": '"other"'}, 201)],
)
async def test_the_clients_conditions_hold(headers, status):
    """If-Match and If-None-Match apply to a PUT."""
    async with serve({"a.txt": b"first"}, actions=_putting(allow_override=True)) as site:
        answer = await site.upload("/", A_FILE, **headers)
    assert answer.status == status


async def test_a_file_of_the_most_bytes_fits():
    """`maxSize` counts the file's own bytes."""
    async with serve({}, actions=_putting(max_size=5)) as site:
        answer = await site.upload("/", part("note", b"x" * 500), A_FILE)
    assert answer.status == 201


@pytest.mark.parametrize("chunked", [False, True])
async def test_one_byte_more_is_too_large(chunked):
    """A file that passes `maxSize` while it arrives is a 413, with its length announced or not."""
    store, body = MemoryStore(), form(A_FILE)
    headers = {**FORM_TYPE, **({"Transfer-Encoding": "chunked"} if chunked else {"Content-Length": str(len(body))})}
    async with serve(store, actions=_putting(max_size=4)) as site, site.connect() as client:
        await client.send(head("PUT", "/", headers) + (_chunked(body) if chunked else body))
        answer = await client.receive()
    assert (answer.status, store.keys()) == (413, ())


async def test_what_must_be_too_large_is_refused_unread():
    """Where the announced length is certainly too much, the answer comes before the body."""
    async with serve({}, actions=_putting(max_size=4)) as site, site.connect() as client:
        await client.send(head("PUT", "/", FORM_TYPE, 10**12))
        answer = await client.receive()
    assert (answer.status, answer.headers["connection"]) == (413, "close")


async def test_other_fields_are_bounded():
    """A form that holds too much besides its file is a 413."""
    async with serve({}, limits=Limits(max_form_field_size=1000)) as site:
        answer = await site.upload("/", part("note", b"x" * 2000), A_FILE)
    assert answer.status == 413


@pytest.mark.parametrize("pieces", [1, 7])
async def test_a_chunked_upload_is_stored(pieces):
    """Transfer-Encoding is as good as Content-Length, wherever the chunks are cut."""
    body = form(A_FILE)
    size = -(-len(body) // pieces)
    chunks = [body[start : start + size] for start in range(0, len(body), size)]
    async with serve({}) as site, site.connect() as client:
        await client.send(head("PUT", "/", {**FORM_TYPE, "Transfer-Encoding": "chunked"}) + _chunked(*chunks))
        answer, again = await client.receive(), await client.request("GET", "/a.txt")
    assert (answer.status, again.body) == (201, b"hello")


@pytest.mark.parametrize("chunked", [False, True])
async def test_an_upload_is_larger_than_any_buffer(chunked):
    """Tornado's limits of 100 MiB on bodies and buffers do not count for a streamed upload."""
    store, piece, count = Counting(), bytes(1 << 20), 101
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
    assert (answer.status, store.taken) == (201, count * len(piece))


async def test_a_slow_store_holds_the_client_back():
    """While the store takes nothing, no more is read from the socket than a few chunks."""
    store, total = Counting(), 24 << 20  # bytes: several times what the sockets' own buffers hold
    store.pause.clear()
    body = form(part("file", bytes(total), filename="a.bin"))
    async with serve(store) as site, site.connect() as client:
        client.writer.write(head("PUT", "/", FORM_TYPE, len(body)) + body)
        await store.arrived.wait()
        for _ in range(1000):
            await asyncio.sleep(0)
        unsent, taken = client.writer.transport.get_write_buffer_size(), store.taken
        store.pause.set()
        answer = await client.receive()
    assert unsent > total // 2
    assert taken <= 1 << 20
    assert answer.status == 201


async def test_a_client_that_leaves_stores_nothing():
    """A connection lost in the middle of an upload ends the store's write with an error, and nothing is kept."""
    store = Counting()
    async with serve(store) as site:
        async with site.connect() as client:
            await client.send(head("PUT", "/", FORM_TYPE, 10_000) + A_FILE[:-2])
            await store.arrived.wait()
            client.abort()
        await store.over.wait()
        event = await site.told()
    assert (store.ended, store.keys()) == (["ClientDisconnected"], ())
    assert isinstance(event, Refused)
    assert (event.status, event.reason) == (499, "the client closed the connection")


async def test_a_client_that_stalls_is_not_waited_for():
    """When no byte comes for the body's timeout, the answer is a 408 and nothing is kept."""
    store = Counting()
    async with serve(store, limits=Limits(body_timeout=0.3)) as site, site.connect() as client:
        await client.send(head("PUT", "/", FORM_TYPE, 10_000) + A_FILE[:-2])
        answer = await client.receive()
    assert (answer.status, answer.headers["connection"]) == (408, "close")
    assert store.ended == ["BodyTimeout"]


async def test_a_broken_chunk_stores_nothing():
    """A body whose framing breaks is a bad request, with a page, and ends the store's write."""
    store = Counting()
    async with serve(store) as site:
        async with site.connect() as client:
            await client.send(head("PUT", "/", {**FORM_TYPE, "Transfer-Encoding": "chunked"}))
            await client.send(_chunked(A_FILE[:-2]).removesuffix(b"0\r\n\r\n"))
            await store.arrived.wait()
            await client.send(b"xyz\r\n")
            assert (await client.receive_head())[0] == 400
        event = await site.told()
    assert (store.ended, event.status) == (["MalformedMessage"], 400)


@pytest.mark.parametrize("expectation", ["100-continue", "100-Continue"])
async def test_a_client_that_asks_first_is_told_to_go_on(expectation):
    """`Expect: 100-continue`, in any case, is answered when the body is wanted."""
    body = form(A_FILE)
    async with serve({}) as site, site.connect() as client:
        await client.send(head("PUT", "/", {**FORM_TYPE, "Expect": expectation}, len(body)))
        status, _ = await client.receive_head()
        await client.send(body)
        answer = await client.receive()
    assert (status, answer.status) == (100, 201)


@pytest.mark.parametrize(("version", "expectation"), [(b"1.0", "100-continue"), (b"1.1", "a-miracle")])
async def test_who_is_not_told_to_go_on(version, expectation):
    """HTTP/1.0 knows no 100 (RFC 9110 10.1.1), and other expectations have no meaning."""
    body = form(A_FILE)
    asking = head("PUT", "/", {**FORM_TYPE, "Expect": expectation}, len(body)).replace(b"1.1", version)
    async with serve({}) as site, site.connect() as client:
        await client.send(asking + body)
        answer = await client.receive()
    assert answer.status == 201


class _Staff:
    """An authenticator that knows one user, and believes whoever says so."""

    async def authenticate(self, facts, guard):
        sent = dict(facts.headers).get("Authorization")
        return SignIn(User("ann")) if sent == "ann" else Refuse(401, "nobody", challenge='Basic realm="Files"')


STAFF = {"staff": _Staff()}


def _resource(path: str) -> Resource:
    return Resource(path, ("PUT",), provider="staff")


EARLY = [
    (401, "/", {}, {"resources": [_resource("/**")], "authenticators": STAFF}),
    (403, "/", {}, {"resources": [_resource("/other/**")], "authenticators": STAFF}),
    (405, "/", {}, {"actions": Actions()}),
    (400, "/file", {}, {}),
    (400, "/%zz/", {}, {}),
    (404, "/", {}, {"mount": Mount("elsewhere.test")}),
    (413, "/", {}, {"actions": _putting(max_size=1)}),
    (415, "/", {"Content-Type": "text/plain"}, {}),
]


@pytest.mark.parametrize(("status", "target", "headers", "parts"), EARLY)
async def test_a_client_that_asks_first_is_told_to_stop(status, target, headers, parts):
    """A refusal comes instead of the 100, which does not follow either, and ends the connection."""
    asking = {**FORM_TYPE, **headers, "Expect": "100-continue"}
    async with serve({}, **parts) as site, site.connect() as client:
        await client.send(head("PUT", target, asking, 10**7))
        first, received = await client.receive_head()
        client.writer.write_eof()
        rest = await client.reader.read(-1)
    assert (first, received["connection"], len(rest)) == (status, "close", int(received["content-length"]))


@pytest.mark.parametrize(("status", "target", "headers", "parts"), EARLY)
async def test_a_client_that_does_not_ask_sees_the_refusal(status, target, headers, parts):
    """A client that sends everything before it reads gets the answer, not a reset connection."""
    body = form(part("file", bytes(6 << 20), filename="a.bin"))
    async with serve({}, **parts) as site, site.connect() as client:
        answer = await client.request("PUT", target, {**FORM_TYPE, **headers}, body)
        assert (answer.status, answer.complete, await client.is_closed()) == (status, True, True)


async def test_an_upload_is_authorized_on_its_path_too():
    """Access to the directory is not access to every file in it."""
    resources = [Resource("/*.exe", ("PUT",), provider="staff"), Resource("/**", ("PUT",), white_list=True)]
    store = MemoryStore()
    async with serve(store, resources=resources, authenticators=STAFF) as site:
        refused = await site.upload("/", part("file", b"x", filename="a.exe"))
        open_to_all = await site.upload("/", A_FILE)
        signed_in = await site.upload("/", part("file", b"x", filename="a.exe"), Authorization="ann")
    assert (refused.status, open_to_all.status, signed_in.status) == (401, 201, 201)
    assert store.keys() == ("a.exe", "a.txt")


async def test_a_rewrite_may_refuse_an_upload():
    """A rewritten key that is a directory's, or none, is refused once the name is known."""
    rules = 'rewrite `^/a\\.txt$` -> "/dir/"\nrewrite `^/b\\.txt$` -> "/x/../y"'
    async with serve({}, rules=rules) as site:
        answers = [await site.upload("/", part("file", b"x", filename=name)) for name in ("a.txt", "b.txt")]
    assert [answer.status for answer in answers] == [403, 400]


async def test_a_store_that_fails_is_reported():
    """An error of the store is the upload's answer."""
    async with serve(Failing(put=Busy("SlowDown"))) as site:
        answer = await site.upload("/", A_FILE)
    assert (answer.status, answer.headers["retry-after"]) == (503, "2")


async def test_a_connection_goes_on_after_an_upload():
    """An upload whose form was read whole keeps the connection."""
    async with serve({}) as site, site.connect() as client:
        statuses = [(await client.request("PUT", f"/{name}/", FORM_TYPE, form(A_FILE))).status for name in "ab"]
    assert statuses == [201, 201]


@pytest.mark.parametrize(
    ("sent", "name", "expected"),
    [
        ("text/x-own; charset=utf-8", "a.txt", "text/x-own; charset=utf-8"),
        (None, "a.txt", "text/plain"),
        (None, "a.tar.gz", "application/gzip"),
        (None, "a.svgz.br", "application/octet-stream"),
        (None, "noname", "application/octet-stream"),
        ("nonsense", "a.html", "text/html"),
        ("text/html\x00", "a.png", "image/png"),
        ("text/html\xff", "a.png", "image/png"),
        ("text/" + "x" * 300, "a.png", "image/png"),
    ],
)
def test_a_file_has_a_type(sent, name, expected):
    """The part's own type counts if it is one; else the name suggests it."""
    assert FileHead(name, sent).content_type == expected


class _Noting(MemoryStore):
    """Notes how objects were to be stored."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[Write] = []

    async def put(self, key, chunks, write):
        self.writes.append(write)
        return await super().put(key, chunks, write)


async def test_an_upload_has_the_properties_that_templates_make():
    """Metadata, headers and storage class of the configuration go to the store."""
    store = _Noting()
    actions = _putting(
        metadata=(("by", "{{ .Input.Filename }} {{ .Input.ContentSize }} {{ .Key }}"),),
        system_metadata=SystemMetadata(cache_control="max-age=5"),
    )
    async with serve(store, actions=actions, bucket=Bucket("b", prefix="p/"), mount=Mount("", ("/m/",))) as site:
        answer = await site.upload("/m/docs/", A_FILE)
        again = await site.get("/m/docs/a.txt")
    assert (answer.status, again.headers["cache-control"]) == (201, "max-age=5")
    assert store.writes[0].properties == Properties({"by": "a.txt 5 p/docs/a.txt"}, cache_control="max-age=5")


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({}, form(part("note", b"x"), A_FILE), 201),
        ({}, form(A_FILE, part("note", b"x")), 400),
        ({"Transfer-Encoding": "chunked"}, _chunked(form(A_FILE)), 411),
    ],
    ids=["the file is last", "it is not", "no length"],
)
async def test_a_size_that_a_template_reads_is_the_right_one(headers, body, status):
    """What a form announces is right where its file is its last part; else nothing is stored."""
    store = _Noting()
    actions = _putting(metadata=(("size", "{{ .Input.ContentSize }}"),))
    async with serve(store, actions=actions) as site, site.connect() as client:
        sent = {**FORM_TYPE, **headers}
        await client.send(head("PUT", "/", sent, 0 if headers else len(body)) + body)
        answer = await client.receive()
    assert (answer.status, len(store.keys())) == (status, int(status == 201))
    if status == 201:
        assert store.writes[0].properties.metadata == {"size": "5"}


async def test_a_template_that_fails_stores_nothing():
    """An answer of 500 says that it is the configuration's fault, and nothing is defective."""
    store = MemoryStore()
    async with serve(store, actions=_putting(metadata=(("by", "{{ .User.GetUsername }}"),))) as site:
        answer = await site.upload("/", A_FILE)
        event = await site.told()
    assert (answer.status, store.keys()) == (500, ())
    assert "the template of `by` failed" in event.reason


RAW = _putting(raw_uploads=True)


async def test_a_file_can_be_the_body_itself():
    """A raw PUT to a file's path stores the body under its type."""
    async with serve({}, actions=RAW) as site:
        answer = await site.request("PUT", "/docs/a.txt", {"Content-Type": "text/css"}, b"hello")
        again = await site.get("/docs/a.txt")
        empty = await site.request("PUT", "/empty", {"Content-Length": "0"})
    assert (answer.status, answer.headers["location"], empty.status) == (201, "/docs/a.txt", 201)
    assert json.loads(answer.body)["size"] == 5
    assert (again.body, again.headers["content-type"]) == (b"hello", "text/css")


async def test_a_raw_upload_may_come_in_chunks():
    """Without a type, the path's last segment suggests one."""
    store = MemoryStore()
    async with serve(store, actions=RAW) as site, site.connect() as client:
        await client.send(head("PUT", "/a.txt", {"Transfer-Encoding": "chunked"}) + _chunked(b"he", b"llo"))
        answer = await client.receive()
        again = await site.get("/a.txt")
    assert (answer.status, again.body, again.headers["content-type"]) == (201, b"hello", "text/plain")


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
async def test_a_raw_upload_that_cannot_be_stored_is_refused(headers, body, status):
    """An upload without a length, a form, encoded content, a part, and too much data are refused."""
    store = MemoryStore()
    async with serve(store, actions=_putting(raw_uploads=True, max_size=10)) as site:
        answer = await site.request("PUT", "/a.txt", headers, body)
    assert (answer.status, store.keys()) == (status, ())


async def test_a_raw_upload_beyond_the_limit_is_cut_off():
    """A size that is not announced is counted as it comes."""
    store = MemoryStore()
    async with serve(store, actions=_putting(raw_uploads=True, max_size=10)) as site, site.connect() as client:
        await client.send(head("PUT", "/a.txt", {"Transfer-Encoding": "chunked"}) + _chunked(b"x" * 11))
        answer = await client.receive()
    assert (answer.status, store.keys()) == (413, ())


DIRECT = _putting(
    direct_uploads=True,
    allow_override=True,
    max_size=10,
    allowed_types=("text/*",),
    metadata=(("by", "{{ .Input.Filename }} {{ .Input.ContentType }}"),),
)


async def test_a_client_gets_a_form_for_s3():
    """It holds for the path's key, the type of the request, and the limits of the target; no cache keeps it."""
    store = _Signing()
    async with serve(store, actions=DIRECT, rules="rewrite `^/in/(.+)$` -> `/archive/$1`") as site:
        answer = await site.request("PUT", "/in/a.css?upload=direct", {"Content-Type": "text/css"})
    said = json.loads(answer.body)
    assert answer.status == 200
    assert answer.headers["cache-control"] == "no-store"
    assert {name: said[name] for name in ("location", "maxSize", "expiresIn")} == {
        "location": "/in/a.css",
        "maxSize": 10,
        "expiresIn": 300,
    }
    assert (said["url"], said["fields"]["key"]) == ("https://memory.invalid/", "archive/a.css")
    ((key, write),) = store.signed
    assert (key, write.content_type, write.max_size) == ("archive/a.css", "text/css", 10)
    assert write.properties.metadata == {"by": "a.css text/css"}
    assert store.keys() == ()


async def test_a_form_for_s3_is_refused_as_the_upload_would_be():
    """A type that is not allowed, a size that a template has to know, somebody who may not."""
    sizes = _putting(direct_uploads=True, allow_override=True, metadata=(("size", "{{ .Input.ContentSize }}"),))
    store = _Signing()
    async with serve(store, actions=DIRECT) as site:
        typed = await site.request("PUT", "/a.png?upload=direct")
    async with serve(store, actions=sizes) as site:
        sized = await site.request("PUT", "/a.png?upload=direct")
    async with serve(store, actions=DIRECT, resources=[Resource("/public/**", ("PUT",), white_list=True)]) as site:
        private = await site.request("PUT", "/a.css?upload=direct")
    assert (typed.status, sized.status, private.status) == (415, 411, 403)
    assert store.signed == []


@pytest.mark.parametrize("path", ["/a.css", "/d/"])
@pytest.mark.parametrize("headers", [{}, {"Content-Length": "0"}])
async def test_a_form_for_s3_is_refused_where_it_is_off(path, headers):
    """The empty body of such a request is no file, even where raw uploads are on."""
    store = _Signing()
    async with serve(store, actions=_putting(raw_uploads=True)) as site:
        answer = await site.request("PUT", f"{path}?upload=direct", headers)
    assert (answer.status, store.keys()) == (403, ())
    assert "Uploads straight to S3 are not enabled here" in answer.text


async def test_a_form_for_s3_is_not_for_a_directory():
    """The path of a file names the object; a directory does not."""
    async with serve(_Signing(), actions=DIRECT) as site:
        answer = await site.request("PUT", "/d/?upload=direct")
    assert answer.status == 400
    assert "An upload of this kind needs the path of a file" in answer.text


class _Signing(MemoryStore):
    """A store that notes the forms it signs."""

    def __init__(self):
        super().__init__()
        self.signed = []

    async def presign_upload(self, key, write, expires):
        self.signed.append((key, write))
        return await super().presign_upload(key, write, expires)


async def test_a_raw_upload_is_authorized_before_its_body():
    """A client that may not upload learns so without having sent a byte."""
    refusing = [Resource("/**", ("GET",), white_list=True)]
    async with serve({}, actions=RAW, resources=refusing) as site, site.connect() as client:
        await client.send(head("PUT", "/a.txt", {"Expect": "100-continue"}, 5))
        status, _ = await client.receive_head()
    assert status == 403


GOOD, OTHER = "XUFAKrxLKna5cZ2REBfFkg==", "1B2M2Y8AsgTpgAmY7PhCfg=="


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-MD5": GOOD}, 201),
        ({"Content-MD5": OTHER}, 400),
        ({"Content-Digest": f"md5=:{GOOD}:"}, 201),
        ({"Content-Digest": f"md5=:{OTHER}:"}, 400),
        ({"Content-MD5": "nonsense!"}, 400),
    ],
)
async def test_a_body_is_checked_against_its_digest(headers, status):
    """Where it does not match, nothing is stored, and the client learns why."""
    store = MemoryStore()
    async with serve(store, actions=RAW) as site:
        answer = await site.request("PUT", "/a.txt", {**headers, "Accept": "text/plain"}, b"hello")
    assert (answer.status, len(store.keys())) == (status, int(status == 201))
    if status == 400:
        assert "does not match its digest" in answer.text


async def test_a_form_is_checked_against_its_digest():
    """The digest is of the body, which is the form."""
    right = base64.b64encode(hashlib.sha256(form(A_FILE)).digest()).decode()
    store = MemoryStore()
    async with serve(store) as site:
        wrong = await site.upload("/", A_FILE, Content_MD5=GOOD)
        assert (wrong.status, store.keys()) == (400, ())
        assert (await site.upload("/", A_FILE, Content_Digest=f"sha-256=:{right}:")).status == 201


@pytest.mark.parametrize(
    ("sent", "status"),
    [("image/png", 201), ("Application/PDF; a=b", 201), ("text/html", 415), ("imagepng", 415), (None, 415)],
)
async def test_only_types_that_are_allowed_are_stored(sent, status):
    """`allowedTypes` names types or `type/*`."""
    store = MemoryStore()
    async with serve(store, actions=_putting(allowed_types=("image/*", "application/pdf"))) as site:
        answer = await site.upload("/", part("file", b"x", filename="a", content_type=sent))
    assert (answer.status, len(store.keys())) == (status, int(status == 201))
