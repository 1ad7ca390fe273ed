"""Frames as they arrive, and what a client pays for them; floods are in tests/hostile."""

import pytest
from h2.errors import ErrorCodes
from hyperframe.frame import ContinuationFrame, DataFrame, GoAwayFrame, HeadersFrame, PingFrame

from tornado_proxy.wire.http2_frames import ConnectionBroken, FrameReader, Protocol, Purse

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class Reader(FrameReader):
    """What it reads, with a purse that nobody refills."""

    def __init__(self, limit: int = 65_536) -> None:
        self.received = bytearray()
        super().__init__(self.received, limit, Purse(lambda: 0.0))


def _frames(reader: Reader, data: bytes, *, open_streams=(1,)) -> list[bytes]:
    reader.received += data
    return list(iter(lambda: reader.next_frame(open_streams), None))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_frames_are_whole_however_they_arrive(size):
    """The preface and each frame come once, in order."""
    frames = [PREFACE, DataFrame(1, b"abc").serialize(), PingFrame(0).serialize(), DataFrame(1, b"").serialize()]
    sent, reader = b"".join(frames), Reader()
    taken = [frame for at in range(0, len(sent), size) for frame in _frames(reader, sent[at : at + size])]
    assert taken == frames


def test_a_goodbye_is_not_for_h2():
    """What follows it is; a malformed one is an error that h2 finds."""
    malformed = b"\0\0\x08\x07\0\0\0\0\x01" + bytes(8)
    ping = PingFrame(0).serialize()
    assert _frames(Reader(), PREFACE + GoAwayFrame(0).serialize() + ping) == [PREFACE, ping]
    assert _frames(Reader(), PREFACE + malformed) == [PREFACE, malformed]


def test_a_head_is_known_to_be_arriving():
    """From the kind of its first frame to the flag of its last."""
    reader = Reader()
    states = []
    for data in (
        PREFACE,
        HeadersFrame(1, b"a").serialize(),
        ContinuationFrame(1, b"b", flags=["END_HEADERS"]).serialize(),
    ):
        _frames(reader, data[:5])
        _frames(reader, data[5:])
        states.append(reader.is_in_head)
    assert states == [False, True, False]


def test_a_head_has_a_limit():
    """Twice the limit of a head, and never more than 128 KiB."""
    start = HeadersFrame(1, bytes(16_000)).serialize()
    more = ContinuationFrame(1, bytes(16_000)).serialize()
    with pytest.raises(ConnectionBroken):
        _frames(Reader(10_000), PREFACE + start + more)
    assert len(_frames(Reader(1 << 24), PREFACE + start + more * 7)) == 9
    with pytest.raises(ConnectionBroken):
        _frames(Reader(1 << 24), PREFACE + start + more * 8)


def test_a_purse_is_refilled():
    """By time, by bytes and by answers, and not beyond its size."""
    now = [0.0]
    purse = Purse(lambda: now[0])
    purse.pay(1000)
    now[0] = 1.0
    purse.pay(100)
    purse.earn(50 * 1024, answers=2)
    purse.pay(60)
    now[0] = 1e9
    purse.pay(1000)
    with pytest.raises(ConnectionBroken) as broken:
        purse.pay(1)
    assert broken.value.code is ErrorCodes.ENHANCE_YOUR_CALM


def test_a_head_says_two_sizes_of_the_table_at_most():
    """Only the smallest size since the last head and the present one may be said (RFC 7541 4.2)."""
    encoder = Protocol(1024).encoder
    for size in (0, 65_536, 1024, 4096):
        encoder.header_table_size = size
    assert (encoder.encode([]), encoder.encode([])) == (b"\x20\x3f\xe1\x1f", b"")
