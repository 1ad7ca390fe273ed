"""Signature Version 4 of requests without a body (S3 API, "Authenticating Requests: Using the Authorization Header").

The signing key is an HMAC chain over day, region and service: it is kept for the day, which leaves four hashes for a
request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from hmac import digest
from urllib.parse import quote

EMPTY_BODY = sha256(b"").hexdigest()
"""The hash of the body of every GET and HEAD."""

# A process signs with the keys of a few targets, and with those of yesterday for a moment after midnight.
_KEYS_KEPT = 256


@dataclass(frozen=True, slots=True)
class KeyPair:
    """An access key pair, with a session token if it has one; shown nowhere."""

    access_key: str
    secret_key: str
    session_token: str | None = None

    def __repr__(self) -> str:
        return "<KeyPair>"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a signature is good for."""

    region: str
    service: str = "s3"


def encode_path(path: str) -> str:
    """A decoded path, percent-encoded as S3 expects it: RFC 3986's unreserved characters and `/` stay."""
    return quote(path, safe="/")


def encode_query(parameters: Mapping[str, str]) -> str:
    """A query in the canonical form, which is also the one to send: encoded, in the order of the encoded names."""
    pairs = sorted((quote(name, safe=""), quote(value, safe="")) for name, value in parameters.items())
    return "&".join([f"{name}={value}" for name, value in pairs])


def sign(
    request: tuple[str, str, str], headers: Iterable[tuple[str, str]], scope: Scope, pair: KeyPair, now: float
) -> list[tuple[str, str]]:
    """The headers of a signed request, all of them covered by the signature, with no space that could be misread.

    `request` is method, path and query, encoded as they are sent; `headers` have names in lower case, `host` among
    them; `now` is in seconds since 1970.
    """
    day, moment = _stamps(int(now))
    signed = [(name, " ".join(value.split())) for name, value in headers]
    signed += (("x-amz-content-sha256", EMPTY_BODY), ("x-amz-date", moment))
    if pair.session_token:
        signed.append(("x-amz-security-token", pair.session_token))
    signed.sort()
    names = ";".join([name for name, _ in signed])
    lines = "".join([f"{name}:{value}\n" for name, value in signed])
    canonical = "\n".join((*request, lines, names, EMPTY_BODY))
    credential = f"{day}/{scope.region}/{scope.service}/aws4_request"
    to_sign = f"AWS4-HMAC-SHA256\n{moment}\n{credential}\n{sha256(canonical.encode()).hexdigest()}"
    key = _signing_key(pair.secret_key, day, scope.region, scope.service)
    signature = digest(key, to_sign.encode(), "sha256").hex()
    authorization = (
        f"AWS4-HMAC-SHA256 Credential={pair.access_key}/{credential}, SignedHeaders={names}, Signature={signature}"
    )
    signed.append(("authorization", authorization))
    return signed


@lru_cache(_KEYS_KEPT)
def _signing_key(secret_key: str, day: str, region: str, service: str) -> bytes:
    key = f"AWS4{secret_key}".encode()
    for part in (day, region, service, "aws4_request"):
        key = digest(key, part.encode(), "sha256")
    return key


@lru_cache(2)
def _stamps(second: int) -> tuple[str, str]:
    """The day, and the moment, in the basic form of ISO 8601."""
    moment = datetime.fromtimestamp(second, UTC).strftime("%Y%m%dT%H%M%SZ")
    return moment[:8], moment
