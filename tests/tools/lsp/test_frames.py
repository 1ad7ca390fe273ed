"""Messages in a stream of bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.tools.lsp.frames import LARGEST, BadFrame, Frames


@given(st.lists(st.binary(max_size=40), max_size=6), st.integers(1, 30))
def test_messages_are_found_however_the_stream_is_cut(messages, size):
    """A piece may hold half of a header, or several messages."""
    stream = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(each), each) for each in messages)
    frames = Frames()
    pieces = (stream[start : start + size] for start in range(0, len(stream), size))
    assert [found for piece in pieces for found in frames.feed(piece)] == messages


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8",
        b"Content-Type: x\r\ncontent-length:2",
        b"Content-Length : 2 ",
    ],
)
def test_headers_have_any_order_and_case(header):
    """Only the length counts."""
    assert list(Frames().feed(header + b"\r\n\r\n{}")) == [b"{}"]


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (b"Content-Length: abc\r\n\r\n{}", "no `Content-Length` that is a number"),
        (b"Content-Length: -2\r\n\r\n{}", "no `Content-Length` that is a number"),
        (b"X-Content-Length: 2\r\n\r\n{}", "no `Content-Length` that is a number"),
        (b"\r\n\r\n", "no `Content-Length` that is a number"),
        (b"Content-Length: %d\r\n\r\n" % (LARGEST + 1), "more than"),
        (b"x" * 20_000, "longer than 16384 bytes"),
    ],
)
def test_a_header_without_a_length_ends_the_stream(stream, reason):
    """Nobody can say where the next message begins."""
    with pytest.raises(BadFrame, match=reason):
        list(Frames().feed(stream))
