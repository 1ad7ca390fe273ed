"""Heads and bodies of requests are parsed."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tornado.httputil import HTTPHeaders

from tornado_proxy.wire.incoming import Fields, HeadTooLarge, MalformedMessage, RequestParser

CHUNKED = b"PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"


def _parser(head: bytes) -> RequestParser:
    """A parser that has read a head, to which a Host is added."""
    parser = RequestParser()
    parser.read_head(head.replace(b"\r\n", b"\r\nHost: h\r\n", 1), 1000)
    return parser


def test_a_head_is_read():
    """Request line and headers are as sent; values are stripped, and repeated headers are joined."""
    parser = RequestParser()
    data = b"BREW /gr\xc3\xb6?a=b HTTP/1.1\r\nHost: h\r\nx-one:\t 1 \r\nX-ONE: 2\r\n\r\n"
    line, fields = parser.read_head(data, 1000)
    assert line == ("BREW", "/gr\xc3\xb6?a=b", "HTTP/1.1")
    assert fields.get_all() == (("Host", "h"), ("X-One", "1"), ("X-One", "2"))
    assert (dict(fields), parser.complete) == ({"Host": "h", "X-One": "1,2"}, True)


def test_a_long_header_name_has_the_usual_spelling():
    """A header name that is too long to be cached is spelt like any other."""
    _, fields = RequestParser().read_head(b"GET / HTTP/1.1\r\nHost: h\r\nx-%s: 1\r\n\r\n" % (b"y" * 100), 1000)
    assert list(fields) == ["Host", f"X-Y{'y' * 99}"]


@pytest.mark.parametrize(("version", "expected"), [("1.0", "HTTP/1.0"), ("1.1", "HTTP/1.1"), ("1.7", "HTTP/1.1")])
def test_a_later_minor_version_counts_as_1_1(version, expected):
    """An unknown minor version is treated as the latest known one (RFC 9110 2.5)."""
    assert _parser(f"GET / HTTP/{version}\r\n\r\n".encode()).version == expected


@given(
    body=st.binary(min_size=1, max_size=50), after=st.binary(max_size=10), cuts=st.lists(st.integers(0, 60), max_size=4)
)
def test_content_length_delimits_the_body(body, after, cuts):
    """The body has the announced bytes, however they are split, and the bytes after it are left."""
    parser, received, body_read = _parser(b"PUT / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body)), bytearray(), b""
    positions = [0, *sorted(cuts), len(body + after)]
    for start, end in pairwise(positions):
        received += (body + after)[start:end]
        if not parser.complete:
            body_read += parser.read_body(received)
    assert (body_read, bytes(received), parser.complete) == (body, after, True)


def _read_in_parts(parser: RequestParser, parts: list[bytes]) -> tuple[bytes, bytes]:
    """The body, of which these parts arrive one after the other, and the bytes behind it."""
    received, body = bytearray(), b""
    for part in parts:
        received += part
        if not parser.complete:
            body += parser.read_body(received)
    return body, bytes(received)


def test_a_chunked_body_may_arrive_byte_by_byte():
    """Each line of a chunk, with a quoted extension, and each line of the trailers may be cut anywhere."""
    data = b'3;a="\\";b";c\r\nabc\r\n00a\r\n0123456789\r\n0;d=e\r\nX: y\r\nZ:\r\n\r\n\r\n'
    parser = _parser(CHUNKED)
    assert _read_in_parts(parser, [bytes([each]) for each in data]) == (b"abc0123456789", b"\r\n")


@pytest.mark.parametrize("line", [b"1 ;a=b", b"1; a=b", b"1;a =b", b"1;a= b", b"1;a=b ", b"1\t", b"1;", b"1;a;"])
def test_other_lines_of_a_chunk_are_refused(line):
    """Spaces and empty extensions in the line of a chunk are refused: other servers may read them differently."""
    with pytest.raises(MalformedMessage):
        _parser(CHUNKED).read_body(bytearray(line + b"\r\nx\r\n0\r\n\r\n"))


@pytest.mark.parametrize(("begin", "more"), [(b"1;", b"x"), (b"0\r\n", b"a: b\r\n")], ids=["an extension", "trailers"])
def test_framing_without_a_body_is_limited(begin, more):
    """Endless chunk extensions and trailers are refused."""
    with pytest.raises(MalformedMessage, match="too long"):
        _read_in_parts(_parser(CHUNKED), [begin, *[more] * 200_000])


def test_the_number_of_headers_is_limited():
    """A head with more than 500 headers is refused."""
    with pytest.raises(HeadTooLarge, match="more than 500 headers"):
        RequestParser().read_head(b"GET / HTTP/1.1\r\n" + b"a:b\r\n" * 501 + b"\r\n", 1 << 20)


@pytest.mark.parametrize(
    ("version", "header", "expected"),
    [
        ("1.1", "X: y", True),
        ("1.1", "Connection: TE, Close", False),
        ("1.0", "X: y", False),
        ("1.0", "Connection: Keep-Alive", True),
    ],
)
def test_connection_options_decide_about_keep_alive(version, header, expected):
    """`close` and `keep-alive` can be among other options, in any case."""
    assert _parser(f"GET / HTTP/{version}\r\n{header}\r\n\r\n".encode()).keeps_alive == expected


@pytest.mark.parametrize(("version", "expected"), [("1.0", False), ("1.1", True)])
def test_expect_is_for_http_1_1(version, expected):
    """`Expect: 100-continue` has no effect in HTTP/1.0, which has no 100."""
    head = f"PUT / HTTP/{version}\r\nContent-Length: 1\r\nExpect: 100-Continue\r\n\r\n"
    assert _parser(head.encode()).expects_continue == expected


def test_the_method_of_a_large_head_is_known():
    """The method is read before a head is refused, so that the answer to a HEAD has no body."""
    parser = RequestParser()
    with pytest.raises(HeadTooLarge, match="longer than 20 bytes"):
        parser.read_head(b"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", 20)
    assert parser.method == "HEAD"


names = st.sampled_from(["Host", "x-one", "X-ONE", "ETag", "etag", "content-LENGTH", "X-Two"])
values = st.text("ab, ", max_size=3).map(str.strip)
pairs = st.lists(st.tuples(names, values), max_size=6)


@given(pairs, names)
def test_fields_behave_as_tornados(fields, name):
    """Look-ups and lengths have the results of `HTTPHeaders`, whatever the case of the names."""
    ours, tornados = Fields(tuple(fields)), HTTPHeaders()
    for each in fields:
        tornados.add(*each)
    assert dict(ours) == dict(tornados)
    assert (len(ours), ours.get_list(name), ours.get(name)) == (
        len(tornados),
        tornados.get_list(name),
        tornados.get(name),
    )
    assert (name in ours, name.swapcase() in ours) == (name in tornados, name in tornados)


def test_fields_do_not_change():
    """Nothing can be added to a head that was read or is sent, and reading what is not there raises `KeyError`."""
    with pytest.raises(TypeError):
        Fields().add("A", "1")
    with pytest.raises(TypeError):
        Fields()["A"] = "1"
    with pytest.raises(KeyError):
        Fields()["A"]
