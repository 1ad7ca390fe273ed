"""The limits of calls to S3: pieces, pauses, memory and time."""

from __future__ import annotations

DATES_KEPT = 1024
"""Dates whose text is remembered: few objects are requested often."""
LARGEST_OBJECT = 2**63 - 1
"""Bytes, beyond any object."""

READ_OF_THREAD = 256 * 1024
"""Bytes that one call in a thread reads: fewer mean more calls, more make a slow S3 look stuck."""

FIRST_BYTES = 32 * 1024
"""Bytes of a body that must arrive before it is passed on: until then a failure can still become an error status."""
LARGEST_HEAD = 64 * 1024
"""Bytes of the head of an answer."""
SMALLEST_READ = 32 * 1024
"""Bytes of a read, and about the bytes that may wait for their reader. A slow reader holds little memory; for one
that waits for every read, they grow, as each step costs the same for any number of bytes."""
READS_BEFORE_LARGER = 8
"""Full reads after which a larger one is tried."""
SLOW_READER = 0.05
"""Seconds that a reader lets a full buffer wait until it counts as slow."""

LARGEST_DOCUMENT = 1024 * 1024
"""Bytes of a document of XML."""

PIECE_OF_THREAD = 256 * 1024
"""Bytes of a body that are held and handed over at once."""
PIECE_SENT_TO_S3 = 64 * 1024
"""Bytes of a body that are sent at once; each piece has the whole time-out, so that a slow S3 is no silent one."""
MOST_UNSENT = 128 * 1024
"""Bytes of an upload that the kernel keeps before it sends them (tcp(7)); its default is megabytes, so that a slow
connection would seem to be a silent one."""

LARGEST_LISTING = 8 * 1024**2
"""Bytes of a listing: 1,000 percent-encoded keys of 1,024 bytes, with their attributes."""
LARGEST_ERROR = 64 * 1024
"""Bytes of the body of an error."""
READ_PAUSE = 0.05
"""Seconds of the longest first pause; it doubles with each attempt."""
READ_PAUSE_IF_THROTTLED = 0.5
"""Seconds of the longest first pause after S3 asked for fewer requests."""
LONGEST_READ_PAUSE = 10.0
"""Seconds of the longest pause between two attempts."""
RETRIES = 500
"""Coins for the retries of a bucket. A success earns one, or what its retry cost."""
PRICE_OF_RETRY = 14
"""Coins that a retry costs, as in boto3."""
PRICE_OF_THROTTLED = 5
"""Coins that a retry costs after S3 asked for fewer requests."""
LARGEST_SKEW = 900.0
"""Seconds between the clocks of S3 and service. S3 refuses a signature that is 15 minutes off; the answer to a HEAD
does not name the reason. In the manual."""

IDLE_FOR = 60.0
"""Seconds that an idle connection to S3 is kept. S3s close it after 5 to 60; one that a firewall has forgotten
would only time out."""
LONGEST_LIFETIME = 300.0
"""Seconds that a connection to S3 is used: one that always has a request would never follow a name to another
address."""
DISTRUSTED_FOR = 10.0
"""Seconds after a certificate was refused in which the bundle of authorities is not read again."""

LONGEST_PAGE = 1000
"""Entries of a page of a listing that S3 returns."""
MOST_READ_TRIES = 2
"""Attempts to read an object that changes meanwhile."""
MOST_LIST_ANSWERS = 10
"""Answers of S3 for one page of a listing."""
BUCKET_SEEN_FOR = 60.0
"""Seconds for which a bucket that answered is known to exist."""
LATE_BY = 1 / 8
"""Of its time, by which a call may exceed it at most: as often is looked for calls that take too long."""

HELD_FOR_SLOW = 128 * 1024
"""Bytes that a body takes at most while its client is slow: 64 KiB here, and as many on their way to the socket."""
MOST_WAITING_FOR_MEMORY = 1000
"""Reads that wait for memory."""

PIECE_FOR_SLOW = 64 * 1024
"""Bytes that are asked for at once for a slow client: a complete answer holds no connection."""
QUICK_WITHIN = 0.25
"""Seconds in which a client that is not slow takes a piece."""
QUICK_PIECES = 8
"""Pieces that a client takes quickly until it counts as quick again."""
PROGRESS = 1024**2
"""Bytes: a read that gets on by less between two failures is one that does not get on."""
RESUME_PAUSE = 0.1
"""Seconds, at most, before the first try; doubles with each."""
LONGEST_RESUME_PAUSE = 10.0
"""Seconds of the longest pause before a try."""

CREDENTIALS_ASKED_EVERY = 60.0
"""Seconds between two questions for credentials. boto3, when asked, renews credentials 15 minutes before they
expire. We ask it every minute while there are requests; until it answers, a pair that is up to five minutes old
is still valid."""
CREDENTIALS_GOOD_FOR = 300.0
"""Seconds that credentials must still be valid."""
CREDENTIALS_AGAIN_AFTER = 5.0
"""Seconds after a failure in which boto3 is not asked again."""
SIGNED_HEADS_KEPT = 256
"""Signed heads that are kept: most requests have the same headers, except for ranges and conditions."""

PROOF_WITHIN = 10.0
"""Seconds for the HEAD that shows whether a write without an answer has been carried out."""
COMPLETION_PAUSE = 0.1
"""Seconds before an upload is completed again; twice as many each time."""
LONGEST_COMPLETION_PAUSE = 5.0
"""Seconds of the longest of these pauses."""

CONNECTIONS_PER_THREAD = 4
"""Connections that are kept for each thread: a slow client holds one while no thread works on it."""

WHOLE_UPLOAD = 8 * 1024 * 1024
"""Bytes of a file that is sent at once, if its size is known: in parts, it would need three more calls."""
LARGEST_EVEN_PART = 32 * 1024 * 1024
"""Bytes of a part, unless `bucket.partSize` is larger: a client may announce much, and send little of it. 10,000 of
them hold 312 GiB, the largest file; one whose client does not announce its size has `bucket.partSize`, or what
`maxSize` needs."""
UPLOAD_WITHOUT_MEMORY = 64 * 1024
"""Bytes of an upload that need no shared memory, so that a small file never waits for large ones."""
SHARE_OF_CLIENT = 1 / 2
"""Share of the memory that the parts of one client may have. The oldest may exceed it."""
LEFT_IN_SHARE = 3 / 8
"""Share of that which is left to older parts of the client."""
SHARE_OF_BUCKET = 7 / 8
"""Share of the memory that the parts for one bucket may have, so that one that hangs leaves some to the others."""
LEFT_TO_OLDER = 7 / 16
"""Share of the memory that is left to the oldest parts of the clients before."""
TRUST = 16
"""Times what has arrived of a part that is left to it, so that one that is announced only keeps nobody out."""
MEMORY_WITHIN = 300.0
"""Seconds that an upload waits for memory."""
COMPLETION_WITHIN = 600.0
"""Seconds for the answer to a completion. S3 may take minutes to assemble many parts, and sends white space
meanwhile (S3 API, "CompleteMultipartUpload")."""
ABORT_WITHIN = 2.0
"""Seconds that an upload waits until S3 has removed the parts of a failed one, or the object of a trial; that goes on
then."""
PARTS_IN_MEMORY = 2
"""Parts of an upload in memory: both in transit, or the next one is being filled. A third would only be full
earlier."""
