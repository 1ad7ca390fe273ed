"""The limits of answers to clients."""

from __future__ import annotations

WALKS_AT_ONCE = 5
"""Walks through directories for archives: each takes a share of the processor, and more at once end no earlier. The
last one is for another target."""
MOST_WAITING_WALKS = 100
"""Such walks that wait."""
ARCHIVES_AT_ONCE = 64
"""Archives that are listed or sent: each holds the names of its files, some MiB, until a slow client has read it."""

PIECE_OF_FORM = 4096
"""Bytes of a form that are read at once up to the head of its file: line by line, if there are lines."""
PIECE_OF_ARCHIVE = 64 * 1024
"""Bytes of an archive that are sent at once, where files are small."""
READ_FOR_EACH_ENTRY = 4
"""Entries that are read for each that an archive, or a listing for a program, may have, so that closed ones are bounded
as well."""
FEWEST_ENTRIES_READ = 1000
"""Entries that are read for one in any case."""
LONGEST_UNPACKED = 255
"""Bytes of a name in an archive, as many as file systems take."""
LONGEST_ENDING = 32
"""Bytes of the ending that such a name keeps when it is cut."""

README_WITHIN = 5.0
"""Seconds that a listing waits for its README."""
READMES_AT_ONCE = 2
"""READMEs that are rendered: each takes the processor, and up to 30 MiB. The last one is for another target."""
LONGEST_PAGE = 1000
"""Entries of a page of the service's own."""
MOST_LISTS = 20
"""Answers of the store for one page of a listing."""
LISTS_WITHOUT_TURN = 4
"""Of these answers, those before other requests get a turn."""
LISTED_WHOLE = 256 * 1024
"""Bytes of a listing for a program that is sent, and compressed, in one step."""
LISTED_AT_ONCE = 1000
"""Entries that S3 lists in one answer."""
MOST_SORTED = 10_000
"""Entries of a directory that is sorted over all its pages."""

DECISIONS_A_TURN = 16
"""The decisions about paths after which other requests get a turn."""

PIECE_COMPRESSED = 16 * 1024
"""Bytes that are compressed before anything else has its turn."""
COMPRESSED_AT_ONCE = 256
"""Objects that are compressed at once in a process; zlib takes 256 KiB for each."""

DIGITS_OF_DIGEST = 12
"""Digits of a digest that are shown; enough to tell configurations apart."""

LONGEST_LOGGED_HEADER = 512
"""Characters of a header in the log."""
PIECE_SENT = 64 * 1024
"""Bytes that are sent at once: at the least rate they take a minute, the default of `sendTimeout`."""

LARGEST_PART_HEADER = 16 * 1024
"""Bytes of one header line of a part of a form; a file's name may stand in it twice, escaped. In the manual."""
LONGEST_CONTENT_TYPE = 1024
"""Characters of the type of a form: a boundary has 70 at most (RFC 2046 5.1.1), and the library takes a millisecond
a KiB of parameters."""
LONGEST_MEDIA_TYPE = 255
"""Characters of a media type."""

TOKEN_BLOCK = 48
"""Bytes by which a token of a page shows the length of a name, as the place may be a closed one."""

SENT_WHOLE = 16 * 1024
"""Bytes of a body in memory that is sent, and compressed, in one step."""
