from __future__ import annotations

import pytest

from tornado_proxy.semantics.digest import Checksum, ContentCheck, content_digest

ETAG = '"900150983cd24fb0d6963f7d28e17f72"'
OF_PARTS = '"900150983cd24fb0d6963f7d28e17f72-2"'

# The checksums of `abc`.
SHA256 = "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="
SHA1 = "qZk+NkcGgWq6PiVxeFDCbJzQ2J0="
CRC32C = "Nks/tw=="
CRC32 = "NSRBwg=="


@pytest.mark.parametrize(
    ("algorithm", "value", "expected"),
    [
        ("SHA256", SHA256, f"sha-256=:{SHA256}:"),
        ("SHA1", SHA1, f"sha-1=:{SHA1}:, sha=:{SHA1}:"),
        ("CRC32C", CRC32C, f"crc32c=:{CRC32C}:"),
        ("CRC32", CRC32, f"crc32=:{CRC32}:"),
        ("CRC64NVME", "rosUhgpIxGE=", None),
        ("MD5", "kAFQmDzST7DWlj99KOF/cg==", None),
    ],
)
@pytest.mark.parametrize("named", ["FULL_OBJECT", None])
def test_the_table_of_algorithms(algorithm, value, expected, named):
    """A checksum of the whole object is told for SHA-256, SHA-1, CRC32C and CRC32, and for no other algorithm."""
    assert content_digest((Checksum(algorithm, value, named),), ETAG) == expected


@pytest.mark.parametrize(
    ("named", "etag", "told"),
    [
        ("FULL_OBJECT", ETAG, True),
        ("FULL_OBJECT", OF_PARTS, True),
        ("FULL_OBJECT", None, True),
        ("COMPOSITE", ETAG, False),
        ("COMPOSITE", OF_PARTS, False),
        ("SOMETHING_NEW", ETAG, False),
        (None, ETAG, True),
        (None, OF_PARTS, False),
        (None, None, False),
    ],
)
def test_only_a_checksum_of_the_whole_object_is_told(named, etag, told):
    """A type that S3 names decides; where it names none, an ETag without a count of parts does."""
    assert (content_digest((Checksum("CRC32", CRC32, named),), etag) is not None) is told


@pytest.mark.parametrize("value", [f"{CRC32}-3", "", "NSRB", "not base64", "NSRBwg==:, evil", "NSRBwg==\r\n", "é"])
def test_a_value_that_is_no_digest_is_not_told(value):
    """A value with a count of parts, of a wrong length or not in base64 stays out of the header."""
    assert content_digest((Checksum("CRC32", value, "FULL_OBJECT"),), ETAG) is None


def test_several_checksums_are_one_header():
    """An object with several checksums has them all in one header, strongest first."""
    checksums = (Checksum("CRC32", CRC32), Checksum("CRC64NVME", "rosUhgpIxGE="), Checksum("SHA256", SHA256))
    assert content_digest(checksums, ETAG) == f"sha-256=:{SHA256}:, crc32=:{CRC32}:"


def test_no_checksums_are_no_header():
    """An object without checksums has no such header."""
    assert content_digest((), ETAG) is None


HELLO_MD5 = "XUFAKrxLKna5cZ2REBfFkg=="
HELLO_SHA256 = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="


@pytest.mark.parametrize(
    ("md5", "digest", "wrong"),
    [
        (HELLO_MD5, None, None),
        (None, f"sha-256=:{HELLO_SHA256}:", None),
        (HELLO_MD5, f"sha-256=:{HELLO_SHA256}:, md5=:{HELLO_MD5}:", None),
        (None, f"sha-256=:{HELLO_SHA256[::-1].lstrip('=')}=:", "sha-256"),
        ("1B2M2Y8AsgTpgAmY7PhCfg==", None, "md5"),
        (None, "unknown=:AAAA:", None),
        (None, None, None),
    ],
)
def test_content_is_checked_against_its_digests(md5, digest, wrong):
    """All that are known must match; others are left out."""
    check = ContentCheck(md5, digest)
    for chunk in (b"he", b"llo"):
        check.update(chunk)
    assert check.mismatch() == wrong
    assert bool(check) is (md5 is not None or (digest or "").startswith("sha"))


@pytest.mark.parametrize(
    ("md5", "digest"),
    [("x", None), ("AAAA", None), (None, "sha-256=abc"), (None, ""), (None, "sha-256=:AAAA:"), (None, "sha-256=:A:")],
)
def test_a_digest_that_cannot_be_read_is_refused(md5, digest):
    """Not base64, of the wrong length, or no dictionary."""
    with pytest.raises(ValueError, match=r"."):
        ContentCheck(md5, digest)
