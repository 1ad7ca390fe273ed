"""Content-Digest (RFC 9530) from the checksums that S3 keeps."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass

# The seed's table: S3's algorithm, its digest's length in bytes, and the names under which the header carries it.
# `sha` is SHA-1's name in the IANA registry, `sha-1` the one that clients of s3-proxy know.
_ALGORITHMS = {
    "SHA256": (32, ("sha-256",)),
    "SHA1": (20, ("sha-1", "sha")),
    "CRC32C": (4, ("crc32c",)),
    "CRC32": (4, ("crc32",)),
}

# S3 appends the number of parts where the whole was put together from them.
_OF_PARTS = re.compile(r'-[0-9]+"?$')


@dataclass(frozen=True, slots=True)
class Checksum:
    """A checksum as S3 tells it: algorithm as in `ChecksumSHA256` (`SHA256`), base64 value, type if S3 named it."""

    algorithm: str
    value: str
    type: str | None = None  # FULL_OBJECT or COMPOSITE

    def covers_whole(self, etag: str | None) -> bool:
        """Whether it is of the whole object; where S3 names no type, of an object known to be of one part."""
        if self.type is not None:
            return self.type == "FULL_OBJECT"
        return etag is not None and not any(_OF_PARTS.search(text) for text in (etag, self.value))


def content_digest(checksums: tuple[Checksum, ...], etag: str | None) -> str | None:
    """The header's value, or None where no checksum of the whole object can be told (the seed's table, section 2)."""
    if not checksums:
        return None
    whole = {checksum.algorithm: checksum.value for checksum in checksums if checksum.covers_whole(etag)}
    return ", ".join(_members(whole)) or None


def _members(values: dict[str, str]) -> Iterator[str]:
    """The dictionary's members, in the order of the table; each a byte sequence (RFC 9651 3.2, 3.3.5)."""
    for algorithm, (length, names) in _ALGORITHMS.items():
        value = values.get(algorithm)
        if value is not None and _is_digest(value, length):
            yield from (f"{name}=:{value}:" for name in names)


def _is_digest(value: str, length: int) -> bool:
    """Whether a text is base64 of so many bytes: a header holds nothing else that a store might say."""
    try:
        return len(b64decode(value, validate=True)) == length
    except ValueError:
        return False
