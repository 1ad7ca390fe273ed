"""Content-Digest (RFC 9530): made of the checksums that S3 keeps, and checked where a client sends it."""

from __future__ import annotations

import hashlib
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
    """A checksum as S3 reports it: algorithm as in `ChecksumSHA256` (`SHA256`), base64 value, type if S3 named it."""

    algorithm: str
    value: str
    type: str | None = None  # FULL_OBJECT or COMPOSITE

    def covers_whole(self, etag: str | None) -> bool:
        """Whether it is of the whole object; where S3 names no type, of an object known to be of one part."""
        if self.type is not None:
            return self.type == "FULL_OBJECT"
        return etag is not None and not any(_OF_PARTS.search(text) for text in (etag, self.value))


def content_digest(checksums: tuple[Checksum, ...], etag: str | None) -> str | None:
    """The header's value, or None where no checksum of the whole object is known."""
    whole = {checksum.algorithm: checksum.value for checksum in checksums if checksum.covers_whole(etag)}
    return ", ".join(_members(whole)) or None


def _members(values: dict[str, str]) -> Iterator[str]:
    """The dictionary's members, in the order of the table; each a byte sequence (RFC 9651 3.2, 3.3.5)."""
    for algorithm, (length, names) in _ALGORITHMS.items():
        value = values.get(algorithm)
        if value is not None and _is_digest(value, length):
            yield from (f"{name}=:{value}:" for name in names)


def _is_digest(value: str, length: int) -> bool:
    """Whether a text is base64 of `size` bytes, so that it is safe in a header."""
    try:
        return len(b64decode(value, validate=True)) == length
    except ValueError:
        return False


_CHECKED = {"md5": "md5", "sha": "sha1", "sha-256": "sha256", "sha-512": "sha512"}
_MEMBER = re.compile(r"[ \t]*([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/=]*):[ \t]*")


class ContentCheck:
    """A check of content against what Content-MD5 (RFC 1864) and Content-Digest (RFC 9530) announce of it."""

    def __init__(self, content_md5: str | None, content_digest: str | None) -> None:
        """Raises ValueError for a header that breaks its grammar; algorithms that are not known are left out."""
        announced = [("md5", content_md5.strip())] if content_md5 is not None else []
        announced += _announced(content_digest) if content_digest is not None else []
        self._expected = [
            (name, hashlib.new(_CHECKED[name], usedforsecurity=False), b64decode(value, validate=True))
            for name, value in announced
            if name in _CHECKED
        ]
        for name, made, value in self._expected:
            if len(value) != made.digest_size:
                raise ValueError(f"`{name}` has {made.digest_size} bytes, not {len(value)}")

    def __bool__(self) -> bool:
        """Whether there is anything to check."""
        return bool(self._expected)

    def update(self, chunk: bytes) -> None:
        """Adds a piece of the content."""
        for _, made, _ in self._expected:
            made.update(chunk)

    def mismatch(self) -> str | None:
        """Returns the first algorithm whose digest of the content is another than was announced."""
        return next((name for name, made, value in self._expected if made.digest() != value), None)


def _announced(header: str) -> Iterator[tuple[str, str]]:
    """The members of a dictionary of byte sequences (RFC 9651 3.2); raises ValueError for anything else."""
    for member in header.split(","):
        found = _MEMBER.fullmatch(member)
        if not found:
            raise ValueError("the header is not a dictionary of byte sequences")
        yield found[1], found[2]
