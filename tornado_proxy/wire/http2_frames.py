"""The frames of HTTP/2 as a client sends them (RFC 9113 4): whole ones, within limits, for `h2` to process.

Frames that cost more than they are good for are paid from a purse, which time and what the client takes refill. A
client that means well does not notice; one that resets, pings or opens windows for the sake of it soon has nothing
left (CVE-2023-44487, CVE-2019-9511 to 9518).
"""

from __future__ import annotations

from collections.abc import Callable, Container

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import Event
from h2.settings import SettingCodes, Settings
from hpack import Decoder, Encoder
from hpack.struct import HeaderTuple
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    GoAwayFrame,
    HeadersFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from tornado_proxy.wire import limits

LAST_STREAM = 2**31 - 1

_PREFACE = 24  # bytes (RFC 9113 3.4)
_FRAME_HEAD = 9  # bytes (RFC 9113 4.1)
_END_STREAM = 0x01
_END_HEADERS = 0x04

_EXPENSIVE = {RstStreamFrame.type: 5, SettingsFrame.type: 5}  # the price of any other frame that is not free is 1
_FREE = frozenset({DataFrame.type, HeadersFrame.type, GoAwayFrame.type, WindowUpdateFrame.type})  # or paid elsewhere


class ConnectionBroken(Exception):
    """The connection must end, for a reason that the client is told."""

    def __init__(self, code: ErrorCodes) -> None:
        super().__init__(code.name)
        self.code = code


