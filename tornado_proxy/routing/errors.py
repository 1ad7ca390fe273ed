"""What can be wrong with a request before anything is asked of S3; each knows the status that answers it.

RequestError
├── BadAddress     the request line names neither a path nor an absolute address     → 400
├── BadPath        the path is no percent-encoded UTF-8, or holds what no key may    → 400
├── BadFileName    an upload's file has no name that could end a key                 → 400
└── KeyTooLong     prefix and key together are more than S3 takes                    → 400
"""

from __future__ import annotations

from typing import ClassVar


class RequestError(Exception):
    """A request that cannot be meant; the text is the fact, for the log and explain, never for a client."""

    status: ClassVar[int] = 400


class BadAddress(RequestError):
    """A request line that names neither a path nor an absolute address (RFC 9112 3.2)."""


class BadPath(RequestError):
    """A path that cannot be decoded, or holds a dot segment or a control character."""


class BadFileName(RequestError):
    """A file name that is empty, a dot segment, or holds a control character."""


class KeyTooLong(RequestError):
    """An object key of more bytes than S3 takes."""
