"""Heads of HTTP/2: whatever is accepted, h2 accepts, and as a request of HTTP/1 it is read the same."""

from contextlib import suppress

from h2.utilities import HeaderValidationFlags, validate_headers
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.routing.request import RequestError
from tornado_proxy.wire.http2_stream import check_trailers, read_head
from tornado_proxy.wire.incoming import RequestParser

# In each: what is usual, then what one of the two may refuse.
METHODS = (b"GET", b"PUT", b"OPTIONS", b"CONNECT", b"G T", b"", b"g\n")
SCHEMES = (b"https", b"http", b"ftp", b"")
AUTHORITIES = (b"files.test", b"files.test:8443", b"", b"a b", b"a@b", b"a,b")
PATHS = (b"/a?b", b"/\xff%00", b"*", b"", b"a", b"//", b"http://other/", b"/a b", b"/\x7f")
NAMES = (
    b"x", b"host", b"content-length", b"te", b"cookie", b"expect", b"X", b"x y", b"", b"x:", b":x", b":path", b"x\r\ny", b"x\xff", b"connection",
    b"transfer-encoding", b"upgrade", b"keep-alive", b"proxy-connection",
)  # fmt: skip
VALUES = (
    b"x", b"", b"0", b"5", b"files.test", b"trailers", b"a\xffb", b" x", b"x\t", b"x\ry", b"x\ny", b"x\0", b"x\x7f",
)  # fmt: skip
FIELDS = st.lists(st.tuples(st.sampled_from(NAMES[:6]) | st.sampled_from(NAMES), st.sampled_from(VALUES[:7]) | st.sampled_from(VALUES)), max_size=4)  # fmt: skip


def _usually(values):
    return st.sampled_from(values[:1] * 20 + values)


@st.composite
def _heads(draw):
    pseudo = [
        (b":method", draw(_usually(METHODS))),
        (b":scheme", draw(_usually(SCHEMES))),
        (b":authority", draw(_usually(AUTHORITIES))),
        (b":path", draw(_usually(PATHS))),
    ]
    if draw(st.integers(0, 9)) == 0:
        pseudo = draw(st.lists(st.sampled_from(pseudo), max_size=5))
    raw = [*pseudo, *draw(FIELDS)]
    return draw(st.permutations(raw)) if draw(st.integers(0, 9)) == 0 else raw


@given(_heads(), st.booleans())
def test_heads(raw, has_body):
    try:
        head = read_head(raw, 16_384, has_body=has_body)
    except RequestError:
        return
    list(
        validate_headers(
            raw,
            HeaderValidationFlags(is_client=False, is_trailer=False, is_response_header=False, is_push_promise=False),
        )
    )
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.fields.get_all())
    sent = f"{head.line.method} {head.line.path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")
    with suppress(RequestError):
        old, fields = RequestParser().read_head(sent, 16_384)
        pairs = tuple((name, value.strip()) for name, value in head.fields.get_all())  # an empty cookie is the last
        assert (old.method, old.path, fields.get_all()) == (head.line.method, head.line.path, pairs)
        return
    raise AssertionError(sent)


@given(FIELDS)
def test_trailers(raw):
    with suppress(RequestError):
        check_trailers(raw)
        list(
            validate_headers(
                raw,
                HeaderValidationFlags(
                    is_client=False, is_trailer=True, is_response_header=False, is_push_promise=False
                ),
            )
        )
