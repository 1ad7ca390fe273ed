"""Content-Digest (RFC 9530) from the checksums that S3 keeps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Checksum:
    """A checksum as S3 tells it: algorithm as in `ChecksumSHA256` (`SHA256`), base64 value, type if S3 named it."""

    algorithm: str
    value: str
    type: str | None = None  # FULL_OBJECT or COMPOSITE


def content_digest(checksums: tuple[Checksum, ...], etag: str | None) -> str | None:
    """The header's value, or None where no checksum of the whole object can be told (the seed's table, section 2)."""
    raise NotImplementedError