class Purse:
    """What a client can still pay for; `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._left: float = limits.PURSE
        self._paid_at = clock()
        self._unreturned = 0  # bytes that were sent and by which windows may open again

    def pay(self, price: int) -> None:
        """Takes a price; raises `ConnectionBroken` if there is too little."""
        now = self._clock()
        self._add((now - self._paid_at) * limits.REFILL)
        self._paid_at = now
        self._left -= price
        if self._left < 0:
            raise ConnectionBroken(ErrorCodes.ENHANCE_YOUR_CALM)

    def earn(self, sent: int, answers: int = 0) -> None:
        """Adds what the client is owed for bytes and answers that it took."""
        self._add(sent / limits.BYTES_PER_COIN + answers * limits.PER_ANSWER)
        # Each byte opens the window of its stream, and that of the connection.
        self._unreturned = min(limits.LARGEST_WINDOW, self._unreturned + 2 * sent)

    def pay_for_window(self, size: int) -> None:
        """Takes the price of opening a window: none if that gives back enough of what was sent.

        A client may open its windows long after it was sent all: a full purse had no room for those bytes then.
        """
        if limits.LEAST_RETURN <= size <= self._unreturned:
            self._unreturned -= size
        else:
            self.pay(1)

    def _add(self, amount: float) -> None:
        self._left = min(limits.PURSE, self._left + amount)


class FrameReader:
    """Takes frames from the front of what was `received`; `purse` pays for them, `limit` is that of a head in bytes."""

    def __init__(self, received: bytearray, limit: int, purse: Purse) -> None:
        self._received = received
        self._largest_block = min(2 * limit, limits.LARGEST_BLOCK)
        self._purse = purse
        self._has_begun = False  # whether the preface has arrived
        self._block = 0  # bytes of a head whose rest has yet to arrive

    @property
    def is_in_head(self) -> bool:
        """Whether a part of a head has arrived."""
        return self._block > 0 or (len(self._received) > 3 and self._received[3] == HeadersFrame.type)

    def next_frame(self, open_streams: Container[int]) -> bytes | None:
        """Returns the preface or the next frame that h2 shall have; None if it has not arrived.

        Raises `ConnectionBroken` for a frame that is too long, and for one that the client cannot pay.
        """
        while (frame := self._take()) is not None:
            if not self._has_begun:
                self._has_begun = True
                return frame
            self._charge(frame, open_streams)
            # After a GOAWAY, h2 would let nothing more be sent (RFC 9113 6.8: the streams until then go on).
            if frame[3] != GoAwayFrame.type or any(frame[5:9]) or len(frame) < _FRAME_HEAD + 8:
                return frame
        return None

    def _take(self) -> bytes | None:
        received, size = self._received, _PREFACE
        if self._has_begun:
            if len(received) < _FRAME_HEAD:
                return None
            size = _FRAME_HEAD + int.from_bytes(received[:3], "big")
            if size > _FRAME_HEAD + limits.LARGEST_FRAME:
                raise ConnectionBroken(ErrorCodes.FRAME_SIZE_ERROR)
        if len(received) < size:
            return None
        frame = bytes(received[:size])
        del received[:size]
        return frame

    def _charge(self, frame: bytes, open_streams: Container[int]) -> None:
        kind, flags = frame[3], frame[4]
        if kind in (HeadersFrame.type, ContinuationFrame.type):
            self._block += len(frame)
            if self._block > self._largest_block:
                raise ConnectionBroken(ErrorCodes.ENHANCE_YOUR_CALM)
            if flags & _END_HEADERS:
                self._block = 0
        elif kind == DataFrame.type:
            is_empty = len(frame) == _FRAME_HEAD and not flags & _END_STREAM
            if is_empty or int.from_bytes(frame[5:9], "big") not in open_streams:
                self._purse.pay(1)
        elif kind == WindowUpdateFrame.type:
            self._purse.pay_for_window(int.from_bytes(frame[_FRAME_HEAD:], "big"))
        if kind not in _FREE:
            self._purse.pay(_EXPENSIVE.get(kind, 1))


class _Decoder(Decoder):
    """Decompresses heads, and keeps the fields of the last one.

    h2 would end the connection for a body that is not as long as announced; a stream looks for itself.
    """

    fields: list[HeaderTuple]

    def decode(self, data: bytes, raw: bool = False) -> list[HeaderTuple]:  # noqa: FBT001, FBT002 - hpack's signature
        """Returns the fields of a head but for its Content-Length."""
        self.fields = list(super().decode(data, raw))
        return [each for each in self.fields if each[0] != b"content-length"]


class _Encoder(Encoder):
    """Compresses heads by a table of the usual size at most, however large the client's may be.

    The next head must say the smallest size since the last one, and the present one (RFC 7541 4.2): hpack says all
    sizes, and none if the last one was set twice.
    """

    @property
    def header_table_size(self) -> int:
        return self.header_table.maxsize

    @header_table_size.setter
    def header_table_size(self, size: int) -> None:
        size = min(size, limits.HEAD_TABLE)
        if self.table_size_changes or size != self.header_table.maxsize:
            self.table_size_changes = sorted({size, min([size, *self.table_size_changes])})
            self.header_table.maxsize = size
            self.header_table.resized = True


class Protocol(H2Connection):
    """The state of a connection, as h2 keeps it; `limit` is that of a head in bytes."""

    MAX_CLOSED_STREAMS = limits.CLOSED_STREAMS

    decoder: _Decoder

    def __init__(self, limit: int) -> None:
        # The rules for headers are those of HTTP/1.1 and more: `read_head` checks them, so that one request fails.
        super().__init__(
            H2Configuration(
                client_side=False,
                validate_inbound_headers=False,
                normalize_inbound_headers=False,
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
            )
        )
        values = {
            SettingCodes.MAX_CONCURRENT_STREAMS: limits.MOST_STREAMS,
            SettingCodes.INITIAL_WINDOW_SIZE: limits.STREAM_WINDOW,
            SettingCodes.MAX_HEADER_LIST_SIZE: limit,
        }
        self.local_settings = Settings(client=False, initial_values=values)
        # Beyond the size that is announced, a request is refused; beyond twice that, the connection ends.
        self.decoder = _Decoder(2 * limit)
        self.encoder = _Encoder()
        self.initiate_connection()
        self.increment_flow_control_window(limits.WINDOW - self.inbound_flow_control_window)
        # h2 would end the connection of a client that opens more streams before it has read how many there may be.
        self.local_settings.max_concurrent_streams = LAST_STREAM
        self.local_settings.acknowledge()

    def receive_data(self, data: bytes) -> list[Event]:  # type: ignore[override]  # what `FrameReader` takes
        """Processes a frame or the preface; raises `ProtocolError`."""
        if data[3] == SettingsFrame.type:
            # hyperframe keeps the last of several sizes of the table, but the smallest counts too (RFC 7541 4.2).
            for at in range(_FRAME_HEAD, len(data) - 5, 6):
                if data[at : at + 2] == SettingCodes.HEADER_TABLE_SIZE.to_bytes(2):
                    self.encoder.header_table_size = int.from_bytes(data[at + 2 : at + 6])
        return super().receive_data(data)

    def fields_of_head(self) -> list[HeaderTuple]:
        """Returns the fields of the last head, and forgets them."""
        fields, self.decoder.fields = self.decoder.fields, []
        return fields
