"""The limits of connections of clients."""

from __future__ import annotations

READ_OF_CLIENT = 64 * 1024
"""Bytes that one read of a client's socket can return, unless a body is arriving."""

MOST_AHEAD = 64 * 1024
"""Bytes of further requests that are taken while one is answered."""
LARGEST_READ_OF_BODY = 256 * 1024
"""Bytes that one read of a large body can return: it costs little more than a small read, and its bytes wait
nowhere else for their reader."""
MOST_UNSENT = 32 * 1024
"""Bytes for a client over which writers wait. asyncio's own limit is 64 KiB, and 512 KiB with TLS."""
MOST_A_TURN = 256 * 1024
"""Bytes that are written to a client in one turn of the loop: TLS tells only later that its connection is lost, and
takes all that is written until then."""
LINGER_DONE = 1.0
"""Seconds for a client to close if nothing more is expected of it. A connection that is closed over unread bytes is
reset, and its client may never see the answer (RFC 9112 9.6)."""
LINGER_IDLE = 5.0
"""Seconds without a byte, for the same reason, if it has not sent all that it announced."""
LINGER_TOTAL = 30.0
"""Seconds of waiting for a client to close, in all."""
DEPARTURE_CHECK = 0.25
"""Seconds until a look at a client that has ended its side: it may have left, or wait for its answer, and TCP shows
which when something is sent."""

HEADER_NAMES_KEPT = 1024
"""Names of headers whose spelling is remembered, since clients send few and short ones."""
LONGEST_NAME_KEPT = 64
"""Characters of such a name."""

BYTES_A_TURN = 64 * 1024
"""Bytes that are given to the transport at once."""
FRAMES_A_TURN = 16
"""Frames that are read before anything else has its turn."""
LINGER_HTTP2 = 1.0
"""Seconds for a client of HTTP/2 to close."""
LEAVE_AFTER = 1.0
"""Seconds for requests on their way when a client is told to connect anew."""

MOST_STREAMS = 100
"""Requests of a connection that are answered at once."""
CLOSED_STREAMS = 1000
"""Requests of a connection that are remembered in case that a frame of them comes late."""
LARGEST_FRAME = 16 * 1024
"""Bytes that a frame carries in either direction: the least that all must take."""
PRICE_OF_REFUSAL = 5
"""Coins that a stream costs its client that is refused or reset."""
LARGEST_BLOCK = 128 * 1024
"""Bytes of a compressed head: hpack takes time that grows with their square."""
HEAD_TABLE = 4096
"""Bytes of the table by which heads are compressed, whatever more a client offers."""
WINDOW = 1024 * 1024
"""Bytes of bodies that nobody has taken yet. One stream that waits leaves half of it to the others."""
STREAM_WINDOW = 512 * 1024
"""Bytes of one stream that nobody has taken yet."""
PURSE = 1000
"""Coins of a client at most: frames that do nothing cost one."""
REFILL = 100
"""Coins a second that a client gets."""
PER_ANSWER = 5
"""Coins for a whole answer."""
BYTES_PER_COIN = 1024
"""Bytes of a body that earn a coin."""
LEAST_RETURN = 2048
"""Bytes: a window that gives back so many of those sent opens for nothing. Go gives back 4 KiB or more."""
LARGEST_WINDOW = 2**31 - 1
"""The most bytes that windows may still give back for nothing: no window is larger (RFC 9113 6.9.1)."""

MOST_HEADERS = 500
"""Headers of a request. In the manual."""
LONGEST_CHUNK_LINE = 4096
"""Bytes of the line before a chunk, with extensions."""
LONGEST_TRAILERS = 64 * 1024
"""Bytes of trailers."""
LEAST_RATE = 1024
"""Bytes a second that a client must send or read, on average over the time in which it may pause."""

LARGEST_READ = 512 * 1024
"""Bytes that one read of a socket can return."""

LAST_CALL = 0.2
"""Seconds for a request that is on its way to an idle connection."""
ACCEPTED_AT_ONCE = 128
"""Connections accepted before anything else gets its turn."""
OPEN_WITHIN = 10.0
"""Seconds for a PROXY header, and for a handshake. In the manual."""
CLOSE_WITHIN = 5.0
"""Seconds for a client to take the end of TLS."""
MOST_OPENING = 1000
"""Connections that wait for their handshake. In the manual."""
DESCRIPTORS_KEPT_BACK = 24
"""Descriptors for files, threads and the admin listener."""
FEWEST_CLIENTS = 4
"""Clients, however few descriptors there are."""
YOUNG_FOR = 1.0
"""Seconds of opening, or without a request, after which a connection may give way to another."""
UNSENT_IN_KERNEL = 128 * 1024
"""Bytes of an answer that the kernel keeps before it sends them (tcp(7)); its default is megabytes,
which thousands of slow clients would take from S3 and from the memory of all."""

NEXT_ADDRESS_AFTER = 0.25
"""Seconds after which the next address of a name is tried (RFC 8305 5)."""

PASSED_OVER_FOR = 300.0
"""Seconds in which an address that was silent, or refused, is tried after the others of its name."""

PLACE_WITHIN = 5.0
"""Seconds that a client waits for a place."""
PLACE_OF_BULK_WITHIN = 30.0
"""Seconds that a task waits for a place that is not urgent."""
CLIENTS_SHARE = 3
"""A client may hold as many places as are left for others, times this: three quarters if it is alone."""
TARGETS_SHARE = 7
"""So may a target, seven eighths if it is alone: nearly all services have few targets and many clients."""

ROOM_OF_BODY = 64 * 1024
"""Bytes of a body that wait for their reader; a connection reads as many at once."""

FETCH_WITHIN = 10.0
"""Seconds for an exchange with a provider or a policy server: a person waits for it. In the manual."""
MOST_EXCHANGES = 100
"""Exchanges at once with each provider or policy server."""
LARGEST_ANSWER = 1024 * 1024
"""Bytes of an answer of a provider or a policy server."""
