"""One client's connection that speaks HTTP/2 (RFC 9113), chosen in the handshake of TLS.

`h2` knows frames, states of streams, windows and the compression of headers (HPACK). What is decided here: how much a
client may ask for, how long it may take, who sends next, and when a mistake ends a stream and when the connection.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import Future
from typing import Literal

from h2 import events
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError
from hpack.struct import HeaderTuple
from hyperframe.frame import Frame, GoAwayFrame, RstStreamFrame

from tornado_proxy.config.server import Limits
from tornado_proxy.routing.request import RequestError
from tornado_proxy.semantics.request import Origin
from tornado_proxy.wire import limits
from tornado_proxy.wire.http2_frames import LAST_STREAM, ConnectionBroken, FrameReader, Protocol, Purse
from tornado_proxy.wire.http2_stream import Head, Http2Stream, check_trailers, read_head, stand_in
from tornado_proxy.wire.incoming import TOO_SLOW, ClientDisconnected, MalformedMessage
from tornado_proxy.wire.stream import NEVER, ClientConnection, ConnectionServer

_LOG = logging.getLogger("tornado_proxy")


Deadline = Literal["request", "head", "reader", "end"]
"""What a connection waits for until some time.

It is a request, the rest of a head, the client to take what was sent, or the client to close.
"""


class Http2Connection(ClientConnection):
    """Serves many requests at once."""

    def __init__(self, server: ConnectionServer, peer: Origin, allowed: Limits) -> None:
        super().__init__(server, peer, allowed)
        self._deadline = NEVER
        self._h2 = Protocol(allowed.max_header_size)
        self._purse = Purse(self._loop.time)
        self._frames = FrameReader(self._received, allowed.max_header_size, self._purse)
        self._streams: dict[int, Http2Stream] = {}  # with a request that is being answered
        self._waiting: dict[Http2Stream, None] = {}  # with a part of an answer to send, the next one first
        self._last_stream = LAST_STREAM  # that is served
        self._is_leaving = False  # whether the connection ends after its last request
        self._is_over = False  # whether nothing more is read
        self._is_full = False  # whether the client reads too slowly
        self._pending = 0  # bytes of answers that are not yet given to the transport
        self._is_flushing = False
        self._has_more = False  # whether frames wait for the next turn of the loop
        self._deadlines: dict[Deadline, float] = {}
        self.sent: Future[None] = self._loop.create_future()
        self.sent.set_result(None)

    def __repr__(self) -> str:
        return f"<HTTP/2 connection of {self.peer.address}, {len(self._streams)} streams>"

    # What the server asks.

    def wind_down(self) -> None:
        """Tells the client to make further requests elsewhere, and serves what is on its way (RFC 9113 6.8)."""
        if not self._is_leaving and not self._is_over:
            self._go_away(LAST_STREAM)
            self._loop.call_later(limits.LEAVE_AFTER, self.close_if_idle)

    def close_if_idle(self) -> None:
        """Takes no further request, and closes after the last one."""
        if self._is_leaving or self._is_over:
            return
        self._is_leaving = True
        self._last_stream = self._h2.highest_inbound_stream_id
        self._go_away(self._last_stream)
        if not self._streams:
            self._end()

    def close(self) -> None:
        """Closes the connection at once."""
        self._is_over = True
        if self._transport is not None:
            self._transport.abort()

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Sends the settings, and waits for a request."""
        super().connection_made(transport)
        assert self._transport is not None
        self._transport.set_write_buffer_limits(limits.BYTES_A_TURN)
        self._wait("request", self._limits.idle_timeout)
        self._server.on_idle(self)
        self._flush()

    def buffer_updated(self, nbytes: int) -> None:
        """Takes the bytes that were read."""
        if not self._is_over:
            self._received += self._buffer[:nbytes]
            if not self._has_more:
                self._advance()

    def eof_received(self) -> bool:
        """Closes the connection: the end of TLS is the end of both directions."""
        return False

    def pause_writing(self) -> None:
        """Sends and reads nothing more until the client has read what it was sent."""
        self._is_full = True
        self._unsent = self._unsent_bytes()
        self._wait("reader", self._limits.send_timeout)
        self._control_reading()

    def resume_writing(self) -> None:
        """Goes on to send and to read."""
        self._is_full = False
        self._deadlines.pop("reader", None)
        self._send_all()
        if not self._has_more:
            self._has_more = True
            self._loop.call_soon(self._advance, context=self._variables)

    def connection_lost(self, exc: Exception | None) -> None:
        """Breaks off the requests, and tells the server."""
        super().connection_lost(exc)
        self._is_over = True
        for stream in tuple(self._streams.values()):
            self._lose(stream)
        self._server.on_close(self)

    # Frames.

    def _advance(self) -> None:
        """Processes the received frames, some at a time."""
        self._has_more = False
        try:
            for _ in range(limits.FRAMES_A_TURN):
                if self._is_over or self._is_full or not self._process():
                    break
            else:
                self._has_more = True
                self._loop.call_soon(self._advance)
        except ConnectionBroken as broken:
            self._h2.close_connection(broken.code)
            self._end()
        except ProtocolError:  # h2 tells the client
            self._end()
        except Exception:  # noqa: BLE001 - one connection's defect must not end the others
            _LOG.exception("unexpected exception in a connection")
            self.close()
        self._flush()
        self._control_reading()

    def _process(self) -> bool:
        """Processes the next frame; returns whether it has arrived."""
        frame = self._frames.next_frame(self._streams)
        if not self._frames.is_in_head:
            self._deadlines.pop("head", None)
        elif "head" not in self._deadlines:
            self._wait("head", self._limits.header_timeout)
        for event in self._h2.receive_data(frame) if frame else ():
            self._handle(event)
        return frame is not None

    # Events of h2.

    def _handle(self, event: events.Event) -> None:
        match event:
            case events.RequestReceived(stream_id=number):
                self._start(number, has_body=event.stream_ended is None)
            case events.DataReceived(stream_id=number, data=data, flow_controlled_length=size):
                if stream := self._streams.get(number):
                    stream.receive(data, size, ends=event.stream_ended is not None)
                else:
                    self.consume(number, size)
            case events.WindowUpdated(stream_id=0) | events.RemoteSettingsChanged():
                self._send_all()
            case events.WindowUpdated(stream_id=number) if (stream := self._streams.get(number)) in self._waiting:
                del self._waiting[stream]
                self.send(stream)
            case events.TrailersReceived(stream_id=number) if stream := self._streams.get(number):
                try:
                    check_trailers(self._h2.fields_of_head())
                except MalformedMessage as error:
                    stream.break_malformed(str(error))
            case events.StreamEnded(stream_id=number) if stream := self._streams.get(number):
                stream.advance(ends=True)
            case events.StreamReset(stream_id=number) if stream := self._streams.get(number):
                self._lose(stream, "the client cancelled the request")

    def _start(self, number: int, *, has_body: bool) -> None:
        raw = self._h2.fields_of_head()
        if number > self._last_stream or len(self._streams) >= limits.MOST_STREAMS:
            self._purse.pay(limits.PRICE_OF_REFUSAL)
            self._h2.reset_stream(number, ErrorCodes.REFUSED_STREAM)
            return
        mistake: RequestError | None = None
        head: Head
        try:
            head = read_head(raw, self._limits.max_header_size, has_body=has_body)
        except RequestError as error:
            self._purse.pay(limits.PRICE_OF_REFUSAL)
            mistake, head = error.with_traceback(None), stand_in(raw, has_body=has_body)
        self._deadlines.pop("request", None)
        self._streams[number] = stream = Http2Stream(self, number, head, mistake)
        stream.start(self._server)

    # What streams ask.

    def send_head(self, stream: Http2Stream, fields: list[HeaderTuple]) -> None:
        """Sends the head of an answer."""
        if stream.is_open and not self._is_over:
            stream.has_ended = stream.is_sent and not stream.is_malformed
            self._h2.send_headers(stream.number, fields, end_stream=stream.has_ended)
            self._flush_soon()

    def send_continue(self, stream: Http2Stream) -> None:
        """Asks the client for the body (RFC 9110 15.2.1)."""
        if stream.is_open and not self._is_over:
            self._h2.send_headers(stream.number, [HeaderTuple(b":status", b"100")])
            self._flush_soon()

    def send(self, stream: Http2Stream) -> None:
        """Sends what the client takes of an answer, and ends the stream after its last piece."""
        if stream not in self._waiting:
            while self._pending < limits.BYTES_A_TURN and self._send_frame(stream):
                pass
            self._settle(stream)
        self._flush_soon()

    def end(self, stream: Http2Stream, code: ErrorCodes = ErrorCodes.NO_ERROR) -> None:
        """Forgets a stream that the application is done with; resets it unless both sides have ended it."""
        if self._streams.pop(stream.number, None) is None:
            return
        self._waiting.pop(stream, None)
        if stream.is_open and not self._is_over:
            code = ErrorCodes.PROTOCOL_ERROR if stream.is_malformed else code
            if not (stream.has_ended and stream.is_read):
                self._h2.reset_stream(stream.number, code)
            elif stream.is_malformed:
                self._send_beside(RstStreamFrame(stream.number, error_code=code))
        if stream.has_ended:  # also if the client resets its request then: it has read the answer and sends no more
            self._purse.earn(0, answers=1)
        stream.is_open = False
        stream.release()
        self._break_off_soon(stream)
        self._flush_soon()
        if not self._streams and not self._is_over:
            self._server.on_idle(self)
            self._wait("request", self._limits.idle_timeout)
            if self._is_leaving:
                self._end()

    def consume(self, number: int, size: int) -> None:
        """Opens the windows by bytes of a body that were taken."""
        if size and not self._is_over:
            self._h2.acknowledge_received_data(size, number)
            self._flush_soon()

    # Sending.

    def _send_frame(self, stream: Http2Stream) -> bool:
        """Sends one frame of an answer; returns whether the client takes one."""
        if self._is_full or self._is_over or not stream.is_waiting:
            return False
        room = min(self._h2.local_flow_control_window(stream.number), limits.LARGEST_FRAME)
        if room <= 0:
            return False
        piece = stream.take(room)
        stream.has_ended = stream.is_sent and not stream.is_malformed
        self._h2.send_data(stream.number, piece, end_stream=stream.has_ended)
        self._pending += len(piece)
        self._purse.earn(len(piece))
        return True

    def _settle(self, stream: Http2Stream) -> None:
        """Has a stream wait for the client, or go on, or end."""
        if stream.is_waiting:
            self._waiting[stream] = None
            if stream.deadline == NEVER:
                stream.deadline = self._loop.time() + self._limits.send_timeout
                self._look_within(self._limits.send_timeout)
            return
        stream.deadline = NEVER
        if stream.writing == "done":
            if stream.is_open and not self._is_over and not stream.has_ended and not stream.is_malformed:
                self._h2.end_stream(stream.number)
                stream.has_ended = True
            if stream.has_ended and not stream.is_read and stream.is_open:
                # A client that is still sending its request has the time to read the answer.
                self._break_off_soon(stream)
                stream.deadline = self._loop.time() + limits.LINGER_HTTP2
                self._look_within(limits.LINGER_HTTP2)
            else:
                self.end(stream)
        stream.wake()

    def _break_off_soon(self, stream: Http2Stream) -> None:
        if stream.reading != "done":
            # In the next turn: the application is in the middle of finishing.
            mistake = stream.mistake or ClientDisconnected("the rest was not read")
            self._loop.call_soon(stream.break_off, mistake)

    def _send_all(self) -> None:
        """Sends frames of all streams in turn, as long as the client takes them."""
        has_sent = True
        while has_sent and self._pending < limits.BYTES_A_TURN:
            has_sent = False
            for stream in tuple(self._waiting):
                if self._send_frame(stream):
                    has_sent = True
                    del self._waiting[stream]
                    self._settle(stream)
        self._flush()

    def _flush_soon(self) -> None:
        """Gives what was sent to the transport when this turn of the loop has ended, in as few records as possible."""
        if not self._is_flushing:
            self._is_flushing = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flushing = False
        has_more, self._pending = self._pending >= limits.BYTES_A_TURN, 0
        self._write(self._h2.data_to_send())
        if has_more and self._waiting and not self._is_full:
            self._loop.call_soon(self._send_all)

    def _write(self, data: bytes) -> None:
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def _go_away(self, last_stream: int) -> None:
        """Tells the client which of its requests is the last one."""
        self._send_beside(GoAwayFrame(0, last_stream_id=last_stream, error_code=ErrorCodes.NO_ERROR))

    def _send_beside(self, frame: Frame) -> None:
        """Sends what h2 would not: it sends nothing after a GOAWAY, and no error of a stream that both sides ended."""
        self._flush()
        self._write(frame.serialize())

    # Ends, time and flow.

    def _lose(self, stream: Http2Stream, *reason: str) -> None:
        """Ends a request whose client takes no answer."""
        self._waiting.pop(stream, None)
        stream.lose(ClientDisconnected(*reason))
        if stream.writing == "done":
            self.end(stream)

    def _end(self, reason: str = "the connection broke off") -> None:
        """Closes the connection when the client has been told why."""
        if self._is_over:
            return
        self._flush()
        self._is_over = True
        self._deadlines.clear()
        self._received.clear()
        for stream in tuple(self._streams.values()):
            self._lose(stream, reason)
        # A connection that is closed over unread bytes is reset, and its client may never see why.
        if self._unsent_bytes() and self._transport is not None:
            self._transport.close()
            self._wait("end", self._limits.send_timeout)
        else:
            self._wait("end", limits.LINGER_HTTP2)

    def _wait(self, kind: Deadline, seconds: float) -> None:
        self._deadlines[kind] = self._loop.time() + seconds
        self._look_within(seconds)

    def _look_within(self, seconds: float) -> None:
        """Sets the deadline of the connection, which is the first one of all."""
        if self._loop.time() + seconds < self._deadline:
            self._set_deadline(seconds)

    def _expired(self) -> None:
        self._deadline = NEVER
        now, patience = self._loop.time(), self._limits.send_timeout
        late = [kind for kind, deadline in self._deadlines.items() if deadline <= now]
        if "end" in late:
            self.close()
        elif "reader" in late and self._keeps_pace():
            self._wait("reader", patience)
        elif "reader" in late:
            self._end(TOO_SLOW)
            self.close()
        elif late:
            self._go_away(self._h2.highest_inbound_stream_id)
            self._end()
        for stream in [each for each in self._streams.values() if each.deadline <= now]:
            if not stream.is_waiting:
                self.end(stream)
            elif stream.keeps_pace(patience):
                stream.deadline = now + patience
            else:
                self._h2.reset_stream(stream.number, ErrorCodes.CANCEL)
                self._lose(stream, TOO_SLOW)
                self._flush_soon()
        deadline = min((*self._deadlines.values(), *(each.deadline for each in self._streams.values())), default=NEVER)
        if self._transport is not None:
            self._look_within(deadline - now)

    def _control_reading(self) -> None:
        """Reads as long as there is room for what may have to be answered."""
        if self._is_full or self._has_more:
            self._pause_reading()
        else:
            self._resume_reading()
